"""Running the whole way once, as a Dagster run, from this process."""

from dataclasses import dataclass, field
from typing import Any

import dagster as dg
from dagster import DagsterInstance

from assets.leaderboard.assets import registered_kernels, tally_of
from assets.leaderboard.kernel_pages import fetch_kernel_listing
from assets.leaderboard.pages import Tally
from pipelines import jobs
from pipelines.checks import check_fetching
from pipelines.definitions import defs
from pipelines.disk import FULL, says_full
from pipelines.instance import BY_COMMAND, only_command
from pipelines.jobs import delete_runs, range_tags
from pipelines.names import PREFIX, own
from pipelines.own_runs import home_tag
from pipelines.resources import Pipeline
from pipelines.settings import Settings
from warehouse.home import Home
from warehouse.tables import TABLES


class Failed(Exception):
    """A run that failed; says where and why."""


@dataclass(frozen=True)
class Outcome:
    """What a run did: which tables changed, and what it says of the pages it fetched.

    `stopped` says why fetching ended early, if it did.
    """

    run_id: str
    changed_tables: list[str]
    pages: int
    kernels: int
    failed_kernels: list[str] = field(default_factory=list)
    asked: Tally = field(default_factory=Tally)
    kernels_not_reached: int = 0
    stopped: str = ""


def run_ingest(settings: Settings, instance: DagsterInstance) -> Outcome:
    """Run the job `ingest` over all kernels that were ever listed.

    The listing is fetched first: Dagster wants to know a run's partitions before it starts.

    Raises SourceError where the source can't be opened or has no listing, Unreadable where that can't be
    read, Busy while another command ingests into the home, Failed where the run failed.
    """
    with only_command(settings.kept(), instance):
        # Where nothing but commands runs, nobody else would.
        delete_runs(settings, instance)
        return _run(settings, instance)


def run_saved_pages(settings: Settings, instance: DagsterInstance) -> None:
    """Run what follows from saved pages, up to the warehouse.

    Raises Busy while another command ingests into the home, Failed where the run failed.
    """
    with only_command(settings.kept(), instance):
        _run_job(settings, "saved_pages", instance, {})


def run_rebuild(settings: Settings, instance: DagsterInstance) -> list[str]:
    """Make anew, of the pages that are kept, all that is missing, damaged or of another version.

    Return the files below the home that were written. Raises Busy while another command ingests into it,
    PartError where the listing of kernels is damaged, Failed where no pages are kept or the run failed.
    """
    home = settings.kept()
    with only_command(home, instance):
        keys = registered_kernels(instance, home)
        if not keys:
            raise Failed(f"{home.directory} keeps no pages yet: run `kernelindex ingest`")
        before = _written_at(home)
        _run_job(settings, "publish", instance, range_tags(keys))
        return [file for file, at in _written_at(home).items() if before.get(file) != at]


def _written_at(home: Home) -> dict[str, int]:
    """When each file that is made of pages was written last, by its name below the home."""
    files = [home.warehouse, *map(home.table, TABLES), *home.parts("manifests"), home.case_runs]
    return {str(path.relative_to(home.directory)): path.stat().st_mtime_ns for path in files if path.exists()}


def _run_job(
    settings: Settings, name: str, instance: DagsterInstance, tags: dict[str, str]
) -> dg.ExecuteInProcessResult:
    result = _executed(settings, name, instance, tags)
    if not result.success:
        raise Failed(why_it_failed(result))
    return result


def _executed(
    settings: Settings, name: str, instance: DagsterInstance, tags: dict[str, str], requests: int = 0
) -> dg.ExecuteInProcessResult:
    """A job, run to its end in this process, after which so many requests were made already."""
    return defs.resolve_job_def(own(name)).execute_in_process(
        instance=instance,
        tags={**tags, **home_tag(settings.kept().directory), **BY_COMMAND},
        run_config={
            "resources": {"pipeline": {"config": _config(settings, requests)}},
            "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        },
        raise_on_error=False,
    )


def _run(settings: Settings, instance: DagsterInstance) -> Outcome:
    with settings.opened_source() as source:
        rows = fetch_kernel_listing(source, settings.kept())
        # This run asks for them all; until they are there, a live source asks for no other listing.
        source.begin(row["kernel_key"] for row in rows if row["listed"])
    if not rows:
        raise Failed("the source lists no kernels")
    keys = registered_kernels(instance, settings.kept())
    result = _executed(settings, "ingest", instance, range_tags(keys), source.tally.requests)
    failed_steps = {event.step_key for event in result.all_events if event.is_step_failure}
    # A run that could not fetch some kernels has done all the rest, and its outcome names them.
    if not result.success and failed_steps != {check_fetching.node_def.name}:
        raise Failed(why_it_failed(result))
    return _outcome(result, source.tally)


def _config(settings: Settings, requests: int) -> dict[str, Any]:
    """The settings as run config; the requests that were made already are no longer to be made."""
    given = {
        **settings.model_dump(),
        "home": str(settings.kept().directory),
        "max_requests": settings.max_requests - requests,
    }
    return {name: given[name] for name in Pipeline.model_fields if given.get(name) is not None}


def why_it_failed(result: dg.ExecuteInProcessResult) -> str:
    """Which step failed and why, in words."""
    for event in result.all_events:
        if event.is_step_failure:
            reason = "; ".join(broken_checks(result)) or jobs.why_it_failed(event)
            step = (event.step_key or "").removeprefix(f"{PREFIX}__")
            if says_full(reason):
                return f"step {step} failed: {FULL} ({reason})"
            # A reason that says what to do needs no other.
            more = "" if "`kernelindex" in reason else "; `kernelindex ui` shows more"
            return f"step {step} of run {result.run_id} failed: {reason}{more}"
    return f"run {result.run_id} failed; `kernelindex ui` shows why"


def broken_checks(result: dg.ExecuteInProcessResult) -> list[str]:
    """The blocking checks that failed, each with what must hold and the first row that breaks it."""
    said = []
    for check in result.get_asset_check_evaluations():
        if not check.passed and check.severity == dg.AssetCheckSeverity.ERROR and check.blocking:
            rows = check.metadata.get("rows")
            first = rows.records[0].data if isinstance(rows, dg.TableMetadataValue) and rows.records else {}
            row = ", ".join(f"{name}: {value}" for name, value in first.items())
            said.append(f"check {check.check_name} failed, first for {row}")
    return said


def _outcome(result: dg.ExecuteInProcessResult, asked: Tally) -> Outcome:
    said = _said(result)
    return Outcome(
        run_id=result.run_id,
        changed_tables=_changed_tables(result),
        pages=said["kernel_pages"]["pages_fetched"],
        kernels=said["kernel_pages"]["kernels_fetched"],
        failed_kernels=said["kernel_pages"]["kernels_failed"],
        asked=asked + tally_of(said["kernel_listing"]) + tally_of(said["kernel_pages"]),
        kernels_not_reached=said["kernel_pages"]["kernels_not_reached"],
        stopped=said["kernel_pages"]["stopped"],
    )


def _changed_tables(result: dg.ExecuteInProcessResult) -> list[str]:
    return [name for name, metadata in _said(result).items() if metadata.get("changed")]


def _said(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    """What a run said of each asset that it made."""
    # Of a kernel's materialisations any says the same of the whole run; the last is as good as the first.
    return {
        materialization.asset_key.path[-1]: {
            name: value.value for name, value in materialization.metadata.items()
        }
        for event in result.get_asset_materialization_events()
        for materialization in [event.step_materialization_data.materialization]
    }
