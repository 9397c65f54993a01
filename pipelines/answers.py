"""Answers that are tables: who is ahead, who holds records, how projects stand. Small queries on the views.

How a table fits a terminal belongs in `terminal`; what one run is, in `show`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

import duckdb
from rich.console import Console
from rich.text import Text

from pipelines.terminal import Column, print_table, printable
from warehouse import rows_of
from warehouse.dossier import SOL_SCORE, day, fixed, latency

Row = dict[str, Any]
Meant = dict[str, list[str]]
Listed = Literal["kernels", "open-kernels", "families", "tags", "projects"]

_RANKED = """
select leaderboard.*, coalesce(flags, []) as flags
from leaderboard
left join open_flags using (run_digest)
where {where}
"""
_RANKING = f"{_RANKED} order by kernel, stack, gpu, display_order"
_BESTS = f"""
{_RANKED}
qualify row_number() over (partition by comparison_key order by display_order) = 1
order by rank, sol_score desc nulls last, kernel, stack, gpu
"""
_RECORDS = """
select records.*, family, tags, coalesce(flags, []) as flags
from records
join named_groups using (comparison_key, kernel, stack, gpu)
left join open_flags using (run_digest)
where {where}
order by held_since desc nulls last, kernel, stack, gpu
"""
_STANDINGS = """
from all_standings
where {where} and (family is null) = $over_all_families
order by
    stack = (select stack from stacks where is_newest) desc,
    stack desc,
    family,
    firsts desc,
    contested_firsts desc,
    podiums desc,
    groups desc,
    project,
    project_digest
"""
_COUNTED = "count(*) as kernels, count(*) filter (is_open) as open_kernels, sum(runs)::bigint as runs"
_LISTS: Mapping[Listed, str] = {
    "kernels": "from kernel_stacks where {where}",
    "open-kernels": "from kernel_stacks where is_open and {where}",
    "families": f"""
        select family, stack, {_COUNTED}
        from kernel_stacks
        where family is not null and {{where}}
        group by all
        order by family, stack desc
        """,
    "tags": f"""
        select tag, stack, {_COUNTED}
        from (select *, unnest(list_distinct(tags)) as tag from kernel_stacks where {{where}})
        group by all
        order by tag, stack desc
        """,
    "projects": """
        select project, stack, count(best_rank) as groups, sum(runs)::bigint as runs, project_digest
        from project_groups
        join (select kernel, stack, tags from kernel_stacks) using (kernel, stack)
        where {where}
        group by all
        order by project, stack desc, project_digest
        """,
}
_OPEN = (
    "select kernel, stack, submissions from kernel_stacks where is_open and {where} order by kernel, stack"
)
# By what runs are asked for: all the names that there are, and the condition that a row has one of these.
_NAMES = {
    "kernel": "select kernel_name from source_kernels",
    "stack": "select stack from stacks",
    "family": "select family from operations",
    "tag": "select unnest(tags) from source_kernels",
    "project": "select name from projects",
}
_CONDITIONS = {name: f"list_contains(${name}, {name})" for name in _NAMES} | {
    "tag": "list_has_any($tag, tags)"
}

TOP = (
    "rank", "project", "kernel", "stack", "gpu", "sol_bound_ms", "latency_ms", "ratio_to_best",
    "ratio_to_bound", "sol_score", "share_of_gap_closed", "avg_speedup", "external_id", "flags",
)  # fmt: skip
RECORDS = ("kernel", "stack", "gpu", "project", "latency_ms", "held_since", "external_id", "flags")
# Records held are left out: they are the firsts, but for ties.
STANDINGS = (
    "project", "family", "stack", "groups", "firsts", "contested_firsts", "uncontested_firsts", "podiums",
    "median_rank", "mean_share_of_gap_closed", "records_lost_lately",
)  # fmt: skip
LISTED: Mapping[Listed, tuple[str, ...]] = {
    "kernels": ("kernel", "family", "stack", "tags", "submissions", "ranked_runs", "projects"),
    "open-kernels": ("kernel", "family", "stack", "tags", "submissions"),
    "families": ("family", "stack", "kernels", "open_kernels", "runs"),
    "tags": ("tag", "stack", "kernels", "open_kernels", "runs"),
    "projects": ("project", "stack", "groups", "runs"),
}

# Columns that are headed or written in another way than the view has them.
_HEADINGS = {
    "latency_ms": "latency",
    "ratio_to_best": "× best",
    "sol_bound_ms": "bound",
    "ratio_to_bound": "× bound",
    "share_of_gap_closed": "gap",
    "sol_score": "SOL",
    "avg_speedup": "speedup",
    "external_id": "submission",
    "held_since": "held since",
    "median_rank": "median",
    "mean_share_of_gap_closed": "gap",
    "contested_firsts": "contested",
    "uncontested_firsts": "alone",
    "records_lost_lately": "lost",
    "open_kernels": "open",
    "ranked_runs": "ranked",
}
_FORMS: Mapping[str, Callable[[Any], str]] = {
    "latency_ms": lambda ms: latency(round(ms * 1e6)),
    "sol_bound_ms": lambda ms: latency(ms * 1e6),
    "ratio_to_best": lambda ratio: fixed(ratio, 2),
    "ratio_to_bound": lambda ratio: fixed(ratio, 2),
    "share_of_gap_closed": lambda share: f"{fixed(share * 100, 0)}%",
    "sol_score": lambda score: fixed(score, 4),
    "avg_speedup": lambda speedup: f"{fixed(speedup, 2)}×",
    "held_since": day,
    "flags": ", ".join,
    "tags": ", ".join,
    "median_rank": lambda rank: f"{rank:g}",
    "mean_share_of_gap_closed": lambda share: f"{fixed(share * 100, 0)}%",
}
# What columns mean that have no name of their own, in the order in which they are said below a table.
_MEANINGS = {
    "ratio_to_bound": "× bound: latency over the geometric mean of the speed-of-light bounds",
    "share_of_gap_closed": "gap: of the way from the scoring baseline (0%) to the bound (100%)",
    "mean_share_of_gap_closed": "gap: of the way from the scoring baseline (0%) to the bound (100%)",
    "sol_score": f"SOL: {SOL_SCORE}",
    "contested_firsts": "contested: firsts where another project is ranked too; alone: where none is",
    "open_kernels": "open: kernels on which nobody is ranked yet",
}
# Texts that are the same in all rows are said once, above the table, in this order; so is a bound.
_TEXTS = ("kernel", "project", "family", "tag", "stack", "gpu")
_ONCE = (*_TEXTS, "sol_bound_ms")
_LISTS_OF_TEXTS = ("flags", "tags")
_FOLDED = ("kernel", "project", "tags")
UNKNOWN = "–"
# Of more open kernels only the number is said.
_OPEN_NAMED = 3


class NoAnswer(Exception):
    """A question about something that is not there, or that is not clear; says so, and what to do."""


@dataclass(frozen=True)
class Answer:
    """Rows, and sentences for people: what the rows leave out, or why there are none."""

    rows: list[Row]
    notes: tuple[str, ...] = ()


def top(warehouse: duckdb.DuckDBPyConnection, *, all_stacks: bool = False, **filters: str | None) -> Answer:
    """Ranked runs, as rows of `leaderboard`: of one kernel all that match; else the best of each group.

    With each the flags that are open. Filters are kernel, stack, family, tag and project, each a name or, in
    any case, a part of one; without a stack, runs are on the newest. Raises NoAnswer.
    """
    meant = _meant(warehouse, filters, all_stacks)
    one_kernel = len(meant.get("kernel", ())) == 1
    rows = _rows(warehouse, _RANKING if one_kernel else _BESTS, meant)
    return Answer(rows, (*_what_is_open(warehouse, meant), *_which_stack(warehouse, filters, all_stacks)))


def records(
    warehouse: duckdb.DuckDBPyConnection, *, all_stacks: bool = False, **filters: str | None
) -> Answer:
    """The records that stand, newest first, as rows of `records`, with the flags that are open.

    Filters as in `top`. Raises NoAnswer.
    """
    rows = _rows(warehouse, _RECORDS, _meant(warehouse, filters, all_stacks))
    return Answer(rows, _which_stack(warehouse, filters, all_stacks))


def standings(
    warehouse: duckdb.DuckDBPyConnection, *, all_stacks: bool = False, **filters: str | None
) -> Answer:
    """How projects stand, as rows of `all_standings`, stack by stack; filters are family and stack.

    Without a stack, on the newest. Raises NoAnswer.
    """
    meant = _meant(warehouse, filters, all_stacks)
    rows = _rows(warehouse, _STANDINGS, meant, over_all_families="family" not in meant)
    if "family" not in meant:
        rows = [{name: value for name, value in row.items() if name != "family"} for row in rows]
    return Answer(rows, _which_stack(warehouse, filters, all_stacks))


def listed(
    warehouse: duckdb.DuckDBPyConnection,
    what: Listed,
    *,
    all_stacks: bool = False,
    **filters: str | None,
) -> Answer:
    """The kernels, open kernels, families, tags or projects that there are, each with what is known of it.

    Filters as in `top`, without project. Raises NoAnswer.
    """
    rows = _rows(warehouse, _LISTS[what], _meant(warehouse, filters, all_stacks))
    return Answer(rows, _which_stack(warehouse, filters, all_stacks))


def names(warehouse: duckdb.DuckDBPyConnection, what: str) -> list[str]:
    """All the names of kernels, stacks, families, tags or projects that there are."""
    return sorted({name for (name,) in warehouse.execute(_NAMES[what]).fetchall()})


def show_answer(console: Console, answer: Answer, columns: Sequence[str], limit: int) -> None:
    """Print rows, no more than the limit, as a table of these columns as far as they have them; and notes."""
    if answer.rows:
        _show_rows(console, answer.rows, columns, limit)
    elif not answer.notes:
        console.print(Text("Nothing matches."))
    for note in answer.notes:
        console.print(Text(printable(note), style="dim" if answer.rows else ""))


def _show_rows(console: Console, rows: Sequence[Row], columns: Sequence[str], limit: int) -> None:
    there = [name for name in columns if name in rows[0]]
    once = [name for name in _ONCE if name in there and len({row[name] for row in rows}) == 1]
    empty = [name for name in _LISTS_OF_TEXTS if name in there and not any(row[name] for row in rows)]
    varying = [name for name in there if name not in (*once, *empty)]
    print_table(
        console,
        " · ".join(
            _shown(name, rows[0][name]) if name in _TEXTS else _labelled(name, rows[0]) for name in once
        ),
        [
            Column(
                _HEADINGS.get(name, name),
                is_number=name not in (*_TEXTS, *_LISTS_OF_TEXTS),
                folds=name in _FOLDED,
            )
            for name in varying
        ],
        [[_shown(name, row[name]) for name in varying] for row in rows[:limit]],
    )
    if len(rows) > limit:
        console.print(Text(f"{limit} of {len(rows)}; --limit {len(rows)} shows all", style="dim"))
    for name, meaning in _MEANINGS.items():
        if name in there:
            console.print(Text(meaning, style="dim"))


def _labelled(name: str, row: Row) -> str:
    return f"{_HEADINGS.get(name, name)} {_shown(name, row[name])}"


def _shown(column: str, value: Any) -> str:
    return UNKNOWN if value is None else _FORMS.get(column, str)(value)


def _rows(warehouse: duckdb.DuckDBPyConnection, query: str, meant: Meant, **given: bool) -> list[Row]:
    where = " and ".join([_CONDITIONS[what] for what in meant] or ["true"])
    return rows_of(warehouse.execute(query.format(where=where), {**meant, **given}))


def _meant(
    warehouse: duckdb.DuckDBPyConnection, filters: Mapping[str, str | None], all_stacks: bool
) -> Meant:
    """All names that each filter means; without a stack, the newest. Raises NoAnswer where it means none."""
    if filters.get("stack") and all_stacks:
        raise NoAnswer("give --stack or --all-stacks, not both")
    meant = {what: _names_like(warehouse, what, name) for what, name in filters.items() if name is not None}
    if "stack" not in meant and not all_stacks and (newest := _newest_stack(warehouse)):
        meant["stack"] = [newest]
    return meant


def _names_like(warehouse: duckdb.DuckDBPyConnection, what: str, name: str) -> list[str]:
    """The one name that is this; else those that are it in another case; else those that have it in them."""
    known, folded = names(warehouse, what), name.casefold()
    if name in known:
        return [name]
    alike = [one for one in known if one.casefold() == folded]
    holding = [one for one in known if folded.strip() and folded in one.casefold()]
    if found := alike or holding:
        return found
    spellings = {one.casefold(): one for one in known}
    nearest = [spellings[one] for one in get_close_matches(folded, spellings, n=5, cutoff=0.5)]
    there = "near to it" if nearest else f"there are {len(known)}, as"
    raise NoAnswer(f"there is no {what} {name!r} here; {there}: {', '.join(nearest or known[:3])}")


def _newest_stack(warehouse: duckdb.DuckDBPyConnection) -> str | None:
    found = warehouse.execute("select stack from stacks where is_newest").fetchall()
    return str(found[0][0]) if found else None


def _which_stack(
    warehouse: duckdb.DuckDBPyConnection, filters: Mapping[str, str | None], all_stacks: bool
) -> tuple[str, ...]:
    """That only the newest stack is shown, where nobody asked for that."""
    newest = _newest_stack(warehouse)
    others = [stack for stack in names(warehouse, "stack") if stack != newest]
    if filters.get("stack") or all_stacks or not others:
        return ()
    return (f"on {newest}, the newest stack; --all-stacks shows {', '.join(others)} too",)


def _what_is_open(warehouse: duckdb.DuckDBPyConnection, meant: Meant) -> tuple[str, ...]:
    """Which of the kernels that are meant have no ranked run: they have no row in any ranking."""
    if "project" in meant:
        return ()
    kernels = _rows(warehouse, _OPEN, meant)
    if len(kernels) > _OPEN_NAMED:
        return (f"{len(kernels)} kernels have no ranked run yet: `kernelindex list open-kernels` names them",)
    return tuple(f"{kernel['kernel']}: {_why_open(warehouse, kernel)}" for kernel in kernels)


def _why_open(warehouse: duckdb.DuckDBPyConnection, kernel: Row) -> str:
    on = f" on {kernel['stack']}" if kernel["stack"] else ""
    if kernel["submissions"]:
        return f"none of its submissions{on} is ranked; there are {kernel['submissions']}"
    elsewhere = warehouse.execute(
        "select stack, ranked_runs from kernel_stacks where kernel = $1 and stack <> $2 and ranked_runs > 0",
        [kernel["kernel"], kernel["stack"]],
    ).fetchall()
    others = "".join(f"; {count} ranked on {stack}: --stack {stack}" for stack, count in elsewhere)
    return f"no submissions yet{on}{others}"
