"""The warehouse from Python: `warehouse.connect` and `warehouse.table`."""

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import warehouse
from warehouse.home import Home
from warehouse.tables import TABLES, Table


def test_a_connection_answers_and_shows_utc(published_home: Home) -> None:
    with warehouse.connect(published_home.directory) as connection:
        (observed_at,) = connection.sql(
            "select observed_at::varchar from leaderboard where external_id = '26346'"
        ).fetchall()
        assert observed_at == ("2026-07-20 10:18:21.41+00",)
        assert connection.sql("from rankings_as_of('2026-08-01T00:00:00Z')").fetchall()


def test_the_home_is_the_one_that_the_environment_names(
    published_home: Home, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELINDEX_HOME", str(published_home.directory))
    assert warehouse.table("rankings").num_rows > 0
    with pytest.raises(warehouse.WarehouseError):
        warehouse.table("rankings", home.directory)


def test_nothing_can_be_changed(published_home: Home) -> None:
    with warehouse.connect(published_home.directory) as connection:
        for statement in ("delete from runs", "drop view leaderboard", "create table mine (one int)"):
            with pytest.raises(duckdb.InvalidInputException, match="read-only"):
                connection.execute(statement)


def test_a_later_connection_sees_what_was_published_since(published_home: Home, home: Home) -> None:
    def publish(version: str) -> None:
        home.directory.mkdir(exist_ok=True)
        aside = home.directory / "aside"
        shutil.copy(published_home.warehouse, aside)
        with duckdb.connect(aside) as connection:
            connection.execute("update warehouse_version set version = $1", [version])
        aside.replace(home.warehouse)

    question = "select version from warehouse_version"
    publish("first")
    with warehouse.connect(home.directory) as earlier:
        publish("second")
        assert earlier.sql(question).fetchall() == [("first",)]
        with warehouse.connect(home.directory) as later:
            assert later.sql(question).fetchall() == [("second",)]


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_a_table_has_the_types_and_comments_of_its_schema(published_home: Home, table: Table) -> None:
    rows = warehouse.table(table.name, published_home.directory)
    assert rows.schema.equals(table.schema, check_metadata=True)


def test_a_view_is_a_table_too_and_both_become_data_frames(published_home: Home) -> None:
    rows = warehouse.table("leaderboard", published_home.directory)
    assert rows.schema.field("observed_at").type == pa.timestamp("us", tz="UTC")
    assert rows.num_rows > 0
    frame = rows.to_pandas()
    assert frame["latency_ms"].dtype == "float64"
    assert str(frame["observed_at"].dtype) == "datetime64[us, UTC]"


def test_a_misspelt_table_gets_the_nearest_names(published_home: Home) -> None:
    with pytest.raises(warehouse.WarehouseError, match=r"no table or view 'leaderbord'; it has leaderboard"):
        warehouse.table("leaderbord", published_home.directory)
    with pytest.raises(warehouse.WarehouseError, match=r"operations, .*, runs"):
        warehouse.table('"; drop table runs', published_home.directory)


def test_where_there_is_no_warehouse_the_error_says_how_to_make_one(home: Home) -> None:
    with pytest.raises(warehouse.WarehouseError, match="is not there: run `kernelindex ingest`"):
        warehouse.connect(home.directory)


@pytest.mark.parametrize("content", [b"", b"no database" * 1000], ids=["empty", "text"])
def test_a_file_that_is_no_warehouse_is_named(home: Home, content: bytes) -> None:
    home.directory.mkdir()
    home.warehouse.write_bytes(content)
    with pytest.raises(warehouse.WarehouseError, match=r"warehouse\.duckdb can't be read: run `kernelindex"):
        warehouse.connect(home.directory)


def test_a_home_may_be_called_anything(published_home: Home, tmp_path: Path) -> None:
    odd = Home(tmp_path / 'it\'s ; [a] "home" * 🚀')
    odd.directory.mkdir()
    shutil.copy(published_home.warehouse, odd.warehouse)
    assert warehouse.table("rankings", odd.directory).num_rows > 0


def test_importing_the_room_imports_neither_duckdb_nor_arrow() -> None:
    code = "import sys, warehouse; print([name for name in ('duckdb', 'pyarrow') if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
