"""In an instance with another team's code location, whose names are those that ours once had.

One story on an instance without any setting, and on one with a Postgres; each test is a chapter. All that is
ours goes through, and all that is theirs is as it was, also the run that is under way meanwhile.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.jobs import range_tags
from pipelines.names import PREFIX
from tests.examples import sample_ids
from tests.guest.conftest import knowing_home
from tests.guest.dagsters import PROJECT, Dagster, dagster_on_postgres
from tests.pipelines.ui import Ui, dagster_dev, wait_until
from warehouse.home import Home
from warehouse.parquet import read_table
from warehouse.tables import TABLES

WORKSPACE = PROJECT / "workspace.yaml"
THEIRS = """
load_from:
  - python_module: {module_name: tests.guest.theirs, location_name: theirs}
"""
RANKINGS = "select count(*) from rankings"


@dataclass
class Beside:
    """Our code location and theirs in one instance: its UI, and what stood there before ours came."""

    dagster: Dagster
    ui: Ui
    before: dict[str, Any]
    settings_before: str | None

    def command(self, *arguments: str, home: Path | None = None) -> str:
        """Run `kernelindex`; what it printed."""
        return self.dagster.run(
            "-m", "pipelines.cli", *arguments, "--home", str(home or self.ui.home.directory)
        )

    def homes(self) -> dict[str, str | None]:
        """The home that each run which stands there bears."""
        return {run["id"]: run["home"] for run in self.dagster.tell()["runs"]}


@contextmanager
def dagster_of(kind: str, directory: Path) -> Iterator[Dagster]:
    directory.mkdir()
    if kind == "postgres":
        with dagster_on_postgres(directory) as dagster:
            yield dagster
    else:
        yield Dagster(directory)


def settings_of(dagster: Dagster) -> str | None:
    path = dagster.directory / "dagster.yaml"
    return path.read_text() if path.exists() else None


@pytest.fixture(scope="module", params=["stock", "postgres"])
def beside(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, one_run: Home
) -> Iterator[Beside]:
    directory = tmp_path_factory.mktemp("beside")
    (directory / "theirs.yaml").write_text(THEIRS)
    home = knowing_home(one_run, directory / "home")
    with dagster_of(request.param, directory / "dagster") as dagster:
        settings_before = settings_of(dagster)
        dagster.run("-m", "tests.guest.theirs", "begin")
        staying = dagster.start("-m", "tests.guest.theirs", "stay")
        wait_until(
            lambda: "STARTED" in {run["status"] for run in dagster.tell()["runs"]}, "theirs is under way"
        )
        before = dagster.tell()
        environment = dagster.environment(KERNELINDEX_HOME=str(home.directory))
        code = ["-w", str(WORKSPACE), "-w", str(directory / "theirs.yaml")]
        with dagster_dev(code, environment, directory) as url:
            yield Beside(dagster, Ui(url, home, PREFIX), before, settings_before)
        # It was theirs to end.
        _, complained = staying.communicate("", timeout=60)
        assert staying.returncode == 0, complained


def test_the_kernels_that_the_home_knows_are_partitions_at_once(beside: Beside) -> None:
    assert set(beside.ui.kernels()) == set(sample_ids())


def test_schedules_and_sensors_are_off(beside: Beside) -> None:
    switched_on = beside.ui.switched_on()
    assert len(switched_on) == 8
    assert not any(switched_on.values())


def test_a_backfill_of_all_kernels_and_the_job_that_publishes_go_through(beside: Beside) -> None:
    ui = beside.ui
    backfill = ui.backfill(["kernel_pages", "kernel_manifests"], allPartitions=True)
    wait_until(lambda: ui.backfill_status(backfill) == "COMPLETED_SUCCESS", "the backfill is completed")
    assert ui.partitions("kernel_manifests") == {"numMaterialized": 24, "numFailed": 0}

    ui.done(ui.run_job("publish", range_tags(ui.kernels())))
    assert ui.rows(RANKINGS) == [(75,)]


def test_the_command_ingests_beside_it_and_its_run_stands_there(beside: Beside) -> None:
    before = beside.homes()

    beside.command("ingest")

    assert beside.ui.rows(RANKINGS) == [(75,)]
    after = beside.homes()
    assert [after[run] for run in after.keys() - before] == [str(beside.ui.home.directory)]


def test_tidying_deletes_the_homes_old_runs(beside: Beside) -> None:
    old = next(run for run, home in beside.homes().items() if home)
    beside.dagster.run("-m", "tests.guest.theirs", "age", old)

    beside.ui.done(beside.ui.run_job("tidy"))

    assert old not in beside.homes()


def test_a_home_that_run_config_names_gets_its_own_data_and_does_not_meet_the_other(
    beside: Beside, tmp_path: Path
) -> None:
    other = Home(tmp_path / "other")
    of_home = {run for run, home in beside.homes().items() if home}

    settings = {"home": str(other.directory)}
    beside.ui.done(beside.ui.run_job("list_kernels", settings=settings))
    run = beside.ui.run_job("ingest", range_tags(beside.ui.kernels()), settings)
    beside.command("ingest")
    beside.ui.done(run)
    beside.ui.done(beside.ui.run_job("tidy", settings=settings))

    assert Ui(beside.ui.url, other).rows(RANKINGS) == [(75,)]
    assert beside.homes()[run] == str(other.directory)
    assert of_home <= beside.homes().keys()


def test_all_that_is_theirs_is_as_it_was(beside: Beside) -> None:
    before, after = beside.before, beside.dagster.tell()
    assert "STARTED" in {run["status"] for run in before["runs"]}

    assert [run for run in after["runs"] if not run["home"]] == before["runs"]
    assert after["kernels"] == before["kernels"] == ["linux", "bsd"]
    assert {name: asset for name, asset in after["assets"].items() if PREFIX not in name} == before["assets"]
    assert {pool: limit for pool, limit in after["pools"].items() if PREFIX not in pool} == before["pools"]


def test_nothing_is_written_there_but_through_dagster(beside: Beside) -> None:
    assert settings_of(beside.dagster) == beside.settings_before
    assert not beside.ui.home.dagster.exists()


def test_what_was_made_there_is_what_one_run_alone_makes(beside: Beside, one_run: Home) -> None:
    for table in TABLES.values():
        assert read_table(beside.ui.home, table).equals(read_table(one_run, table)), table.name
