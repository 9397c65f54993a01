"""The Dagster instance under `$KERNELINDEX_HOME/dagster`, where the command, schedules and the UI meet."""

import os
from pathlib import Path

import dagster as dg

from warehouse.files import written_aside
from warehouse.home import Home

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
