"""The schedules: two ingests, tidying, examining. All are off until switched on in the UI."""

import dagster as dg

from assets.leaderboard.assets import registered_kernels
from pipelines.jobs import examine, ingest, list_kernels, range_tags, tidy
from pipelines.names import own
from pipelines.own_runs import home_tag, under_way
from pipelines.resources import Pipeline
from pipelines.settings import Settings

SETTINGS = Settings()


@dg.schedule(
    name=own("nightly"),
    job=ingest,
    cron_schedule=SETTINGS.nightly_cron,
    execution_timezone=SETTINGS.time_zone,
    description="Every night what is new: a kernel is paged until a page brings nothing new.",
)
def nightly(context: dg.ScheduleEvaluationContext, pipeline: Pipeline) -> dg.RunRequest | dg.SkipReason:
    """An incremental ingest of all kernels."""
    return _ingest(context, pipeline, incremental=True)


@dg.schedule(
    name=own("weekly"),
    job=ingest,
    cron_schedule=SETTINGS.weekly_cron,
    execution_timezone=SETTINGS.time_zone,
    description="Every week all pages: old submissions change too.",
)
def weekly(context: dg.ScheduleEvaluationContext, pipeline: Pipeline) -> dg.RunRequest | dg.SkipReason:
    """A full ingest of all kernels."""
    return _ingest(context, pipeline, incremental=False)


tidying = dg.ScheduleDefinition(
    name=own("tidying"), job=tidy, cron_schedule="30 6 * * *", execution_timezone=SETTINGS.time_zone
)


examining = dg.ScheduleDefinition(
    name=own("examining"), job=examine, cron_schedule="0 7 * * 0", execution_timezone=SETTINGS.time_zone
)


def _ingest(
    context: dg.ScheduleEvaluationContext, pipeline: Pipeline, *, incremental: bool
) -> dg.RunRequest | dg.SkipReason:
    home = pipeline.kept()
    if run_id := under_way(context.instance, home.directory, ingest.name):
        return dg.SkipReason(f"run {run_id} is still ingesting: never two at once")
    keys = registered_kernels(context.instance, home)
    if not keys:
        return dg.SkipReason(
            f"no kernel is known yet: run the job {list_kernels.name}, or `kernelindex ingest`, once"
        )
    return dg.RunRequest(
        tags={**range_tags(keys), **home_tag(home.directory), "dagster/max_retries": "1"},
        run_config={"resources": {"pipeline": {"config": {"incremental": incremental}}}},
    )
