"""Jobs: what is run together, and what must be known to run it."""

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg

from pipelines.resources import Pipeline

ingest = dg.define_asset_job(
    "ingest",
    selection=dg.AssetSelection.all(),
    description="The whole way: fetch, read, normalise, rank, publish; for a range of kernels.",
)

publish = dg.define_asset_job(
    "publish",
    selection=dg.AssetSelection.all() - dg.AssetSelection.assets("kernel_listing", "kernel_pages"),
    description="All but fetching: what the stored pages say, ranked and published; for a range of kernels.",
)

saved_pages = dg.define_asset_job(
    "saved_pages",
    selection=dg.AssetSelection.all()
    - dg.AssetSelection.assets("kernel_listing", "kernel_pages", "kernel_manifests"),
    description="What follows from saved pages: taken in, tables, ranks and the warehouse made anew.",
)

list_kernels = dg.define_asset_job(
    "list_kernels",
    selection=dg.AssetSelection.assets("kernel_listing"),
    description="Fetch the listing of kernels alone: new ones become partitions.",
)

UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]
_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


def range_tags(keys: Sequence[str]) -> dict[str, str]:
    """The tags of one run over all partitions from the first of these keys to the last."""
    return {
        "dagster/asset_partition_range_start": keys[0],
        "dagster/asset_partition_range_end": keys[-1],
    }


def under_way(instance: dg.DagsterInstance, job_name: str | None = "ingest") -> str | None:
    """The id of a run (of a job, or of any) that has not ended, if there is one."""
    runs = instance.get_runs(dg.RunsFilter(job_name=job_name, statuses=UNDER_WAY), limit=1)
    return runs[0].run_id if runs else None


@dg.op
def delete_old_runs(context: dg.OpExecutionContext, pipeline: Pipeline) -> None:
    """Delete the runs that ended more than `keep_runs_days` ago, with their events and their output.

    What they made stays. A kernel that no later run covered shows as missing in the UI from then on.
    """
    settings = pipeline.settings()
    before = datetime.now(UTC) - timedelta(days=settings.keep_runs_days)
    old = context.instance.get_runs(dg.RunsFilter(statuses=_ENDED, updated_before=before))
    for run in old:
        context.instance.delete_run(run.run_id)
        shutil.rmtree(settings.kept().dagster / "storage" / run.run_id, ignore_errors=True)
    context.log.info("deleted %d runs that ended before %s", len(old), before.isoformat())


@dg.job(description="Delete old runs, so that Dagster's home does not grow without bound.")
def tidy() -> None:
    """See delete_old_runs."""
    delete_old_runs()
