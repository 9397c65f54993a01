"""Tables as CSV, Parquet and JSON lines, and the data package beside CSV."""

import json
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from frictionless import Package, validate
from hypothesis import given, settings
from hypothesis import strategies as st

import warehouse
from tests.exports.exported import HOSTILE_NAMES, csv_cells, home_of, unmarked
from warehouse.exports import export
from warehouse.exports.rows import FORMULA_STARTS, write_csv
from warehouse.home import Home
from warehouse.tables import TABLES


@pytest.fixture(scope="module")
def csv_export(published_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("csv") / "export"
    export(directory, "csv", home=published_home.directory)
    return directory


def connection_with(column: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"attach ':memory:' as warehouse; use warehouse; create table cells (cell {column})")
    return connection


@settings(max_examples=60)
@given(
    st.lists(
        st.text() | st.builds(str.__add__, st.sampled_from([*FORMULA_STARTS, "'"]), st.text()), min_size=1
    )
)
def test_any_text_survives_csv_and_none_is_a_formula(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    path = tmp_path_factory.mktemp("cells") / "cells.csv"
    with connection_with("varchar") as connection:
        connection.executemany("insert into cells values ($1)", [[text] for text in texts])
        write_csv(connection, "cells", path)
    cells = [row["cell"] for row in csv_cells(path)]
    assert [unmarked(cell) for cell in cells] == texts
    assert not any(cell.startswith(tuple(FORMULA_STARTS)) for cell in cells)


def test_numbers_stay_numbers_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    with connection_with("double") as connection:
        connection.execute("insert into cells values (-1.5), (20), (null)")
        write_csv(connection, "cells", path)
    assert path.read_bytes() == b'\xef\xbb\xbf"cell"\n-1.5\n20\n\n'


def test_absent_text_and_empty_text_differ_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    with connection_with("varchar") as connection:
        connection.execute("insert into cells values (''), (null), ('x')")
        write_csv(connection, "cells", path)
    assert path.read_bytes().splitlines()[1:] == [b'""', b"", b'"x"']


def test_every_table_comes_whole_as_csv(published_home: Home, csv_export: Path) -> None:
    with warehouse.connect(published_home.directory) as connection:
        for name, table in TABLES.items():
            ((count,),) = connection.execute(f"select count(*) from {name}").fetchall()
            cells = csv_cells(csv_export / f"{name}.csv")
            assert len(cells) == count, name
            assert all(list(row) == table.schema.names for row in cells), name


def test_lists_json_and_times_are_written_as_json_and_iso_8601(csv_export: Path) -> None:
    run = next(row for row in csv_cells(csv_export / "runs.csv") if row["external_id"] == "3268")
    assert run["observed_at"] == "2026-05-20T22:22:23.696000Z"
    assert json.loads(run["manifest"])["spec"]["timing"]["latencyNs"]["mean"] == 255422
    operation = csv_cells(csv_export / "operations.csv")[0]
    assert isinstance(json.loads(operation["tags"]), list)


def test_frictionless_finds_the_data_package_and_all_its_rows_valid(csv_export: Path) -> None:
    report = validate(str(csv_export / "datapackage.json"))
    assert report.valid, report.flatten(["name", "rowNumber", "fieldName", "message"])[:10]
    assert report.stats["tasks"] == len(TABLES)


def test_frictionless_finds_a_run_of_no_known_operation(csv_export: Path, tmp_path: Path) -> None:
    package = Package(str(csv_export / "datapackage.json"))
    operations = csv_export.joinpath("operations.csv").read_bytes().splitlines(keepends=True)
    for resource in package.resources:
        tmp_path.joinpath(resource.path or "").write_bytes(
            csv_export.joinpath(resource.path or "").read_bytes()
        )
    tmp_path.joinpath("operations.csv").write_bytes(b"".join(operations[:-1]))
    package.to_json(str(tmp_path / "datapackage.json"))
    report = validate(str(tmp_path / "datapackage.json"))
    assert "foreign-key" in {error for (error,) in report.flatten(["type"])}


def test_the_data_package_tells_pandas_how_to_read_each_file(published_home: Home, tmp_path: Path) -> None:
    export(tmp_path / "export", "csv", ["runs", "leaderboard", "record_history"], published_home.directory)
    package = json.loads((tmp_path / "export" / "datapackage.json").read_text())
    read = {
        resource["name"]: pd.read_csv(tmp_path / "export" / resource["path"], **resource["pandas"])
        for resource in package["resources"]
    }
    with warehouse.connect(published_home.directory) as connection:
        runs = connection.sql("select external_id, observed_at, fast_1_count from runs").fetchall()
    columns = read["runs"][["external_id", "observed_at", "fast_1_count"]]
    assert list(columns.itertuples(index=False, name=None)) == runs
    assert str(read["leaderboard"]["tied"].dtype) == "boolean"
    # Of what is absent in some rows, too.
    assert str(read["record_history"]["lost_at"].dtype).startswith("datetime64")
    assert str(read["leaderboard"]["source_rank"].dtype) == "Int64"


def test_pandas_takes_no_name_for_an_absent_one(tmp_path: Path) -> None:
    home = home_of(["NA", "null", "007"], tmp_path)
    export(tmp_path / "export", "csv", ["projects"], home.directory)
    (resource,) = json.loads((tmp_path / "export" / "datapackage.json").read_text())["resources"]
    projects = pd.read_csv(tmp_path / "export" / "projects.csv", **resource["pandas"])
    assert sorted(projects["name"]) == ["007", "NA", "null"]


def test_a_data_package_of_some_tables_refers_to_no_others(published_home: Home, tmp_path: Path) -> None:
    export(tmp_path / "some", "csv", ["runs", "leaderboard"], published_home.directory)
    assert validate(str(tmp_path / "some/datapackage.json")).valid


def test_parquet_holds_what_the_warehouse_holds(published_home: Home, tmp_path: Path) -> None:
    export(tmp_path / "parquet", "parquet", home=published_home.directory)
    for name, table in TABLES.items():
        rows = pq.read_table(tmp_path / f"parquet/{name}.parquet")
        assert rows.equals(warehouse.table(name, published_home.directory))
        assert rows.schema.field(0).metadata == table.schema.field(0).metadata


def test_json_lines_hold_an_object_a_row(published_home: Home, tmp_path: Path) -> None:
    export(tmp_path / "lines", "jsonl", ["runs"], published_home.directory)
    rows = [json.loads(line) for line in (tmp_path / "lines/runs.jsonl").read_text("utf-8").splitlines()]
    (run,) = [row for row in rows if row["external_id"] == "3268"]
    assert run["observed_at"] == "2026-05-20T22:22:23.696000Z"
    assert run["manifest"]["kind"] == "BenchmarkRun"
    assert run["latency_ms"] == 0.255422


def test_views_can_be_written_too(published_home: Home, tmp_path: Path) -> None:
    for form in ("csv", "parquet", "jsonl"):
        written = export(tmp_path / form, form, ["leaderboard", "run_dossier"], published_home.directory)
        assert written[f"leaderboard.{form}"] > 0
        assert written[f"run_dossier.{form}"] > 0


def test_no_name_breaks_a_row_or_becomes_a_formula(tmp_path: Path) -> None:
    home = home_of(HOSTILE_NAMES, tmp_path)
    export(tmp_path / "csv", "csv", ["projects", "leaderboard"], home.directory)
    cells = csv_cells(tmp_path / "csv/projects.csv")
    assert {unmarked(row["name"]) for row in cells} == set(HOSTILE_NAMES)
    assert {unmarked(row["project"]) for row in csv_cells(tmp_path / "csv/leaderboard.csv")} == set(
        HOSTILE_NAMES
    )
    assert not any(cell.startswith(tuple(FORMULA_STARTS)) for row in cells for cell in row.values())
