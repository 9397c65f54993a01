"""The sensors: what starts a run without a clock, and what speaks up when one failed.

In an instance of the home's own three of them work at once; in one that others use too, all are off until
somebody switches them on.
"""

import os

import dagster as dg
import httpx

from assets.leaderboard.assets import kernel_pages, kernels, registered_kernels
from assets.leaderboard.inbox import new_files
from assets.leaderboard.snapshots import digest_of
from pipelines.instance import is_own
from pipelines.jobs import ingest, publish, range_tags, saved_pages, why_it_failed
from pipelines.names import own
from pipelines.own_runs import home_tag, under_way
from pipelines.resources import Pipeline
from pipelines.settings import Settings
from warehouse.home import Home
from warehouse.parts import parts_version

# Only where DAGSTER_HOME says that the instance is the home's: else it can be anybody's.
_AT_ONCE = (
    dg.DefaultSensorStatus.RUNNING
    if "DAGSTER_HOME" in os.environ and is_own(Home(Settings().home.absolute()))
    else dg.DefaultSensorStatus.STOPPED
)


@dg.sensor(name=own("new_kernels"), job=ingest, minimum_interval_seconds=300)
def new_kernels(context: dg.SensorEvaluationContext, pipeline: Pipeline) -> dg.RunRequest | dg.SkipReason:
    """Ingest the kernels that were listed but never asked for. Those that failed wait for the next ingest."""
    home = pipeline.kept()
    keys = registered_kernels(context.instance, home)
    status = context.instance.get_status_by_partition(kernel_pages.key, keys, kernels) or {}
    missing = [key for key in keys if status.get(key) is None]
    if not missing:
        return dg.SkipReason("all kernels that are listed were asked for")
    if run_id := under_way(context.instance, home.directory, ingest.name):
        return dg.SkipReason(f"run {run_id} is still ingesting: never two at once")
    return dg.RunRequest(run_key=f"{len(missing)} to {missing[-1]}", tags=_tags(home, missing))


@dg.sensor(name=own("carry_on"), job=publish, minimum_interval_seconds=30, default_status=_AT_ONCE)
def carry_on(context: dg.SensorEvaluationContext, pipeline: Pipeline) -> dg.RunRequest | dg.SkipReason:
    """Carry what was fetched or normalised anew on to tables, rankings and the warehouse.

    Looks at what is kept, not at events: whatever was written after the tables were collected last counts,
    in whatever order runs ended. What was tried and failed is not tried again until something changes.
    """
    home = pipeline.kept()
    version = parts_version(home)
    if home.collected.exists() and home.collected.read_text() == version:
        return dg.SkipReason("the tables are made of all that there is")
    keys = registered_kernels(context.instance, home)
    if not any(home.part(key, "pages").exists() for key in keys):
        return dg.SkipReason("nothing was fetched yet")
    if run_id := under_way(context.instance, home.directory):
        return dg.SkipReason(f"run {run_id} is not over yet")
    return dg.RunRequest(run_key=version, tags=_tags(home, keys))


@dg.sensor(name=own("inbox"), job=saved_pages, minimum_interval_seconds=30, default_status=_AT_ONCE)
def inbox(context: dg.SensorEvaluationContext, pipeline: Pipeline) -> dg.RunRequest | dg.SkipReason:
    """Take in the pages that people put into the folder `inbox` of the home."""
    home = pipeline.kept()
    files = new_files(home)
    if not files:
        return dg.SkipReason(f"no file in {home.inbox} is new")
    if not home.collected.exists():
        return dg.SkipReason("nothing was ingested yet: the next ingest takes them in")
    if run_id := under_way(context.instance, home.directory):
        return dg.SkipReason(f"run {run_id} is not over yet")
    # A file that a run could not take in is not tried again until it is saved over.
    seen = "\n".join(f"{path.name} {path.stat().st_mtime_ns}" for path in files)
    return dg.RunRequest(run_key=digest_of(seen.encode()), tags=home_tag(home.directory))


def _tags(home: Home, keys: list[str]) -> dict[str, str]:
    return {**range_tags(keys), **home_tag(home.directory)}


@dg.run_failure_sensor(name=own("failures"), default_status=_AT_ONCE)
def failures(context: dg.RunFailureSensorContext) -> dg.SkipReason | None:
    """Post what failed, as JSON, to KERNELINDEX_WEBHOOK_URL where that is set."""
    url = Settings().webhook_url
    if not url:
        return dg.SkipReason("KERNELINDEX_WEBHOOK_URL is not set")
    run = context.dagster_run
    steps = [f"{event.step_key}: {why_it_failed(event)}" for event in context.get_step_failure_events()]
    problem = "; ".join(steps) or context.failure_event.message or "it failed"
    said = {"run": run.run_id, "job": run.job_name, "problem": problem}
    try:
        text = f"{run.job_name} {run.run_id} failed: {problem}"
        httpx.post(url, json={"text": text, **said}, timeout=10).raise_for_status()
    except httpx.HTTPError as error:
        # Not in httpx's words: they can hold the address, and with it the webhook's secret.
        what = f"status {error.response.status_code}" if isinstance(error, httpx.HTTPStatusError) else ""
        raise dg.Failure(
            f"the webhook was not told that run {run.run_id} failed: {what or type(error).__name__}"
        ) from None
    return None
