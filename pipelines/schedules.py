"""The schedules: a nightly ingest, a weekly one, and tidying. All are off until switched on in the UI."""

import dagster as dg

from assets.leaderboard.assets import kernels
from pipelines.jobs import examine, ingest, range_tags, tidy, under_way
from pipelines.settings import Settings

SETTINGS = Settings()


@dg.schedule(
    job=ingest,
    cron_schedule=SETTINGS.nightly_cron,
    execution_timezone=SETTINGS.time_zone,
    description="Every night what is new: a kernel is paged until a page brings nothing new.",
)
def nightly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """An incremental ingest of all kernels."""
    return _ingest(context, incremental=True)


@dg.schedule(
    job=ingest,
    cron_schedule=SETTINGS.weekly_cron,
    execution_timezone=SETTINGS.time_zone,
    description="Every week all pages: old submissions change too.",
)
def weekly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """A full ingest of all kernels."""
    return _ingest(context, incremental=False)


tidying = dg.ScheduleDefinition(
    name="tidying", job=tidy, cron_schedule="30 6 * * *", execution_timezone=SETTINGS.time_zone
)


examining = dg.ScheduleDefinition(
    name="examining", job=examine, cron_schedule="0 7 * * 0", execution_timezone=SETTINGS.time_zone
)


def _ingest(context: dg.ScheduleEvaluationContext, *, incremental: bool) -> dg.RunRequest | dg.SkipReason:
    if run_id := under_way(context.instance):
        return dg.SkipReason(f"run {run_id} is still ingesting: never two at once")
    keys = context.instance.get_dynamic_partitions(kernels.name or "")
    if not keys:
        return dg.SkipReason(
            "no kernel is known yet: run the job list_kernels, or `kernelindex ingest`, once"
        )
    return dg.RunRequest(
        tags={**range_tags(keys), "dagster/max_retries": "1"},
        run_config={"resources": {"pipeline": {"config": {"incremental": incremental}}}},
    )
