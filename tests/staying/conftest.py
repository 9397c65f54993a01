"""What tests of staying power share: two states of the leaderboard, and a home made of one of them."""

import json
import shutil
from pathlib import Path

import pytest

from assets.leaderboard.recorded import recorded_directory
from assets.leaderboard.sources import DirectorySource
from tests.examples import ingest
from tests.staying.commands import Board, kernelindex, places
from warehouse.home import Home
from warehouse.parquet import read_table, rows_of
from warehouse.tables import RANKINGS


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done in this process, as by the command, leaves the environment as it was."""
    for name in ("KERNELINDEX_HOME", "DAGSTER_HOME"):
        monkeypatch.setenv(name, "")


@pytest.fixture(scope="session")
def boards(tmp_path_factory: pytest.TempPathFactory) -> tuple[Board, Board]:
    """The sample as it is, and as it is once a submission of each of five kernels is disqualified."""
    directories = [tmp_path_factory.mktemp("board") for _ in range(2)]
    for directory in directories:
        recorded_directory(directory)
    for path in sorted(directories[1].glob("submissions/*.json"))[:5]:
        page = json.loads(path.read_text())
        page["data"]["submissions"][0]["is_disqualified"] = True
        path.write_text(json.dumps(page))
    first, second = (_board(directory, tmp_path_factory) for directory in directories)
    assert first.places != second.places
    return first, second


def _board(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Board:
    home = Home(tmp_path_factory.mktemp("places"))
    ingest(DirectorySource(directory), home)
    rows = rows_of(read_table(home, RANKINGS))
    return Board(directory, frozenset((row["run_digest"], row["rank"]) for row in rows))


@pytest.fixture(scope="session")
def ingested(boards: tuple[Board, Board], tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home into which the command has ingested the first board, to copy."""
    home = Home(tmp_path_factory.mktemp("ingested") / "home")
    ended = kernelindex("ingest", home, "--source", str(boards[0].directory))
    assert ended.code == 0, ended.said
    assert places(home) == boards[0].places
    return home


@pytest.fixture
def copied(ingested: Home, home: Home) -> Home:
    """A home like that, for a test to spoil."""
    shutil.copytree(ingested.directory, home.directory)
    return home
