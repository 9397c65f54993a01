"""Ranking the runs that the Parquet tables hold.

How runs are ranked belongs in `rank` and the SQL beside it.
"""

import duckdb
import pyarrow as pa

from assets.rankings.rank import rank
from warehouse.home import Home
from warehouse.parquet import read_table
from warehouse.tables import COMPARISON_GROUPS, EXCLUSIONS, IMPLEMENTATIONS, RANKINGS, RECORD_EVENTS, RUNS

TABLES = (COMPARISON_GROUPS, RANKINGS, EXCLUSIONS, RECORD_EVENTS)


def rank_tables(home: Home) -> dict[str, pa.Table]:
    """The ranking tables by name, of the runs and implementations that the home holds."""
    with duckdb.connect() as connection:
        for table in (RUNS, IMPLEMENTATIONS):
            connection.register(table.name, read_table(home, table))
        rank(connection)
        return {
            table.name: connection.table(table.name).to_arrow_table().cast(table.schema) for table in TABLES
        }
