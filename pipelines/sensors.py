"""The sensors: what starts a run without a clock, and what speaks up when one failed."""

import dagster as dg
import httpx

from assets.leaderboard.assets import kernel_pages, kernels
from assets.leaderboard.inbox import new_files
from assets.leaderboard.snapshots import digest_of
from pipelines.jobs import ingest, publish, range_tags, saved_pages, under_way, why_it_failed
from pipelines.settings import Settings
from warehouse.parts import parts_version


@dg.sensor(job=ingest, minimum_interval_seconds=300)
def new_kernels(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Ingest the kernels that were listed but never asked for. Those that failed wait for the next ingest."""
    keys = context.instance.get_dynamic_partitions(kernels.name or "")
    status = context.instance.get_status_by_partition(kernel_pages.key, keys, kernels) or {}
    missing = [key for key in keys if status.get(key) is None]
    if not missing:
        return dg.SkipReason("all kernels that are listed were asked for")
    if run_id := under_way(context.instance):
        return dg.SkipReason(f"run {run_id} is still ingesting: never two at once")
    return dg.RunRequest(run_key=f"{len(missing)} to {missing[-1]}", tags=range_tags(missing))


@dg.sensor(job=publish, minimum_interval_seconds=30, default_status=dg.DefaultSensorStatus.RUNNING)
def carry_on(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Carry what was fetched or normalised anew on to tables, rankings and the warehouse.

    Looks at what is kept, not at events: whatever was written after the tables were collected last counts,
    in whatever order runs ended. What was tried and failed is not tried again until something changes.
    """
    home = Settings().kept()
    version = parts_version(home)
    if home.collected.exists() and home.collected.read_text() == version:
        return dg.SkipReason("the tables are made of all that there is")
    keys = context.instance.get_dynamic_partitions(kernels.name or "")
    if not any(home.part(key, "pages").exists() for key in keys):
        return dg.SkipReason("nothing was fetched yet")
    if run_id := under_way(context.instance, job_name=None):
        return dg.SkipReason(f"run {run_id} is not over yet")
    return dg.RunRequest(run_key=version, tags=range_tags(keys))


@dg.sensor(job=saved_pages, minimum_interval_seconds=30, default_status=dg.DefaultSensorStatus.RUNNING)
def inbox(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Take in the pages that people put into the folder `inbox` of the home."""
    home = Settings().kept()
    files = new_files(home)
    if not files:
        return dg.SkipReason(f"no file in {home.inbox} is new")
    if not home.collected.exists():
        return dg.SkipReason("nothing was ingested yet: the next ingest takes them in")
    if run_id := under_way(context.instance, job_name=None):
        return dg.SkipReason(f"run {run_id} is not over yet")
    # A file that a run could not take in is not tried again until it is saved over.
    seen = "\n".join(f"{path.name} {path.stat().st_mtime_ns}" for path in files)
    return dg.RunRequest(run_key=digest_of(seen.encode()))


@dg.run_failure_sensor(default_status=dg.DefaultSensorStatus.RUNNING)
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
