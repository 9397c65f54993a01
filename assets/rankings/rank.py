"""Ranks all runs at once: runs the SQL files of this room, in their order, on a DuckDB connection.

What stands in a table is decided in the SQL file that makes it; here is only what goes in and when.
"""

from pathlib import Path
from typing import get_args

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from assets.rankings.policy import ReviewReason
from warehouse.tables import ATTESTATIONS, REVIEW

INTERVALS = pa.schema([("run_digest", pa.string()), ("low", pa.float64()), ("high", pa.float64())])

JUDGING = ("bounds", "flags", "review")
RANKING = ("eligibility", "evidence", "candidates", "ranks", "records", "groups")


def judge(connection: duckdb.DuckDBPyConnection) -> None:
    """Make `kernel_bounds`, `flags` and `review`: which runs must not be ranked, why and since when.

    The connection has the relations `runs`, `source_kernels`, `source_workloads`, `source_submissions` and
    `decisions`, with the columns of `warehouse.tables`.
    """
    for step in JUDGING:
        run_step(connection, step)


def rank(
    connection: duckdb.DuckDBPyConnection,
    review: pa.Table | None = None,
    intervals: pa.Table | None = None,
    attestations: pa.Table | None = None,
) -> None:
    """Make `evidence`, `comparison_groups`, `rankings`, `exclusions` and `record_events`, replacing old ones.

    The connection has the relations `runs`, `implementations` (which say whose a run is) and `workloads`,
    with the columns of `warehouse.tables`; manifests are canonical JSON.

    `review` and `attestations` are the tables of those names; a row of `review` has no beginning (`since`)
    or no end (`until`). `intervals` (schema `INTERVALS`) has at most one row a run: between which bounds its
    primary value lies, in the same unit. All may name runs that are not there.

    Raises ValueError where `review` gives a reason that nobody knows.
    """
    review = REVIEW.schema.empty_table() if review is None else review
    unknown = set(pc.unique(review["reason"]).to_pylist()) - set(get_args(ReviewReason))
    if unknown:
        known = ", ".join(get_args(ReviewReason))
        raise ValueError(f"review gives the reasons {sorted(map(str, unknown))}; known are {known}")
    given = {
        "review": review,
        "intervals": INTERVALS.empty_table() if intervals is None else intervals,
        "attestations": ATTESTATIONS.schema.empty_table() if attestations is None else attestations,
    }
    for name, table in given.items():
        connection.register(name, table)
    try:
        for step in RANKING:
            run_step(connection, step)
    finally:
        for name in given:
            connection.unregister(name)
        connection.execute("drop table if exists candidates; drop table if exists numbered_groups")


def run_step(connection: duckdb.DuckDBPyConnection, step: str) -> None:
    """Run one SQL file of this room."""
    connection.execute(Path(__file__).with_name(f"{step}.sql").read_text("utf-8"))
