"""The ranking tables, of the Parquet tables that a home holds.

How runs are judged and ranked belongs in `rank` and the SQL beside it, what people say of them in `decisions`
and `attestations`.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from assets.rankings.rank import judge, rank
from warehouse.home import Home
from warehouse.parquet import add_view, read_table
from warehouse.tables import (
    ATTESTATIONS,
    COMPARISON_GROUPS,
    DECISIONS,
    EVIDENCE,
    EXCLUSIONS,
    FLAGS,
    IMPLEMENTATIONS,
    KERNEL_BOUNDS,
    RANKINGS,
    RECORD_EVENTS,
    REVIEW,
    RUN_INTERVALS,
    RUNS,
    SOURCE_KERNELS,
    SOURCE_SUBMISSIONS,
    SOURCE_WORKLOADS,
    WORKLOADS,
    Table,
)

# What decisions and attestations are held against.
DECIDED_ON = (RUNS, SOURCE_SUBMISSIONS, SOURCE_KERNELS, SOURCE_WORKLOADS)
INPUTS = (
    RUNS,
    IMPLEMENTATIONS,
    WORKLOADS,
    SOURCE_KERNELS,
    SOURCE_WORKLOADS,
    SOURCE_SUBMISSIONS,
    DECISIONS,
    ATTESTATIONS,
    RUN_INTERVALS,
)
TABLES = (
    KERNEL_BOUNDS,
    FLAGS,
    REVIEW,
    EVIDENCE,
    COMPARISON_GROUPS,
    RANKINGS,
    EXCLUSIONS,
    RECORD_EVENTS,
)


def rank_tables(home: Home) -> dict[str, pa.Table]:
    """The ranking tables by name, of what the home holds."""
    # Attestations are handed to `rank`, which gives them their name.
    with opened(home, [table for table in INPUTS if table != ATTESTATIONS]) as connection:
        judge(connection)
        review = connection.table("review").to_arrow_table()
        rank(connection, review, read_table(home, RUN_INTERVALS), read_table(home, ATTESTATIONS))
        return {
            table.name: connection.table(table.name).to_arrow_table().cast(table.schema) for table in TABLES
        }


@contextmanager
def opened(home: Home, tables: Iterable[Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in which these tables of a home stand under their names."""
    with duckdb.connect() as connection:
        # Nobody watches, and a bar across Dagster's log helps nobody.
        connection.execute("set enable_progress_bar = false")
        for table in tables:
            add_view(connection, home, table)
        yield connection
