"""`kernelindex ingest`, as its users run it: a process of its own, on a home of its own."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from assets.leaderboard.recorded import recorded_directory
from pipelines.instance import open_instance
from pipelines.names import asset_key
from warehouse.home import Home


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, and what it said."""

    code: int
    said: str


def kernelindex(*arguments: str) -> Ended:
    command = [sys.executable, "-m", "pipelines.cli", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return Ended(process.returncode, process.stdout + process.stderr)


def rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as warehouse:
        return warehouse.execute(query).fetchall()


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    home = tmp_path_factory.mktemp("home")
    return home, kernelindex("ingest", "--home", str(home))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The sample as a directory of saved answers, for a test to spoil."""
    directory = tmp_path / "saved"
    recorded_directory(directory)
    return directory


def test_the_first_run_needs_no_settings_and_ends_with_leaders_and_where_the_warehouse_is(
    ingested: tuple[Path, Ended],
) -> None:
    home, ended = ingested
    assert ended.code == 0, ended.said
    assert "Amir M. Mir | SF Tensor" in ended.said
    assert "48 pages of 24 kernels" in ended.said
    assert "24 operations, 75 runs" in ended.said
    assert "31 comparison groups" in ended.said
    assert f"{home}/warehouse.duckdb" in ended.said
    assert "Warning" not in ended.said


def test_the_leaders_at_the_end_are_those_of_standings(ingested: tuple[Path, Ended]) -> None:
    home, ended = ingested
    said = ended.said.splitlines()
    start = said.index("Leaders of the 23 comparison groups on v1.1")
    assert said[start + 1].split() == ["project", "groups", "firsts", "contested", "alone", "podiums"]
    columns = "project, groups, firsts, contested_firsts, uncontested_firsts, podiums"
    standings = rows(home, f"select {columns} from standings limit 10")
    shown = [line.rsplit(maxsplit=5) for line in said[start + 2 : start + 12]]
    assert shown == [[str(value) for value in row] for row in standings]


def test_the_run_stands_in_the_dagster_instance_of_the_home(ingested: tuple[Path, Ended]) -> None:
    home, ended = ingested
    with open_instance(Home(home)) as instance:
        (run,) = instance.get_runs()
        assert run.run_id in ended.said
        assert run.status == dg.DagsterRunStatus.SUCCESS
        assert len(instance.get_materialized_partitions(asset_key("kernel_manifests"))) == 24
        assert not instance.telemetry_enabled


def test_a_seed_run_stands_on_the_leaderboard_with_its_group(ingested: tuple[Path, Ended]) -> None:
    home, _ = ingested
    (row,) = rows(
        home, "select kernel, project, stack, gpu, sol_score from leaderboard where external_id = '3268'"
    )
    assert row == (
        "014_audio_encoder_varlen_attention_with_chunking_backward",
        "doubleAI",
        "v1.0",
        "NVIDIA B200",
        0.69736,
    )


def test_a_second_run_changes_nothing_and_says_so(ingested: tuple[Path, Ended]) -> None:
    home, _ = ingested
    query = "select run_digest, rank from rankings order by all"
    before = rows(home, query)
    files = {path: path.read_bytes() for path in (home / "tables").iterdir()}

    ended = kernelindex("ingest", "--home", str(home))

    assert ended.code == 0
    assert "nothing: all was there before" in ended.said
    assert rows(home, query) == before
    assert {path: path.read_bytes() for path in (home / "tables").iterdir()} == files


def test_a_source_that_is_none_fails_with_a_sentence(tmp_path: Path) -> None:
    ended = kernelindex("ingest", "--home", str(tmp_path / "home"), "--source", str(tmp_path))
    assert ended.code == 1
    assert "there is no kernels.json in it" in " ".join(ended.said.split())
    assert "Traceback" not in ended.said


def test_a_bad_page_costs_its_kernel_and_no_other(saved: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (saved / "kernels" / "1.json").write_text("<html>Bad gateway</html>")

    ended = kernelindex("ingest", "--home", str(home), "--source", str(saved))

    assert ended.code == 0, ended.said
    assert rows(home, "select count(*) from operations") == [(23,)]
    ((locator, item, problem),) = rows(home, "select locator, item, problem from quarantine")
    assert (locator, item) == ("/kernels/1", "page")
    assert "<html>Bad gateway" in str(problem)
    assert "1 items" in ended.said


def test_a_kernel_that_is_not_to_be_had_fails_alone_and_by_name(saved: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (saved / "submissions" / "1.json").unlink()

    ended = kernelindex("ingest", "--home", str(home), "--source", str(saved))

    assert ended.code == 1
    assert "001_attention_softmax_dropout_value_matmul_backward" in " ".join(ended.said.split())
    assert rows(home, "select count(*) from operations") == [(23,)]


def test_a_kernel_that_vanishes_from_the_listing_keeps_what_it_had(saved: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    kernelindex("ingest", "--home", str(home), "--source", str(saved))
    listing = json.loads((saved / "kernels.json").read_text())
    del listing["data"]["kernels"][0]
    (saved / "kernels.json").write_text(json.dumps(listing))

    ended = kernelindex("ingest", "--home", str(home), "--source", str(saved))

    assert ended.code == 0, ended.said
    assert "46 pages of 23 kernels" in ended.said
    assert rows(home, "select count(*) from operations") == [(24,)]
    shutil.rmtree(home)
