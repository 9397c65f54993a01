"""The Dagster instance under `$KERNELINDEX_HOME/dagster`, where the command, schedules and the UI meet."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from pipelines.own_runs import UNDER_WAY
from warehouse.files import sweep, written_aside
from warehouse.home import Home

# Stands on every run that the command made, in its own process.
BY_COMMAND = {"kernelindex/launched_by": "command"}

CONFIG = Path(__file__).parents[1] / "dagster.yaml"


def prepare_instance(home: Home) -> None:
    """Make Dagster's home with the project's `dagster.yaml`; point this process and its children to it.

    Raises HomeError where nothing can be written to the home.
    """
    home.write_version()
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
    directory = os.open(home.dagster, os.O_RDONLY)
    try:
        # Of two that make the same databases at once, one fails.
        fcntl.flock(directory, fcntl.LOCK_EX)
        return dg.DagsterInstance.get()
    finally:
        os.close(directory)


class Busy(Exception):
    """Another command is ingesting into this home; says so."""


@contextmanager
def only_command(home: Home, instance: dg.DagsterInstance) -> Iterator[None]:
    """Hold the home as the only command that ingests into it; what commands that were killed left ends here.

    The lock goes with the process, however it ends: so a run that a command began and that is still under way
    when another command has the lock is dead. It is marked so, and gives back its place in the pools.

    Raises Busy while another command holds it.
    """
    with (home.directory / "ingest.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(
                f"another `kernelindex` command is writing into {home.directory}; try again when it has ended"
            ) from None
        for run in instance.get_runs(dg.RunsFilter(tags=BY_COMMAND, statuses=UNDER_WAY)):
            instance.report_run_failed(run, "the command's process ended before the run did")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        sweep(home.directory)
        yield


def is_held(home: Home) -> bool:
    """Whether a command is ingesting into the home now."""
    try:
        with (home.directory / "ingest.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
