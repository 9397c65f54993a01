"""Homes of other versions: an older one is brought up to date from its pages, a newer one is refused."""

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from pipelines.doctor import examine
from tests.inbox.pages import seed_html
from tests.staying.commands import Board, kernelindex, places
from warehouse.build import warehouse_version
from warehouse.home import VERSION, Home, HomeError
from warehouse.parquet import read_table
from warehouse.parts import part_version, read_tables, write_part
from warehouse.tables import RUNS, TABLES

# What commands must be told, beside the home.
ARGUMENTS = {
    "read": ["page.html"],
    "verify": ["page.html"],
    "show": ["3268"],
    "compare": ["3268"],
    "list": ["tags"],
    "sql": ["select 1"],
    "export": ["exported"],
    "site": ["site"],
}
COMMANDS = [
    str(command.name or command.callback.__name__) for command in app.registered_commands if command.callback
]


def as_it_was(home: Home) -> None:
    """Make a home like one from before, whose parts and tables lack a column of runs."""
    for path in home.parts("manifests"):
        version, tables = part_version(path), read_tables(path)
        tables["runs"] = tables["runs"].drop_columns("submission_id")
        write_part(path, tables, str(version).replace(", columns ", ", columns of before "))
    pq.write_table(read_table(home, RUNS).drop_columns("submission_id"), home.table("runs"))
    (home.directory / "version").unlink()


def test_an_older_home_is_brought_up_to_date_without_a_fetch(
    copied: Home, ingested: Home, boards: tuple[Board, Board]
) -> None:
    as_it_was(copied)
    assert not examine(copied).is_well

    rebuilt = kernelindex("rebuild", copied)

    assert rebuilt.code == 0, rebuilt.said
    assert copied.version == VERSION
    assert places(copied) == boards[0].places
    assert warehouse_version(copied) == warehouse_version(ingested)
    for table in TABLES.values():
        assert read_table(copied, table).equals(read_table(ingested, table))


def test_a_page_that_is_read_into_an_older_home_is_kept_and_what_to_do_is_said(
    copied: Home, tmp_path: Path
) -> None:
    as_it_was(copied)
    saved = tmp_path / "page.html"
    saved.write_text(seed_html("165"))

    ended = kernelindex("read", copied, str(saved))

    assert ended.code == 1
    assert "the pages are kept, and the next run reads them" in ended.said
    assert "was made by another version of this project: `kernelindex rebuild` makes it anew" in ended.said
    assert "`kernelindex ui`" not in ended.said
    assert kernelindex("rebuild", copied).code == 0
    with duckdb.connect(copied.warehouse, read_only=True) as warehouse:
        assert warehouse.execute("select kind from saved_pages").fetchall() == [("run",)]


def test_the_warehouse_says_the_version_of_its_schema(ingested: Home) -> None:
    with duckdb.connect(ingested.warehouse, read_only=True) as warehouse:
        assert warehouse.execute("select schema_version from warehouse_version").fetchall() == [(VERSION,)]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_newer_home_in_words(
    command: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    home.directory.mkdir()
    home.warehouse.touch()
    (home.directory / "version").write_text(f"{VERSION + 1}\n")

    ended = CliRunner().invoke(app, [command, *ARGUMENTS.get(command, [])])

    assert ended.exit_code != 0
    assert "was written by a newer version of this project" in ended.output
    assert {path.name for path in home.directory.iterdir()} == {"version", "warehouse.duckdb"}


def test_a_version_that_is_no_number_is_refused_in_words(home: Home) -> None:
    home.directory.mkdir()
    (home.directory / "version").write_text("one")
    with pytest.raises(HomeError, match="it must hold a number"):
        home.refuse_newer()
