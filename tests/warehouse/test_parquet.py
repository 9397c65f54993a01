"""Parquet: the tables between stages, one file a table."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.examples import Row, Tables, stamp
from warehouse import parquet
from warehouse.home import Home
from warehouse.parquet import collect, read_table, rows_of, table_of, write_table
from warehouse.parts import write_part
from warehouse.tables import EXCLUSIONS, OPERATIONS, PROJECTS, QUARANTINE, RUNS, SOURCE_WORKLOADS, TABLES


def runs_of(sample: dict[str, Tables]) -> pa.Table:
    return table_of(sample["058_mamba2_selective_scan"]["runs"], RUNS.schema)


def test_a_table_comes_back_as_it_was_written(sample: dict[str, Tables], home: Home) -> None:
    runs = runs_of(sample)
    assert write_table(home, RUNS, runs)
    assert read_table(home, RUNS).equals(runs)
    assert rows_of(read_table(home, RUNS)) == sample["058_mamba2_selective_scan"]["runs"]


def test_a_table_that_was_never_written_is_empty(home: Home) -> None:
    assert read_table(home, RUNS).num_rows == 0
    assert read_table(home, RUNS).schema == RUNS.schema


def test_writing_the_same_again_leaves_the_file_alone(sample: dict[str, Tables], home: Home) -> None:
    runs = runs_of(sample)
    write_table(home, RUNS, runs)
    before = stamp(home.table("runs"))
    assert not write_table(home, RUNS, runs.slice(0))
    assert stamp(home.table("runs")) == before
    assert write_table(home, RUNS, runs.slice(1))
    assert [path.name for path in home.table("runs").parent.iterdir()] == ["runs.parquet"]


@pytest.mark.parametrize("column", [column.name for column in RUNS.columns if column.required])
def test_a_value_that_must_be_there_is_never_written_as_missing(
    sample: dict[str, Tables], home: Home, column: str
) -> None:
    write_table(home, RUNS, runs_of(sample))
    before = home.table("runs").read_bytes()
    rows: list[Row] = [dict(row) for row in sample["058_mamba2_selective_scan"]["runs"]]
    rows[1][column] = None
    with pytest.raises(ValueError, match=column):
        write_table(home, RUNS, table_of(rows, RUNS.schema))
    assert home.table("runs").read_bytes() == before


def test_a_value_that_may_be_missing_is_written_so(home: Home) -> None:
    row = {"kernel_id": 1, "position": 0, "axes": "{}", "page_digest": "sha256:aa"}
    write_table(home, SOURCE_WORKLOADS, table_of([row], SOURCE_WORKLOADS.schema))
    assert rows_of(read_table(home, SOURCE_WORKLOADS)) == [
        {**row, "uuid": None, "baseline_latency_ms": None, "sol_ms": None}
    ]


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"run_digest": ["sha256:0a"], "reason": ["RETRACTED"]}),
        pa.table({"run_digest": ["sha256:0a"], "reason": ["RETRACTED"], "policy": ["x"], "more": [1]}),
    ],
)
def test_rows_of_another_shape_are_refused(home: Home, rows: pa.Table) -> None:
    with pytest.raises((pa.ArrowInvalid, ValueError)):
        write_table(home, EXCLUSIONS, rows)
    assert not home.table("exclusions").exists()


def test_the_file_says_what_a_row_and_each_column_is(home: Home) -> None:
    write_table(home, OPERATIONS, OPERATIONS.schema.empty_table())
    schema = pq.read_schema(home.table("operations"))
    assert schema.metadata[b"grain"].decode() == OPERATIONS.grain
    assert schema.field("family").metadata[b"comment"] == b"kind of operation, as attention or moe"


# Collecting a table from the parts of all kernels.


def put(home: Home, kernel: str, table: Any, rows: list[Row]) -> None:
    write_part(home.part(kernel, "manifests"), {table.name: table_of(rows, table.schema)}, "1")


def project(number: int, name: str) -> Row:
    return {"project_digest": f"sha256:{number:02x}", "name": name, "slug": "x", "manifest": "{}"}


def test_what_two_kernels_have_in_common_is_one_row(home: Home) -> None:
    put(home, "b", PROJECTS, [project(2, "Hyra"), project(1, "doubleAI"), project(1, "doubleAI")])
    put(home, "a", PROJECTS, [project(3, "ac4k"), project(2, "Hyra")])
    rows = rows_of(collect(home, PROJECTS, ["manifests"]))
    assert rows == [project(3, "ac4k"), project(2, "Hyra"), project(1, "doubleAI")]


def test_the_order_in_which_kernels_were_made_does_not_matter(home: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    put(home, "a", PROJECTS, [project(1, "one"), project(2, "two")])
    put(home, "b", PROJECTS, [project(2, "two"), project(3, "three")])
    put(other, "b", PROJECTS, [project(2, "two"), project(3, "three")])
    put(other, "a", PROJECTS, [project(1, "one"), project(2, "two")])
    assert collect(home, PROJECTS, ["manifests"]).equals(collect(other, PROJECTS, ["manifests"]))


def test_a_column_that_an_older_part_lacks_is_null(home: Home) -> None:
    row = {"kernel_id": 1, "position": 0, "axes": "{}", "page_digest": "sha256:aa"}
    write_part(home.part("a", "manifests"), {"source_workloads": pa.Table.from_pylist([row])}, "1")
    assert rows_of(collect(home, SOURCE_WORKLOADS, ["manifests"])) == [
        {**row, "uuid": None, "baseline_latency_ms": None, "sol_ms": None}
    ]


def test_a_table_that_comes_in_pieces_is_written_as_one(
    sample: dict[str, Tables], home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP", 2)
    runs = runs_of(sample)
    write_table(home, RUNS, [runs.slice(0, 1), runs.slice(1, 2)])
    assert read_table(home, RUNS).equals(runs)
    written = pq.read_metadata(home.table("runs"))
    assert [written.row_group(place).num_rows for place in range(written.num_row_groups)] == [2, 1]


def test_where_nothing_was_made_a_table_is_empty(home: Home) -> None:
    assert collect(home, QUARANTINE, ["listing", "manifests"]) == QUARANTINE.schema.empty_table()


def test_every_table_has_an_arrow_schema_with_its_key() -> None:
    for name, table in TABLES.items():
        assert table.name == name
        assert set(table.key) <= set(table.schema.names)
        assert len(table.schema.names) == len(set(table.schema.names))
