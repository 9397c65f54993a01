"""The warehouse, as a Dagster asset."""

from typing import Any

import dagster as dg

from pipelines.progress import log
from pipelines.resources import Pipeline
from pipelines.table_assets import PUBLISHING
from warehouse.build import BuildError, build_warehouse, warehouse_version
from warehouse.tables import TABLES


@dg.asset(
    group_name="warehouse",
    kinds={"duckdb"},
    deps=list(TABLES),
    pool=PUBLISHING,
)
def warehouse(pipeline: Pipeline) -> dg.MaterializeResult[Any]:
    """`warehouse.duckdb`: all tables, with their comments, and the views for people.

    Built aside and moved into place: who has the old file open keeps it, and never waits.
    """
    home = pipeline.home()
    log.info("building the warehouse")
    try:
        changed = build_warehouse(home)
    except BuildError as problem:
        raise dg.Failure(f"the warehouse was not published: {problem}") from problem
    version = warehouse_version(home) or ""
    return dg.MaterializeResult(
        metadata={
            "changed": changed,
            "version": version,
            "file": dg.MetadataValue.path(home.warehouse),
            "size_bytes": home.warehouse.stat().st_size,
        },
        data_version=dg.DataVersion(version),
    )
