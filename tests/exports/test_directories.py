"""Where an export goes: a directory as a whole, and never over anything but an export."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from tests.exports.exported import csv_cells
from warehouse import WarehouseError
from warehouse.exports import FORMATS, ExportError, export
from warehouse.home import Home


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_warehouse_makes_the_same_bytes(published_home: Home, tmp_path: Path, form: str) -> None:
    tables = [] if form == "catalog" else ["projects", "runs"]
    for name in ("one", "two"):
        export(tmp_path / name, form, tables, published_home.directory)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_an_earlier_export_is_replaced_as_a_whole(published_home: Home, tmp_path: Path) -> None:
    export(tmp_path / "export", "csv", ["runs", "projects"], published_home.directory)
    export(tmp_path / "export", "jsonl", ["runs"], published_home.directory)
    assert set(contents(tmp_path / "export")) == {"runs.jsonl", "export.json"}
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_an_export_says_what_it_is(published_home: Home, tmp_path: Path) -> None:
    written = export(tmp_path / "export", "csv", ["projects"], published_home.directory)
    about = json.loads((tmp_path / "export/export.json").read_text())
    assert about["format"] == "csv"
    assert about["warehouse_version"].startswith("sha256:")
    assert about["written"] == written
    assert about["files"] == ["datapackage.json", "export.json", "projects.csv"]


def test_what_no_export_wrote_is_left_alone(published_home: Home, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    export(tmp_path / "export", "csv", ["projects"], published_home.directory)
    (tmp_path / "export/notes.txt").write_text("mine, among the export's")
    (tmp_path / "file").write_text("no directory")
    (tmp_path / "link").symlink_to(tmp_path / "export")
    for name in ("mine", "export", "file", "link"):
        before = contents(tmp_path)
        with pytest.raises(ExportError, match="give a new directory"):
            export(tmp_path / name, "csv", ["projects"], published_home.directory)
        assert contents(tmp_path) == before


def test_a_directory_that_can_not_be_written_is_named_with_why(published_home: Home, tmp_path: Path) -> None:
    directory = tmp_path / ("x" * 250)
    with pytest.raises(ExportError) as refused:
        export(directory, "csv", ["projects"], published_home.directory)
    assert str(refused.value) == f"{directory} can't be written: File name too long"


def test_the_directory_that_one_stands_in_is_not_replaced(
    published_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for here in (".", f"../{tmp_path.name}", ".."):
        with pytest.raises(ExportError, match="the directory that this runs in"):
            export(here, "csv", ["projects"], published_home.directory)


def test_an_export_that_fails_leaves_the_earlier_one(
    published_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(tmp_path / "export", "csv", ["projects"], published_home.directory)
    before = contents(tmp_path)

    def full(*_: object) -> dict[str, int]:
        raise OSError("no space left on device")

    monkeypatch.setitem(FORMATS, "csv", full)
    with pytest.raises(ExportError, match="no space left"):
        export(tmp_path / "export", "csv", ["projects"], published_home.directory)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("form", "table", "said"),
    [
        ("csv", "runz", "no table or view 'runz'; it has runs"),
        ("yaml", "leaderboard", "no table with manifests 'leaderboard'; it has environments"),
        ("catalog", "runs", "a catalog holds all"),
        ("csv", 'runs"; drop table runs', "no table or view"),
        ("xml", "runs", "no format 'xml', only csv"),
    ],
)
def test_what_can_not_be_exported_is_said_in_words(
    published_home: Home, tmp_path: Path, form: str, table: str, said: str
) -> None:
    with pytest.raises(ExportError, match=said):
        export(tmp_path / "export", form, [table], published_home.directory)
    assert not list(tmp_path.iterdir())


def test_without_a_warehouse_nothing_is_written(home: Home, tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="run `kernelindex ingest` first"):
        export(tmp_path / "export", "csv", home=home.directory)
    assert not (tmp_path / "export").exists()


def test_the_command_says_what_it_wrote(published_home: Home, tmp_path: Path) -> None:
    arguments = [
        "export",
        str(tmp_path / "out"),
        "--table",
        "projects",
        "--home",
        str(published_home.directory),
    ]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    count = len(csv_cells(tmp_path / "out/projects.csv"))
    assert result.stdout.splitlines()[0].split() == [str(count), "projects.csv"]


def test_the_command_refuses_in_a_sentence(published_home: Home, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    result = CliRunner().invoke(app, ["export", str(tmp_path), "--home", str(published_home.directory)])
    assert result.exit_code == 1
    assert "'thesis.txt', which no export wrote" in result.stderr
