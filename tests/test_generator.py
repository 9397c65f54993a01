"""The generator of leaderboards: what it makes is like the real one, passes every check, and is served."""

from pathlib import Path

import httpx
import orjson
import pytest

from assets.leaderboard.sources import DirectorySource
from pipelines.checks import MANIFEST_CHECKS, RANKING_CHECKS, Check, opened_tables
from tests.examples import ingest
from tests.generator import generate, next_day
from tests.leaderboard_server import LeaderboardServer
from warehouse.build import build_warehouse
from warehouse.home import Home
from warehouse.parquet import read_table
from warehouse.tables import RUNS, SOURCE_SUBMISSIONS


def files_of(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.glob("**/*.json")}


@pytest.fixture(scope="module")
def generated_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home of 600 submissions to 30 kernels: the first day is published, the next one is in the tables."""
    directory = generate(tmp_path_factory.mktemp("generated"), submissions=600, kernels=30, users=60)
    home = Home(tmp_path_factory.mktemp("home"))
    ingest(DirectorySource(directory), home)
    build_warehouse(home)
    next_day(directory)
    ingest(DirectorySource(directory), home)
    return home


@pytest.mark.parametrize("check", [*MANIFEST_CHECKS, *RANKING_CHECKS], ids=lambda check: check.name)
def test_what_it_makes_passes_every_check(generated_home: Home, check: Check) -> None:
    with opened_tables(generated_home) as tables:
        assert check.result(tables, generated_home).passed


def test_most_submissions_are_runs_and_all_kinds_of_others_are_there(generated_home: Home) -> None:
    outcomes = read_table(generated_home, SOURCE_SUBMISSIONS)["outcome"].to_pylist()
    assert 0.7 < outcomes.count("run") / len(outcomes) < 0.9
    assert {"INCORRECT", "DISQUALIFIED", "STATUS_FAILED", "STATUS_TIMEOUT"} <= set(outcomes)
    assert read_table(generated_home, RUNS).num_rows == outcomes.count("run")


def test_the_same_seed_makes_the_same_bytes(tmp_path: Path) -> None:
    first, again, other = (
        files_of(generate(tmp_path / name, submissions=100, kernels=3, seed=seed))
        for name, seed in (("first", 1), ("again", 1), ("other", 2))
    )
    assert first == again != other


def test_a_day_changes_only_its_share(tmp_path: Path) -> None:
    generate(tmp_path, submissions=5000, kernels=40)
    before = files_of(tmp_path)
    next_day(tmp_path, share=0.05)
    after = files_of(tmp_path)
    changed = [name for name in after if after[name] != before.get(name)]
    assert 1 < len(changed) < len(after) / 10


def test_it_is_served_page_by_page(tmp_path: Path) -> None:
    generate(tmp_path, submissions=130, kernels=1)
    with LeaderboardServer(tmp_path) as server:
        url = f"{server.url}/submissions?kernel_id=1&limit=50&offset=50"
        served = httpx.get(url, trust_env=False).json()
    assert served == orjson.loads((tmp_path / "submissions/1.50.json").read_bytes())
