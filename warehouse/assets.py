"""The warehouse, as a Dagster asset."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import dagster as dg

from pipelines.own_runs import UNDER_WAY
from pipelines.progress import log
from pipelines.resources import Pipeline
from pipelines.table_assets import PUBLISHING
from warehouse.build import BuildError, build_warehouse, warehouse_version
from warehouse.home import Home
from warehouse.pictures import overview
from warehouse.tables import TABLES


@dg.asset(
    group_name="warehouse",
    kinds={"duckdb"},
    deps=list(TABLES),
    pool=PUBLISHING,
)
def warehouse(context: dg.AssetExecutionContext, pipeline: Pipeline) -> dg.MaterializeResult[Any]:
    """`warehouse.duckdb`: all tables, with their comments, and the views for people.

    Built aside and moved into place: who has the old file open keeps it, and never waits.
    """
    home = pipeline.home()
    log.info("building the warehouse")
    is_ready = not home.collected.exists() or (home.is_checked and home.is_in_step)
    # Of runs at once another may have collected newer tables since: it ranks, checks and publishes them.
    waits = not is_ready and home.warehouse.exists() and _is_another_under_way(context)
    if not (is_ready or waits):
        raise dg.Failure(
            "the warehouse was not published: its tables were not checked, or a check failed; mend what the "
            "checks name, and run the job `publish`"
        )
    try:
        changed = not waits and build_warehouse(home)
    except BuildError as problem:
        raise dg.Failure(f"the warehouse was not published: {problem}") from problem
    version = warehouse_version(home) or ""
    return dg.MaterializeResult(
        metadata={
            "changed": changed,
            "version": version,
            "file": dg.MetadataValue.path(home.warehouse),
            "size_bytes": home.warehouse.stat().st_size,
            "overview": _overview(context, home, changed),
        },
        data_version=dg.DataVersion(version),
    )


def _is_another_under_way(context: dg.AssetExecutionContext) -> bool:
    runs = context.instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY))
    return any(run.run_id != context.run.run_id for run in runs)


def _overview(context: dg.AssetExecutionContext, home: Home, changed: bool) -> dg.MetadataValue[Any]:
    """A picture of what the warehouse holds: the last one, where that still holds."""
    last = context.instance.get_latest_materialization_event(context.asset_key)
    shown: Mapping[str, dg.MetadataValue[Any]] = (
        last.asset_materialization.metadata if last and last.asset_materialization else {}
    )
    if not changed and "overview" in shown:
        return shown["overview"]
    picture = b64encode(overview(home.warehouse)).decode()
    return dg.MetadataValue.md(f"![SOL scores by stack, and who leads](data:image/png;base64,{picture})")
