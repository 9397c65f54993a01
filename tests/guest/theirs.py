"""Another team's code location, under names that ours once had; as a command, what that team does with it.

Run in their instance, and with what they have installed: `python -m tests.guest.theirs begin`.
"""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
from sqlalchemy import text

from pipelines.own_runs import HOME_TAG

kernels = dg.DynamicPartitionsDefinition(name="kernels")


@dg.asset(partitions_def=kernels, pool="fetching")
def kernel_pages() -> None:
    """Pages about kernels of operating systems."""


@dg.asset
def pages() -> None:
    """Pages of a book."""


@dg.asset
def runs() -> None:
    """Runs of trains."""


@dg.asset(pool="publishing", deps=[runs])
def warehouse() -> None:
    """Where goods are kept."""


@dg.op
def wait_for_the_end() -> None:
    """Take as long as whoever started this process wants."""
    sys.stdin.read()


@dg.job
def ingest() -> None:
    """A job of theirs."""
    wait_for_the_end()


publish = dg.define_asset_job("publish", selection=[pages, runs, warehouse])


@dg.schedule(job=publish, cron_schedule="0 2 * * *")
def nightly() -> dg.RunRequest:
    """A schedule of theirs."""
    return dg.RunRequest()


@dg.sensor(job=publish)
def carry_on() -> dg.SkipReason:
    """A sensor of theirs."""
    return dg.SkipReason("nothing is new")


defs = dg.Definitions(
    assets=[kernel_pages, pages, runs, warehouse],
    jobs=[ingest, publish],
    schedules=[nightly],
    sensors=[carry_on],
)


def begin(instance: dg.DagsterInstance) -> None:
    """What they did before: partitions, materialised assets, a run that ended 200 days ago."""
    instance.add_dynamic_partitions("kernels", ["linux", "bsd"])
    dg.materialize([kernel_pages], instance=instance, partition_key="linux")
    defs.resolve_job_def("publish").execute_in_process(instance=instance)
    age(instance, ingest.execute_in_process(instance=instance).run_id)


def stay(instance: dg.DagsterInstance) -> None:
    """A run that is under way until this process's standard input ends."""
    ingest.execute_in_process(instance=instance)


def age(instance: dg.DagsterInstance, run_id: str) -> None:
    """Let a run have ended 200 days ago."""
    long_ago = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=200)
    with instance.run_storage.connect() as runs:  # type: ignore[attr-defined]
        runs.execute(
            text("update runs set create_timestamp = :at, update_timestamp = :at where run_id = :id"),
            {"at": long_ago, "id": run_id},
        )


def tell(instance: dg.DagsterInstance) -> None:
    """Print what stands in the instance: runs, partitions, assets, and the limits of pools."""
    storage = instance.event_log_storage
    found: dict[str, Any] = {
        "runs": [
            {
                "id": run.run_id,
                "job": run.job_name,
                "status": run.status.value,
                "home": run.tags.get(HOME_TAG),
            }
            for run in instance.get_runs()
        ],
        "kernels": instance.get_dynamic_partitions("kernels"),
        "assets": {
            key.to_user_string(): {
                "run": event.run_id if (event := instance.get_latest_materialization_event(key)) else None,
                "partitions": sorted(instance.get_materialized_partitions(key)),
            }
            for key in instance.all_asset_keys()
        },
        "pools": {pool: storage.get_concurrency_info(pool).limit for pool in storage.get_concurrency_keys()},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    with dg.DagsterInstance.get() as instance:
        does: dict[str, Callable[..., None]] = {"begin": begin, "stay": stay, "age": age, "tell": tell}
        does[sys.argv[1]](instance, *sys.argv[2:])
