"""Two runs beside each other: a run and the best other of its comparison group, or any two runs of one group.

Runs of different groups are refused: what a ratio of theirs would say is false. How the answer is shown
belongs to whoever asks.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import duckdb

from assets.rankings.run_names import NamedRun, NoRun, UnknownRun, find_run
from warehouse import rows_of

_SIDE = """
select
    run_digest,
    external_id,
    projects.name as project,
    rank,
    primary_value,
    sol_score,
    observed_at,
    (select list(flag order by flag) from flags where flags.run_digest = runs.run_digest) as flags,
    (select list(reason order by reason) from exclusions where exclusions.run_digest = runs.run_digest)
        as reasons
from runs
join implementations using (implementation_digest)
join projects using (project_digest)
left join rankings using (comparison_key, run_digest)
where run_digest = $1
"""

# What makes up a comparison key, each part with its digest or key and the name that people know.
_PARTS = """
select
    {'key': operation_digest, 'name': operations.name} as operation,
    {'key': workload_digest, 'name': workloads.manifest ->> '$.metadata.title'} as workload,
    {'key': protocol_digest, 'name': protocols.manifest ->> '$.metadata.title'} as protocol,
    {'key': environment_digest, 'name': environments.manifest ->> '$.metadata.title'} as environment,
    {'key': correctness_key, 'name': workloads.manifest ->> '$.spec.correctness.comparator'} as correctness,
    {
        'key': primary_metric || ':' || primary_statistic || ':' || primary_unit,
        'name': primary_statistic || ' ' || primary_metric || ' in ' || primary_unit
    } as metric
from runs
left join operations using (operation_digest)
left join workloads using (workload_digest)
left join protocols using (protocol_digest)
left join environments using (environment_digest)
where run_digest = $1
"""


class NotComparable(ValueError):
    """Two runs that may not be compared, or a run with none to compare it with; says why."""


@dataclass(frozen=True)
class Side:
    """One of the two: `flags` are what is not plausible of it, `reasons` why it is not ranked."""

    run_digest: str
    external_id: str
    project: str
    rank: int | None
    primary_value: int | None
    sol_score: float | None
    observed_at: datetime | None
    flags: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two runs of one comparison group.

    `latency_ratio` is the run's latency over the other's: above 1 it is slower. `sol_score_difference` is
    the run's score less the other's. Each is None where one of the two numbers is not known; so is
    `newer`, and where both are of one moment.
    """

    comparison_key: str
    run: Side
    other: Side
    latency_ratio: float | None
    sol_score_difference: float | None
    newer: Literal["run", "other"] | None


def compare(warehouse: duckdb.DuckDBPyConnection, run: str, other: str | None = None) -> Comparison:
    """Compare a run with another, or else with the head of its group; the head with the next best.

    Runs are named by submission, or by digest or the start of it. Raises UnknownRun where a name leads to
    no run, NotComparable where the two are of different groups, or no other run of the group is ranked.
    """
    one = _run(warehouse, run)
    another = _best_other(warehouse, one) if other is None else _run(warehouse, other)
    if one.comparison_key != another.comparison_key:
        raise NotComparable(
            f"submissions {one.external_id} and {another.external_id} are in different comparison groups: "
            f"they differ in {_differences(warehouse, one, another)}"
        )
    side, other_side = _side(warehouse, one.run_digest), _side(warehouse, another.run_digest)
    return Comparison(
        one.comparison_key,
        side,
        other_side,
        latency_ratio=_ratio(side.primary_value, other_side.primary_value),
        sol_score_difference=_difference(side.sol_score, other_side.sol_score),
        newer=_newer(side.observed_at, other_side.observed_at),
    )


def _run(warehouse: duckdb.DuckDBPyConnection, name: str) -> NamedRun:
    found = find_run(warehouse, name)
    if isinstance(found, NoRun):
        raise UnknownRun(f"submission {found.external_id} is no run ({found.outcome})")
    return found


def _best_other(warehouse: duckdb.DuckDBPyConnection, run: NamedRun) -> NamedRun:
    found = warehouse.execute(
        "select run_digest from rankings where comparison_key = $1 and run_digest <> $2 "
        "order by display_order limit 1",
        [run.comparison_key, run.run_digest],
    ).fetchone()
    if found is None:
        raise NotComparable(
            f"no other run of submission {run.external_id}'s comparison group is ranked: "
            "there is none to compare it with"
        )
    return _run(warehouse, found[0])


def _side(warehouse: duckdb.DuckDBPyConnection, run_digest: str) -> Side:
    (row,) = rows_of(warehouse.execute(_SIDE, [run_digest]))
    lists = {name: tuple(row[name] or ()) for name in ("flags", "reasons")}
    return Side(**{**row, **lists})


def _ratio(one: int | None, other: int | None) -> float | None:
    return one / other if one is not None and other else None


def _difference(one: float | None, other: float | None) -> float | None:
    return one - other if one is not None and other is not None else None


def _newer(one: datetime | None, other: datetime | None) -> Literal["run", "other"] | None:
    if one is None or other is None or one == other:
        return None
    return "run" if one > other else "other"


def _differences(warehouse: duckdb.DuckDBPyConnection, one: NamedRun, other: NamedRun) -> str:
    """The parts of the comparison key that differ, as `protocol (SOL … v1.0, SOL … v1.1) and …`."""
    ones, others = (rows_of(warehouse.execute(_PARTS, [run.run_digest]))[0] for run in (one, other))
    parts = [
        f"{part} ({_named(ones[part], others[part])})"
        for part in ones
        if ones[part]["key"] != others[part]["key"]
    ]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _named(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Both by name; with the first digits of their digests, where the name is the same."""
    if one["name"] != other["name"]:
        return f"{one['name']}; {other['name']}"
    return "; ".join(f"{part['name']}, {part['key'][:19]}…" for part in (one, other))
