"""Jobs: what is run together, and what must be known to run it."""

import shutil
from collections.abc import Sequence

import dagster as dg

from pipelines.names import asset_key, own
from pipelines.own_runs import home_tag, old_runs
from pipelines.resources import Pipeline
from pipelines.settings import Settings
from warehouse.files import sweep


def _assets(*names: str) -> dg.AssetSelection:
    return dg.AssetSelection.assets(*map(asset_key, names))


# Reads every file that is kept, which costs as much as all that ever came: so not with what is new.
_EXAMINATION = dg.AssetSelection.checks(dg.AssetCheckKey(asset_key("warehouse"), "home_is_whole"))
_ALL = dg.AssetSelection.all() - _EXAMINATION
# Of the environment's home: a run whose config names another one says so once it begins.
_TAGS = home_tag(Settings().home)

ingest = dg.define_asset_job(
    own("ingest"),
    selection=_ALL,
    tags=_TAGS,
    description="The whole way: fetch, read, normalise, rank, publish; for a range of kernels.",
)

publish = dg.define_asset_job(
    own("publish"),
    selection=_ALL - _assets("kernel_listing", "kernel_pages"),
    tags=_TAGS,
    description="All but fetching: what the stored pages say, ranked and published; for a range of kernels.",
)

saved_pages = dg.define_asset_job(
    own("saved_pages"),
    selection=_ALL
    - dg.AssetSelection.assets(
        asset_key("kernel_listing"), asset_key("kernel_pages"), asset_key("kernel_manifests")
    ),
    tags=_TAGS,
    description="What follows from saved pages: taken in, tables, ranks and the warehouse made anew.",
)

list_kernels = dg.define_asset_job(
    own("list_kernels"),
    selection=_assets("kernel_listing"),
    tags=_TAGS,
    description="Fetch the listing of kernels alone: new ones become partitions.",
)

examine = dg.define_asset_job(
    own("examine"),
    selection=_EXAMINATION,
    tags=_TAGS,
    description="Look for damage to any file of the home, as `kernelindex doctor` does.",
)


def range_tags(keys: Sequence[str]) -> dict[str, str]:
    """The tags of one run over all partitions from the first of these keys to the last."""
    return {
        "dagster/asset_partition_range_start": keys[0],
        "dagster/asset_partition_range_end": keys[-1],
    }


def why_it_failed(event: dg.DagsterEvent) -> str:
    """Why a step failed, in the words of what failed there."""
    data = event.step_failure_data
    if data.user_failure_data and data.user_failure_data.description:
        return str(data.user_failure_data.description)
    error = data.error and (data.error.cause or data.error)
    return error.message.strip() if error else ""


def delete_runs(settings: Settings, instance: dg.DagsterInstance) -> int:
    """Delete the home's runs that ended more than `keep_runs_days` ago, with their events; say how many.

    What they made stays. A kernel that no later run covered shows as missing in the UI from then on.
    """
    home = settings.kept()
    old = old_runs(instance, home.directory, settings.keep_runs_days)
    for run_id in old:
        instance.delete_run(run_id)
        shutil.rmtree(home.dagster / "storage" / run_id, ignore_errors=True)
        # Dagster empties a run's file of events, and leaves it as large as it was.
        for file in home.dagster.glob(f"history/runs/{run_id}.db*"):
            file.unlink()
    return len(old)


@dg.op
def delete_old_runs(context: dg.OpExecutionContext, pipeline: Pipeline) -> None:
    """Delete old runs, and what processes that were killed have left half written."""
    settings = pipeline.settings()
    context.log.info("deleted %d runs", delete_runs(settings, context.instance))
    context.log.info("swept away %d files", len(sweep(settings.kept().directory)))


@dg.job(
    name=own("tidy"),
    tags=_TAGS,
    description="Delete old runs, so that Dagster's home does not grow without bound.",
)
def tidy() -> None:
    """See delete_old_runs."""
    delete_old_runs()
