"""The Dagster instance under `$KERNELINDEX_HOME/dagster`, where the command, schedules and the UI meet."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from pipelines.jobs import UNDER_WAY
from warehouse.files import written_aside
from warehouse.home import Home

# Stands on every run that the command made, in its own process.
BY_COMMAND = {"kernelindex/launched_by": "command"}

CONFIG = Path(__file__).parents[1] / "dagster.yaml"


def prepare_instance(home: Home) -> None:
    """Make Dagster's home with the project's `dagster.yaml`; point this process and its children to it."""
    config = home.dagster / "dagster.yaml"
    if not config.exists() or config.read_bytes() != CONFIG.read_bytes():
        with written_aside(config) as aside:
            aside.write_bytes(CONFIG.read_bytes())
    os.environ["DAGSTER_HOME"] = str(home.dagster)
    os.environ["KERNELINDEX_HOME"] = str(home.directory)
    # Events of many partitions are written together, not one by one.
    os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", "500")


def open_instance(home: Home) -> dg.DagsterInstance:
    """The instance of a home, made where there is none yet."""
    prepare_instance(home)
    return dg.DagsterInstance.get()


class Busy(Exception):
    """Another command is ingesting into this home; says so."""


@contextmanager
def only_command(home: Home, instance: dg.DagsterInstance) -> Iterator[None]:
    """Hold the home as the only command that ingests into it; runs of commands that were killed end here.

    The lock goes with the process, however it ends: so a run that a command began and that is still under way
    when another command has the lock is dead. It is marked so, and gives back its place in the pools.

    Raises Busy while another command holds it.
    """
    with (home.directory / "ingest.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(
                f"another `kernelindex ingest` is under way in {home.directory}; try again when it has ended"
            ) from None
        for run in instance.get_runs(dg.RunsFilter(tags=BY_COMMAND, statuses=UNDER_WAY)):
            instance.report_run_failed(run, "the command's process ended before the run did")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        yield
