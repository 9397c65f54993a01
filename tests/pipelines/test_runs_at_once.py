"""Runs at once: each makes tables, ranks and a warehouse that fit together, whatever the others do meanwhile.

That fifty real ones do is tried in `test_backfills`; here is what keeps them apart.
"""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines import checks
from pipelines.checks import check_manifests, check_rankings, unaccounted_submissions
from pipelines.own_runs import home_tag
from pipelines.resources import Pipeline
from tests.examples import GEMM, stamp
from warehouse.assets import warehouse
from warehouse.build import build_warehouse
from warehouse.files import written_aside
from warehouse.home import CHECKED_STAGES, Home
from warehouse.parts import locked_parts, parts_version


@pytest.fixture
def home(sample_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The sample's home, collected, ranked and published."""
    shutil.copytree(sample_home.directory, tmp_path / "home")
    home = Home(tmp_path / "home")
    home.collected.write_text(parts_version(home))
    home.ranked.write_text(parts_version(home))
    build_warehouse(home)
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    return home


def lose_a_submission(home: Home) -> None:
    path = home.table("source_submissions")
    pq.write_table(pq.read_table(path).slice(1), path)


def passed(checks: Callable[[Pipeline], Any]) -> bool:
    """Run checks; whether all those that block passed."""
    results = list(checks(Pipeline()))
    return all(result.passed or result.severity != dg.AssetCheckSeverity.ERROR for result in results)


def test_what_is_being_written_does_not_count_until_it_is_in_place(home: Home) -> None:
    before = parts_version(home)
    with written_aside(home.part(GEMM, "pages")) as aside:
        aside.write_bytes(home.part(GEMM, "pages").read_bytes())
        assert parts_version(home) == before
    assert parts_version(home) != before


def test_parts_stay_as_they_are_while_tables_are_collected(home: Home) -> None:
    lock = os.open(home.directory / "parts", os.O_RDONLY)
    try:
        with locked_parts(home, all_of_them=True), pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # Who writes a part waits,
        with locked_parts(home):
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # but not for others who write.
    finally:
        os.close(lock)


def is_published(instance: dg.DagsterInstance) -> bool:
    """Have a run publish; whether it says that all is well."""
    pipeline = {"pipeline": Pipeline()}
    return dg.materialize([warehouse], instance=instance, resources=pipeline, raise_on_error=False).success


@pytest.mark.parametrize(
    "noted", [["collected"], ["collected", "ranked"], ["collected", "ranked", "manifests"]]
)
def test_tables_that_are_not_ranked_or_checked_are_left_to_the_run_that_is_at_it(
    home: Home, noted: list[str]
) -> None:
    notes = {"collected": home.collected, "ranked": home.ranked}
    notes |= {stage: home.checked(stage) for stage in CHECKED_STAGES}
    for path in notes.values():
        path.write_text("before")
    lose_a_submission(home)
    published = stamp(home.warehouse)
    for name in noted:
        notes[name].write_text("another run's")

    with dg.DagsterInstance.ephemeral() as instance:
        assert not is_published(instance)  # Nobody is at it.
        other = dg.DagsterRun("ingest", status=dg.DagsterRunStatus.STARTED, tags=home_tag(home.directory))
        instance.add_run(other)
        assert is_published(instance)
        assert stamp(home.warehouse) == published

        for path in notes.values():
            path.write_text("another run's")
        assert is_published(instance)
        assert stamp(home.warehouse) != published


def test_a_late_result_does_not_count_for_newer_tables(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def collected_meanwhile(home: Home) -> pa.Table:
        home.collected.write_text("another run's")
        home.checked("manifests").write_text("another run's")
        return pa.table({"kernel_key": pa.array([], pa.string())})

    monkeypatch.setattr(checks, "unaccounted_submissions", collected_meanwhile)
    assert passed(check_manifests)
    assert home.checked("manifests").read_text() == "another run's"


def test_tables_on_which_a_blocking_check_failed_are_not_published_by_a_later_run_either(home: Home) -> None:
    assert passed(check_manifests)
    assert passed(check_rankings)
    assert home.is_checked
    assert home.is_in_step
    published = stamp(home.warehouse)
    lose_a_submission(home)

    assert not passed(check_manifests)
    with dg.DagsterInstance.ephemeral() as instance:
        assert not is_published(instance)
    assert stamp(home.warehouse) == published


def test_a_submission_is_not_missed_where_its_page_came_after_the_tables(home: Home) -> None:
    lose_a_submission(home)
    assert unaccounted_submissions(home).num_rows == 1
    with written_aside(home.part(GEMM, "pages")) as aside:
        aside.write_bytes(home.part(GEMM, "pages").read_bytes())
    assert unaccounted_submissions(home).num_rows == 0
