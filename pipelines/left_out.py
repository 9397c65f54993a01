"""What the warehouse's data leaves out, in words: `kernelindex ingest` ends with it, and `doctor` says it."""

import duckdb

_GONE = "select kernel from gone_kernels"
_INCOMPLETE = """
select kernel_name, submissions_held, submissions_missing
from source_kernels
where submissions_missing > 0
order by submissions_missing desc, kernel_name
"""
_NAMED = 3


def left_out(warehouse: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """What is left out, a sentence each, and where to see more of it."""
    said = []
    if gone := [name for (name,) in warehouse.execute(_GONE).fetchall()]:
        said.append(
            (
                f"{len(gone)} kernels are gone from the leaderboard, and stay ranked as they were last seen: "
                f"{_names(gone)}",
                "gone_kernels says since when; `where gone_since is null`, of leaderboard, leaves them out",
            )
        )
    if incomplete := warehouse.execute(_INCOMPLETE).fetchall():
        names, held, missing = zip(*incomplete, strict=True)
        said.append(
            (
                f"of {len(names)} kernels the source gave fewer submissions than it lists, "
                f"{sum(held)} of {sum(held) + sum(missing)}: {_names(names)}",
                "ranks, medians, records and history are of those it gave: see submissions_missing in "
                "source_kernels; a full crawl brings what the leaderboard itself still lists",
            )
        )
    return said


def _names(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
