"""Rankings, as Dagster assets."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.rankings.policy import POLICY
from assets.rankings.tables import TABLES, rank_tables
from pipelines.progress import log
from pipelines.resources import Pipeline
from pipelines.table_assets import PUBLISHING, table_result, table_spec
from warehouse.parquet import write_table

GROUP = "rankings"


@dg.multi_asset(
    specs=[
        table_spec(table, ["runs", "implementations"], GROUP).replace_attributes(code_version=POLICY)
        for table in TABLES
    ],
    pool=PUBLISHING,
)
def ranking_tables(pipeline: Pipeline) -> Iterator[dg.MaterializeResult[Any]]:
    """Every run's place in its comparison group, by policy, and what follows from it."""
    home = pipeline.home()
    log.info("ranking")
    rows = rank_tables(home)
    for table in TABLES:
        yield table_result(home, table, write_table(home, table, rows[table.name]))
