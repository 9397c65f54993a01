"""In a Dagster instance that others use too: what is theirs is left alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest

from pipelines.definitions import defs
from pipelines.names import own
from warehouse.home import Home


@dg.job
def ingest() -> None:
    """A job of another team, under a name that one of ours had."""


@pytest.fixture
def stock(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance as Dagster makes it, without any setting."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        yield instance


def aged(instance: dg.DagsterInstance, run_id: str) -> str:
    """The run, as if it had ended 200 days ago."""
    with closing(sqlite3.connect(Path(instance.root_directory, "history", "runs.db"))) as runs, runs:
        runs.execute(
            "update runs set update_timestamp = datetime('now', '-200 days') where run_id = ?", [run_id]
        )
    return run_id


def test_old_runs_of_others_and_of_other_homes_stay_and_those_of_the_home_go(
    stock: dg.DagsterInstance, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ours(name: str, home: Path) -> str:
        monkeypatch.setenv("KERNELINDEX_HOME", str(home))
        return defs.resolve_job_def(own(name)).execute_in_process(instance=stock).run_id

    theirs = aged(stock, ingest.execute_in_process(instance=stock).run_id)
    of_other_home = aged(stock, ours("list_kernels", tmp_path / "other"))
    aged(stock, ours("list_kernels", home.directory))

    tidied = ours("tidy", home.directory)

    assert {run.run_id for run in stock.get_runs()} == {theirs, of_other_home, tidied}
