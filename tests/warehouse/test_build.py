"""The warehouse: built aside, checked, moved into place; readers keep what they have open."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from tests.examples import Row, stamp
from warehouse.build import BuildError, build_warehouse
from warehouse.home import Home
from warehouse.parquet import read_table, rows_of, table_of, write_table
from warehouse.tables import EXCLUSIONS, PROJECTS, RUNS, TABLES, Table

# Those of DESIGN §7.
DESIGNED = {
    *("operations", "workloads", "projects", "implementations", "protocols", "environments", "runs"),
    *("comparison_groups", "rankings", "exclusions", "record_events"),
    *("source_kernels", "source_workloads", "source_submissions", "pages", "quarantine", "drift"),
}

# A process that has a warehouse open, and asks it a question whenever it gets one.
READER = """
import duckdb, sys
warehouse = duckdb.connect(sys.argv[1], read_only=True)
for question in sys.stdin:
    print(warehouse.execute(question).fetchone()[0], flush=True)
"""


@pytest.fixture(scope="module")
def built(sample_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of the sample, somewhere else than its Parquet tables."""
    home = Home(tmp_path_factory.mktemp("built"))
    shutil.copytree(sample_home.directory / "tables", home.directory / "tables")
    build_warehouse(home)
    alone = tmp_path_factory.mktemp("alone") / "copied.duckdb"
    shutil.copy(home.warehouse, alone)
    shutil.rmtree(home.directory)
    return alone


@pytest.fixture
def full(sample_home: Home, home: Home) -> Home:
    """A home with the sample's tables, to change."""
    shutil.copytree(sample_home.directory / "tables", home.directory / "tables")
    return home


def query(warehouse: Path, sql: str, *parameters: object) -> list[Row]:
    with duckdb.connect(warehouse, read_only=True) as connection:
        result = connection.execute(sql, parameters)
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@contextmanager
def reader(warehouse: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(warehouse)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()
        assert process.wait(30) == 0


def ask(process: subprocess.Popen[str], question: str) -> str:
    assert process.stdin
    assert process.stdout
    process.stdin.write(question + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_all_tables_are_published(built: Path) -> None:
    there = query(built, "select table_name, table_type from information_schema.tables")
    tables = {row["table_name"] for row in there if row["table_type"] == "BASE TABLE"}
    assert DESIGNED <= TABLES.keys() <= tables
    assert "leaderboard" in {row["table_name"] for row in there if row["table_type"] == "VIEW"}


def test_a_copy_has_all_rows_without_the_parquet_files(built: Path, sample_home: Home) -> None:
    for name, table in TABLES.items():
        (row,) = query(built, f"select count(*) as count from {name}")
        assert row["count"] == read_table(sample_home, table).num_rows


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_a_key_names_one_row(built: Path, table: Table) -> None:
    key = ", ".join(table.key)
    assert not query(built, f"select {key} from {table.name} group by all having count(*) > 1")


@pytest.mark.parametrize("table", TABLES)
def test_every_table_and_column_says_what_it_is(built: Path, table: str) -> None:
    (row,) = query(built, "select comment from duckdb_tables() where table_name = $1", table)
    assert row["comment"].startswith("one row per ")
    columns = query(built, "select column_name, comment from duckdb_columns() where table_name = $1", table)
    assert columns
    assert not [column["column_name"] for column in columns if not column["comment"]]


def test_manifests_can_be_asked_as_json(built: Path) -> None:
    (row,) = query(
        built,
        "select manifest.spec.sourceNative.metrics.sol_score::double as score, manifest.kind ->> '$' as kind"
        " from runs where external_id = '3268'",
    )
    assert row == {"score": 0.69736, "kind": "BenchmarkRun"}


def test_the_leaderboard_shows_a_seed_as_its_page_does(built: Path) -> None:
    (row,) = query(built, "from leaderboard where external_id = '26346'")
    assert row["kernel"] == "003_grouped_query_attention_with_rope_backward"
    assert (row["project"], row["stack"], row["gpu"]) == ("Gilded Quail", "v1.1", "NVIDIA B200")
    assert (row["sol_score"], row["latency_ms"], row["avg_speedup"]) == (0.554246, 0.485961, 1.2219)
    assert (row["fast_1_count"], row["fast_1_total"]) == (15, 16)
    assert row["run_digest"].startswith("sha256:381f22e4759e66ec6db9692")
    assert row["comparison_key"].startswith("sha256:68ecf1769b265bd2")
    assert row["observed_at"].isoformat(timespec="milliseconds") == "2026-07-20T10:18:21.410+00:00"
    assert row["policy"] == "ranking-v1"


def test_the_leaderboard_ranks_a_seed_among_the_runs_of_the_sample(built: Path) -> None:
    (seed,) = query(built, "from leaderboard where external_id = '26346'")
    group = query(
        built,
        "select rank, latency_ms, ratio_to_best from leaderboard where comparison_key = $1 order by rank",
        seed["comparison_key"],
    )
    latencies = sorted(row["latency_ms"] for row in group)
    assert [row["latency_ms"] for row in group] == latencies
    assert seed["rank"] == latencies.index(seed["latency_ms"]) + 1
    assert seed["ratio_to_best"] == pytest.approx(seed["latency_ms"] / latencies[0], rel=1e-5)


def test_every_run_is_on_the_leaderboard_once(built: Path) -> None:
    shown = query(built, "select external_id from leaderboard")
    assert len({row["external_id"] for row in shown}) == len(shown) == 75


@pytest.mark.parametrize(
    "table", ["source_kernels", "source_workloads", "source_submissions", "runs", "quarantine", "drift"]
)
def test_every_row_leads_to_a_page(built: Path, table: str) -> None:
    assert not query(built, f"select * from {table} anti join pages using (page_digest)")


def test_every_digest_leads_to_its_object(built: Path) -> None:
    for table, keys in {
        "runs": "operation workload implementation protocol environment",
        "implementations": "operation project",
        "workloads": "operation",
        "comparison_groups": "operation workload protocol environment",
    }.items():
        for key in keys.split():
            assert not query(built, f"select * from {table} anti join {key}s using ({key}_digest)")
    assert not query(built, "select * from rankings anti join runs using (run_digest)")
    assert not query(built, "select * from runs anti join comparison_groups using (comparison_key)")


def test_what_is_built_already_is_left_as_it_is(full: Home) -> None:
    assert build_warehouse(full)
    before = stamp(full.warehouse)
    assert not build_warehouse(full)
    assert stamp(full.warehouse) == before
    assert {path.name for path in full.directory.iterdir()} == {"tables", "warehouse.duckdb"}


def test_names_that_hold_anything_break_nothing(full: Home) -> None:
    projects = rows_of(read_table(full, PROJECTS))
    name = "Robert'); DROP TABLE runs;-- | <b>x</b> [red] \x00\n\"😀"
    projects[0] |= {"name": name, "manifest": json.dumps({"spec": {"name": name}})}
    write_table(full, PROJECTS, table_of(projects, PROJECTS.schema))
    build_warehouse(full)
    (row,) = query(full.warehouse, "select name from projects where name = $1", name)
    assert row == {"name": name}
    assert query(full.warehouse, "select count(*) as runs from leaderboard where project = $1", name)[0][
        "runs"
    ]


# What must not be published.


def refuse(home: Home, reason: str) -> None:
    """Building is refused for this reason, and the old warehouse stays."""
    before = home.warehouse.read_bytes()
    with pytest.raises(BuildError, match=reason):
        build_warehouse(home)
    assert home.warehouse.read_bytes() == before
    assert {path.name for path in home.directory.iterdir()} == {"tables", "warehouse.duckdb"}


def test_a_table_that_was_never_made_is_refused(full: Home) -> None:
    build_warehouse(full)
    full.table("record_events").unlink()
    refuse(full, "table record_events was never made: run `kernelindex ingest`")


@pytest.mark.parametrize("name", ["projects", "runs", "rankings", "pages"])
def test_a_key_with_two_rows_is_refused(full: Home, name: str) -> None:
    build_warehouse(full)
    rows = rows_of(read_table(full, TABLES[name]))
    write_table(full, TABLES[name], table_of([*rows, rows[0]], TABLES[name].schema))
    key = ", ".join(TABLES[name].key)
    refuse(full, rf"table {name} has more than one row with \({key}\)")


def test_a_row_without_a_value_that_it_must_have_is_refused(full: Home) -> None:
    build_warehouse(full)
    with duckdb.connect() as connection:
        runs = str(full.table("runs"))
        connection.execute(
            f"copy (select * replace (null as comparison_key) from '{runs}') to '{runs}.new' (format parquet)"
        )
    Path(f"{runs}.new").replace(runs)
    refuse(full, "table runs lacks a value that it must have")


def test_a_home_reads_its_own_tables_and_no_other_s(full: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "hom[e]")
    for name, table in TABLES.items():
        write_table(other, table, read_table(full, table).slice(0, 0 if name == "exclusions" else 1))
    build_warehouse(other)
    assert query(other.warehouse, "select count(*) as runs from runs") == [{"runs": 1}]


# Readers.


def test_a_reader_keeps_the_warehouse_that_it_has_open_and_new_ones_see_the_new(full: Home) -> None:
    build_warehouse(full)
    question = "select count(*) from exclusions"
    with reader(full.warehouse) as old:
        assert ask(old, question) == "0"
        run = rows_of(read_table(full, RUNS))[0]["run_digest"]
        row = {"run_digest": run, "reason": "RETRACTED", "policy": "ranking-v1"}
        write_table(full, EXCLUSIONS, table_of([row], EXCLUSIONS.schema))
        build_warehouse(full)
        with reader(full.warehouse) as new:
            assert ask(new, question) == "1"
            assert ask(old, question) == "0"
            assert ask(old, "select count(*) from leaderboard") == "75"
