"""Answers that are tables: who is ahead, who holds records, how projects stand. Small queries on the views.

How a table fits a terminal belongs in `terminal`; what one run is, in `show`.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import duckdb
from rich.console import Console
from rich.text import Text

from pipelines.terminal import Column, print_table
from warehouse import rows_of
from warehouse.dossier import day, fixed, latency

Row = dict[str, Any]

_MATCHES = """
($kernel is null or kernel = $kernel)
and ($stack is null or stack = $stack)
and ($family is null or family = $family)
and ($project is null or project = $project)
"""
_RANKED = f"""
select leaderboard.*, coalesce(flags, []) as flags
from leaderboard
left join open_flags using (run_digest)
where {_MATCHES}
"""
_RANKING = f"{_RANKED} order by kernel, stack, gpu, display_order"
_BESTS = f"""
{_RANKED}
qualify row_number() over (partition by comparison_key order by display_order) = 1
order by rank, sol_score desc nulls last, kernel, stack, gpu
"""
_RECORDS = f"""
select records.*, family, coalesce(flags, []) as flags
from records
join named_groups using (comparison_key, kernel, stack, gpu)
left join open_flags using (run_digest)
where {_MATCHES}
order by held_since desc nulls last, kernel, stack, gpu
"""
# By what runs are asked for, all the names that there are.
_NAMES = {
    "kernel": "select name from operations",
    "stack": "select version from protocols",
    "family": "select family from operations",
    "project": "select name from projects",
}

TOP = (
    "rank", "project", "kernel", "stack", "gpu", "latency_ms", "ratio_to_best", "sol_score", "avg_speedup",
    "external_id", "flags",
)  # fmt: skip
RECORDS = ("kernel", "stack", "gpu", "project", "latency_ms", "held_since", "external_id", "flags")
STANDINGS = (
    "project", "family", "stack", "groups", "firsts", "podiums", "median_rank", "mean_share_of_gap_closed",
    "records_held", "records_lost_lately",
)  # fmt: skip

# Columns that are headed or written in another way than the view has them.
_HEADINGS = {
    "latency_ms": "latency",
    "ratio_to_best": "× best",
    "sol_score": "SOL",
    "avg_speedup": "speedup",
    "external_id": "submission",
    "held_since": "held since",
    "median_rank": "median",
    "mean_share_of_gap_closed": "gap closed",
    "records_held": "records",
    "records_lost_lately": "lost",
}
_FORMS: Mapping[str, Callable[[Any], str]] = {
    "latency_ms": lambda ms: latency(round(ms * 1e6)),
    "ratio_to_best": lambda ratio: fixed(ratio, 2),
    "sol_score": lambda score: fixed(score, 4),
    "avg_speedup": lambda speedup: f"{fixed(speedup, 2)}×",
    "held_since": day,
    "flags": ", ".join,
    "median_rank": lambda rank: f"{rank:g}",
    "mean_share_of_gap_closed": lambda share: f"{fixed(share * 100, 0)}%",
}
# Texts that are the same in all rows are said once, above the table, in this order.
_TEXTS = ("kernel", "project", "family", "stack", "gpu")
_FOLDED = ("kernel", "project")
UNKNOWN = "–"


class NoAnswer(Exception):
    """A question about something that is not there, or that is not clear; says so, and what to do."""


def top(warehouse: duckdb.DuckDBPyConnection, **filters: str | None) -> list[Row]:
    """Ranked runs, as rows of `leaderboard`: of a kernel all that match; without one, the best of each group.

    With each the flags that are open. Filters are kernel, stack, family and project. Raises NoAnswer.
    """
    _check_names(warehouse, filters)
    return rows_of(warehouse.execute(_RANKING if filters["kernel"] else _BESTS, filters))


def records(warehouse: duckdb.DuckDBPyConnection, **filters: str | None) -> list[Row]:
    """The records that stand, newest first, as rows of `records`, with the flags that are open.

    Filters as in `top`. Raises NoAnswer.
    """
    _check_names(warehouse, filters)
    return rows_of(warehouse.execute(_RECORDS, filters))


def standings(warehouse: duckdb.DuckDBPyConnection, *, family: str | None, stack: str | None) -> list[Row]:
    """How projects stand, as rows of `standings`; or in one family, or on one stack. Raises NoAnswer."""
    _check_names(warehouse, {"family": family, "stack": stack})
    if family and stack:
        raise NoAnswer("standings are by family or by stack: give one of the two")
    if family:
        return rows_of(warehouse.execute("from standings_by_family where family = $1", [family]))
    if stack:
        return rows_of(warehouse.execute("from standings_by_stack where stack = $1", [stack]))
    return rows_of(warehouse.execute("from standings"))


def names(warehouse: duckdb.DuckDBPyConnection, what: str) -> list[str]:
    """All the names of kernels, stacks, families or projects that there are."""
    return sorted({name for (name,) in warehouse.execute(_NAMES[what]).fetchall()})


def show_rows(console: Console, rows: Sequence[Row], columns: Sequence[str], limit: int) -> None:
    """Print rows as a table of these columns, as far as the rows have them; no more than the limit."""
    if not rows:
        console.print(Text("Nothing matches."))
        return
    there = [name for name in columns if name in rows[0]]
    once = [name for name in _TEXTS if name in there and len({row[name] for row in rows}) == 1]
    varying = [name for name in there if name not in once]
    print_table(
        console,
        " · ".join(rows[0][name] for name in once),
        [
            Column(_HEADINGS.get(name, name), is_number=name not in (*_TEXTS, "flags"), folds=name in _FOLDED)
            for name in varying
        ],
        [[_shown(name, row[name]) for name in varying] for row in rows[:limit]],
    )
    if len(rows) > limit:
        console.print(Text(f"{limit} of {len(rows)}; --limit {len(rows)} shows all", style="dim"))


def _shown(column: str, value: Any) -> str:
    return UNKNOWN if value is None else _FORMS.get(column, str)(value)


def _check_names(warehouse: duckdb.DuckDBPyConnection, given: Mapping[str, str | None]) -> None:
    for what, name in given.items():
        if name is None or name in (known := names(warehouse, what)):
            continue
        near = _nearest(name, known)
        there = "near to it" if near else f"there are {len(known)}, as"
        raise NoAnswer(f"there is no {what} {name!r} here; {there}: {', '.join(near or known[:3])}")


def _nearest(name: str, known: Sequence[str]) -> list[str]:
    """The names that hold this one, or are spelt like it, whatever the case."""
    folded = {one.casefold(): one for one in known}
    holding = [one for one in folded if name.casefold() in one] if name else []
    like = get_close_matches(name.casefold(), folded, n=5, cutoff=0.5)
    return [folded[one] for one in dict.fromkeys([*holding[:3], *like])][:5]
