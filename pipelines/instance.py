"""The Dagster instance that a home's runs stand in: the operator's, where there is one, else one of its own.

Where `DAGSTER_HOME` is set, that instance is used, and nothing is written to it but through Dagster. Else the
home has an instance in `<home>/dagster`, where the command, schedules and the UI meet.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from assets.leaderboard.assets import register_kernels
from pipelines.own_config import write_config
from pipelines.own_runs import HOME_TAG, UNDER_WAY, home_tag
from pipelines.pools import limit_pools
from pipelines.private_names import LOADING, there_are
from pipelines.progress import log
from pipelines.settings import Settings
from warehouse.files import sweep
from warehouse.home import Home

# Stands on every run that the command made, in its own process.
BY_COMMAND = {"kernelindex/launched_by": "command"}


def is_own(home: Home) -> bool:
    """Whether the home's runs stand in an instance of its own: the operator names no other."""
    given = os.environ.get("DAGSTER_HOME")
    return not given or Path(given).absolute() == home.dagster


def dagster_home(home: Home) -> Path:
    """The directory of the home's instance."""
    return home.dagster if is_own(home) else Path(os.environ["DAGSTER_HOME"])


def prepare_instance(home: Home) -> dict[str, str]:
    """Write the settings of a home's own instance; what leads a process to the home and its instance.

    Raises HomeError where nothing can be written to the home, or where its `dagster.yaml` can't be read.
    """
    home.write_version()
    if is_own(home):
        write_config(home.dagster / "dagster.yaml")
    # Events of many partitions are written together, not one by one.
    os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", "500")
    return {"KERNELINDEX_HOME": str(home.directory), "DAGSTER_HOME": str(dagster_home(home))}


def open_instance(home: Home) -> dg.DagsterInstance:
    """The instance of a home, its own made where there is none yet, with the limits of our pools set.

    Raises HomeError as prepare_instance does, dg.Failure where pools can't be limited.
    """
    prepare_instance(home)
    directory = os.open(home.directory, os.O_RDONLY)
    try:
        # Of two that make the same databases at once, one fails.
        fcntl.flock(directory, fcntl.LOCK_EX)
        instance = instance_there(home)
        limit_pools(instance)
        return instance
    finally:
        os.close(directory)


def instance_there(home: Home) -> dg.DagsterInstance:
    """The instance of a home, with the settings that it has."""
    before = os.environ.get("DAGSTER_HOME")
    # Our event log looks there for its directory.
    os.environ["DAGSTER_HOME"] = str(dagster_home(home))
    try:
        return dg.DagsterInstance.get()
    finally:
        if before is None:
            del os.environ["DAGSTER_HOME"]
        else:
            os.environ["DAGSTER_HOME"] = before


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
        for run in dead_runs(home, instance):
            instance.report_run_failed(run, "the command's process ended before the run did")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        sweep(home.directory)
        yield


def dead_runs(home: Home, instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """The runs that a command began and whose process is gone: no command holds the home that they write to.

    To be asked by who holds the home, or where nobody does. In an instance of the home's own these can also
    be of where the home was before it was moved or copied.
    """
    begun = dict(BY_COMMAND) if is_own(home) else {**BY_COMMAND, **home_tag(home.directory)}
    runs = instance.get_runs(dg.RunsFilter(tags=begun, statuses=UNDER_WAY))
    here = home_tag(home.directory)[HOME_TAG]
    homes = {run.run_id: run.tags.get(HOME_TAG, here) for run in runs}
    return [run for run in runs if homes[run.run_id] == here or not is_held(Home(Path(homes[run.run_id])))]


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


def register_where_loaded() -> None:
    """Make partitions of the kernels that the environment's home knows, where Dagster loads the code anew.

    Else the kernels of a home would be there only in the instance that listed them. It is tried only where
    `DAGSTER_HOME` says which instance that is; where it fails, the next schedule, sensor or run does it.
    """
    if "DAGSTER_HOME" not in os.environ or not there_are(LOADING, "kernels are registered by the first run"):
        return
    from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType

    if not DefinitionsLoadContext.is_set():  # It is imported by somebody else.
        return
    if DefinitionsLoadContext.get().load_type is not DefinitionsLoadType.INITIALIZATION:
        return
    try:
        home = Settings().kept()
        with dg.DagsterInstance.get() as instance:
            register_kernels(instance, home)
    except Exception as error:  # Whatever the instance's storage raises: the code location must load.
        log.warning("the kernels of the home were not registered: %s: %s", type(error).__name__, error)
