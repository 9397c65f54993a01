"""Running the whole way once, as a Dagster run, from this process."""

from dataclasses import dataclass, field
from typing import Any

import dagster as dg
from dagster import DagsterInstance

from assets.leaderboard.assets import kernels
from assets.leaderboard.kernel_pages import fetch_kernel_listing
from pipelines.definitions import defs
from pipelines.instance import BY_COMMAND, only_command
from pipelines.jobs import range_tags
from pipelines.settings import Settings


class Failed(Exception):
    """A run that failed; says where and why."""


@dataclass(frozen=True)
class Outcome:
    """What a run did: which tables changed, and what it says of the pages it fetched."""

    run_id: str
    changed_tables: list[str]
    pages: int
    kernels: int
    failed_kernels: list[str] = field(default_factory=list)


def run_ingest(settings: Settings, instance: DagsterInstance) -> Outcome:
    """Run the job `ingest` over all kernels that were ever listed.

    The listing is fetched first: Dagster wants to know a run's partitions before it starts.

    Raises SourceError where the source can't be opened or has no listing, Unreadable where that can't be
    read, Busy while another command ingests into the home, Failed where the run failed.
    """
    with only_command(settings.kept(), instance):
        return _run(settings, instance)


def _run(settings: Settings, instance: DagsterInstance) -> Outcome:
    rows = fetch_kernel_listing(settings.opened_source(), settings.kept())
    if not rows:
        raise Failed("the source lists no kernels")
    instance.add_dynamic_partitions(kernels.name or "", [row["kernel_key"] for row in rows])
    keys = instance.get_dynamic_partitions(kernels.name or "")
    result = defs.resolve_job_def("ingest").execute_in_process(
        instance=instance,
        tags={**range_tags(keys), **BY_COMMAND},
        run_config={
            "resources": {"pipeline": {"config": {"source": settings.source}}},
            "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        },
        raise_on_error=False,
    )
    if not result.success:
        raise Failed(_why(result))
    return _outcome(result)


def _why(result: dg.ExecuteInProcessResult) -> str:
    for event in result.all_events:
        if event.is_step_failure:
            data = event.step_failure_data
            reason = data.user_failure_data.description if data.user_failure_data else None
            if not reason and data.error:
                error = data.error.cause or data.error
                reason = error.message.strip()
            return (
                f"step {event.step_key} of run {result.run_id} failed: {reason}; `kernelindex ui` shows more"
            )
    return f"run {result.run_id} failed; `kernelindex ui` shows why"


def _outcome(result: dg.ExecuteInProcessResult) -> Outcome:
    # Of a kernel's materialisations any says the same of the whole run; the last is as good as the first.
    said: dict[str, dict[str, Any]] = {
        materialization.asset_key.to_user_string(): {
            name: value.value for name, value in materialization.metadata.items()
        }
        for event in result.get_asset_materialization_events()
        for materialization in [event.step_materialization_data.materialization]
    }
    return Outcome(
        run_id=result.run_id,
        changed_tables=[name for name, metadata in said.items() if metadata.get("changed")],
        pages=said["kernel_pages"]["pages_fetched"],
        kernels=said["kernel_pages"]["kernels_fetched"],
        failed_kernels=said["kernel_pages"]["kernels_failed"],
    )
