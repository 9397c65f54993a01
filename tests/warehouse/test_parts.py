"""Parts: what a stage made of one kernel, several tables in one file."""

from pathlib import Path

import pyarrow as pa
import pytest

from warehouse.parquet import rows_of, table_of
from warehouse.parts import Made, made, part_version, read_part, write_part
from warehouse.tables import DRIFT, RUNS, SOURCE_SUBMISSIONS


def test_a_part_gives_back_its_tables(
    sample: dict[str, dict[str, list[dict[str, object]]]], tmp_path: Path
) -> None:
    rows = sample["058_mamba2_selective_scan"]
    tables = {
        "runs": table_of(rows["runs"], RUNS.schema),
        "source_submissions": table_of(rows["source_submissions"], SOURCE_SUBMISSIONS.schema),
        "drift": DRIFT.schema.empty_table(),
    }
    path = tmp_path / "parts" / "mamba" / "manifests.zip"
    write_part(path, tables, "parser 1, pages sha256:4d")
    assert {name: read_part(path, name) for name in tables} == tables
    assert rows_of(read_part(path, "runs")) == rows["runs"]
    assert read_part(path, "runs").schema.equals(RUNS.schema, check_metadata=True)
    assert part_version(path) == "parser 1, pages sha256:4d"
    counts = {"runs": 3, "source_submissions": 3, "drift": 0}
    assert made(path, changed=True) == Made(counts, "parser 1, pages sha256:4d", True)


def test_equal_tables_are_equal_files(tmp_path: Path) -> None:
    table = pa.table({"name": ["Proud Wren @ NVIDIA", None, "😀"]})
    for name in ("one", "other"):
        write_part(tmp_path / name, {"projects": table}, "1")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_part_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "manifests.zip"
    write_part(path, {"runs": pa.table({"a": [1]}), "drift": pa.table({"b": [2]})}, "1")
    write_part(path, {"runs": pa.table({"a": [3]})}, "2")
    assert rows_of(read_part(path, "runs")) == [{"a": 3}]
    assert (part_version(path), list(made(path, changed=True).rows)) == ("2", ["runs"])


def test_a_part_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert part_version(tmp_path / "manifests.zip") is None
    with pytest.raises(FileNotFoundError):
        read_part(tmp_path / "manifests.zip", "runs")


def test_a_part_that_can_t_be_read_has_no_version(tmp_path: Path) -> None:
    path = tmp_path / "manifests.zip"
    write_part(path, {"runs": pa.table({"a": [1]})}, "1")
    path.write_bytes(path.read_bytes()[:40])
    assert part_version(path) is None


def test_the_old_part_stays_where_a_table_can_t_be_written(tmp_path: Path) -> None:
    path = tmp_path / "manifests.zip"
    write_part(path, {"runs": pa.table({"a": [1]})}, "1")
    with pytest.raises(AttributeError):
        write_part(path, {"runs": pa.table({"a": [2]}), "drift": None}, "2")
    assert part_version(path) == "1"
    assert list(tmp_path.iterdir()) == [path]
