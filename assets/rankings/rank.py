"""Ranks all runs at once: runs the SQL files of this room, in their order, on a DuckDB connection.

What stands in a table is decided in the SQL file that makes it; here is only what goes in and when.
"""

from pathlib import Path

import duckdb
import pyarrow as pa

REVIEW = pa.schema([("run_digest", pa.string()), ("reason", pa.string())])
INTERVALS = pa.schema([("run_digest", pa.string()), ("low", pa.float64()), ("high", pa.float64())])

STEPS = ("eligibility", "candidates", "ranks", "records", "groups")


def rank(
    connection: duckdb.DuckDBPyConnection,
    review: pa.Table | None = None,
    intervals: pa.Table | None = None,
) -> None:
    """Make `comparison_groups`, `rankings`, `exclusions` and `record_events`, replacing older ones.

    The connection has the relations `runs` and `implementations` (which say whose a run is), with
    the columns of `warehouse.tables`; manifests are canonical JSON.

    `review` (schema `REVIEW`) names the runs that must not be ranked and why: `HELD_FOR_REVIEW`,
    `RETRACTED` or `SUPERSEDED`. `intervals` (schema `INTERVALS`) has at most one row a run: between
    which bounds its primary value lies, in the same unit. Both may name runs that are not there.
    """
    connection.register("review", REVIEW.empty_table() if review is None else review)
    connection.register("intervals", INTERVALS.empty_table() if intervals is None else intervals)
    try:
        for step in STEPS:
            connection.execute(Path(__file__).with_name(f"{step}.sql").read_text("utf-8"))
    finally:
        connection.unregister("review")
        connection.unregister("intervals")
        connection.execute("drop table if exists candidates; drop table if exists numbered_groups")
