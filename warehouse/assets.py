"""The warehouse, as a Dagster asset."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import dagster as dg

from pipelines.names import PREFIX, asset_key, own
from pipelines.own_runs import under_way
from pipelines.pools import PUBLISHING, alone_in
from pipelines.progress import log
from pipelines.resources import Pipeline
from warehouse.build import (
    BuildError,
    build_warehouse,
    lost_rows,
    published_rows,
    table_rows,
    warehouse_version,
)
from warehouse.home import Home
from warehouse.pictures import overview
from warehouse.tables import TABLES


@dg.asset(
    key_prefix=PREFIX,
    group_name="warehouse",
    kinds={"duckdb"},
    deps=[asset_key(name) for name in TABLES],
    pool=PUBLISHING,
)
def warehouse(context: dg.AssetExecutionContext, pipeline: Pipeline) -> dg.MaterializeResult[Any]:
    """`warehouse.duckdb`: all tables, with their comments, and the views for people.

    Built aside and moved into place: who has the old file open keeps it, and never waits.
    """
    home = pipeline.kept()
    with alone_in(PUBLISHING, context):
        log.info("building the warehouse")
        is_ready = not home.collected.exists() or (home.is_checked and home.is_in_step)
        # Of runs at once another may have collected newer tables since: it ranks, checks and publishes them.
        others = under_way(context.instance, home.directory, but=context.run.run_id)
        waits = not is_ready and home.warehouse.exists() and others is not None
        if not (is_ready or waits):
            raise dg.Failure(
                "the warehouse was not published: its tables were not checked, or a check failed; mend what "
                f"the checks name, and run the job `{own('publish')}`"
            )
        try:
            rows = table_rows(home)
            lost = lost_rows(published_rows(home) or _rows_before(context, home), rows)
            if lost and not pipeline.settings().accept_loss:
                raise BuildError(
                    f"{lost} that were published last; if these are meant to go, and {home.directory} is the "
                    "home that you mean, run it again with --accept-loss (KERNELINDEX_ACCEPT_LOSS, or "
                    "`accept_loss` of the resource `pipeline`)"
                )
            changed = not waits and build_warehouse(home)
        except BuildError as problem:
            raise dg.Failure(f"the warehouse was not published: {problem}") from problem
        version = warehouse_version(home) or ""
        return dg.MaterializeResult(
            metadata={
                "changed": changed,
                "rows": dg.MetadataValue.json(rows),
                "home": str(home.directory),
                "version": version,
                "file": dg.MetadataValue.path(home.warehouse),
                "size_bytes": home.warehouse.stat().st_size,
                "overview": _overview(context, home, changed),
            },
            data_version=dg.DataVersion(version),
        )


def _rows_before(context: dg.AssetExecutionContext, home: Home) -> dict[str, int]:
    """The rows that this Dagster saw published last from the home, wherever that file is now."""
    shown = _shown_last(context)
    if "rows" not in shown or shown["home"].value != str(home.directory):
        return {}
    return dict(shown["rows"].value)


def _shown_last(context: dg.AssetExecutionContext) -> Mapping[str, dg.MetadataValue[Any]]:
    last = context.instance.get_latest_materialization_event(context.asset_key)
    return last.asset_materialization.metadata if last and last.asset_materialization else {}


def _overview(context: dg.AssetExecutionContext, home: Home, changed: bool) -> dg.MetadataValue[Any]:
    """A picture of what the warehouse holds: the last one, where that still holds."""
    shown = _shown_last(context)
    if not changed and "overview" in shown:
        return shown["overview"]
    try:
        picture = b64encode(overview(home.warehouse)).decode()
    except Exception as error:  # The warehouse is published already, and needs no picture.
        log.warning("the overview can't be drawn: %s: %s", type(error).__name__, error)
        return dg.MetadataValue.md("The overview can't be drawn; the log says why.")
    return dg.MetadataValue.md(f"![SOL scores by stack, and who leads](data:image/png;base64,{picture})")
