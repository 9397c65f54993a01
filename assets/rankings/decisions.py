"""Decisions by people: retract a run, supersede it by another, accept or reject a flagged one.

They stand in `decisions.yaml` beside this module. Read here, and held against the runs that there are; what
follows from them for ranks and records is in `review.sql`, `eligibility.sql` and `records.sql`.

A decision that names a submission counts for whatever run that submission is now, and for nothing while it is
none (disqualified at the source, say). One that names a digest counts for that very run: where the source
changes what it says of it, there is no such run any more.

A decision that can't be applied, because of what the source says now or because it is wrong in itself, is set
aside with its reason until a person has looked at it again: it stops no other, and no ranking. In which order
decisions stand never matters.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import duckdb
import pyarrow as pa
from pydantic import Field, TypeAdapter

from assets.rankings.entries import Entry, EntryError, Link, Place, SetAside, Text, read_entries, shown
from assets.rankings.rank import run_step
from assets.rankings.run_names import NamedRun, NoRun, RunName, UnknownRun, find_run
from warehouse.parquet import table_of
from warehouse.tables import DECISIONS

DECISIONS_FILE = Path(__file__).with_name("decisions.yaml")


class _Decision(Entry):
    why: Text
    link: Link


class Retraction(_Decision):
    """The run must not be ranked any more."""

    decision: Literal["retract"]


class Supersession(_Decision):
    """Another run, of the same comparison group, takes its place."""

    decision: Literal["supersede"]
    by: RunName


class Acceptance(_Decision):
    """What is flagged is right all the same: if the run was held, it is ranked from then on."""

    decision: Literal["accept"]


class Rejection(_Decision):
    """What is flagged is wrong: the run must not be ranked."""

    decision: Literal["reject"]


Decision = Annotated[Retraction | Supersession | Acceptance | Rejection, Field(discriminator="decision")]
_DECISION: TypeAdapter[Retraction | Supersession | Acceptance | Rejection] = TypeAdapter(Decision)

# What is said only of a run that has a flag.
_JUDGEMENTS = (Acceptance, Rejection)
# What a run can have beside its acceptance; of these it can have one.
_AFTER_ACCEPTANCE = (Retraction, Supersession)


def read_decisions(
    path: Path = DECISIONS_FILE, now: datetime | None = None
) -> tuple[dict[Place, Decision], SetAside]:
    """The decisions of a file, and those that are wrong in themselves.

    Raises EntryError where the file can't be read: whom it keeps from being ranked, nobody could say.
    """
    decisions, set_aside = read_entries(path, _DECISION, now)
    return dict(decisions), set_aside


def resolve_decisions(
    connection: duckdb.DuckDBPyConnection, decisions: Mapping[Place, Decision]
) -> tuple[pa.Table, SetAside]:
    """The table `decisions`, each with the run that it is about; and the decisions that can't be applied.

    Such a decision names a run that there is not, is dated before its run, accepts or rejects what nothing
    flags, contradicts another, or supersedes in a circle. The connection has the relations `runs`,
    `source_kernels`, `source_workloads` and `source_submissions`.
    """
    flagged = _flagged(connection, decisions)
    runs: dict[Place, NamedRun | NoRun] = {}
    by: dict[Place, NamedRun] = {}
    set_aside: SetAside = {}
    for place, decision in decisions.items():
        try:
            run = find_run(connection, decision.run)
            _refuse_unfounded(decision, run, flagged)
            if isinstance(decision, Supersession):
                by[place] = _successor(connection, decision, run)
            runs[place] = run
        except (UnknownRun, EntryError) as problem:
            set_aside[place] = str(problem)
    set_aside |= _contradictions({place: decisions[place] for place in runs}, runs)
    set_aside |= _circles({place: runs[place] for place in by if place not in set_aside}, by)
    rows: list[dict[str, object]] = [
        {
            "external_id": run.external_id,
            "run_digest": _digest(run),
            "decision": decisions[place].decision,
            "by_run_digest": _digest(by.get(place)),
            "decided_at": decisions[place].date,
            "who": decisions[place].who,
            "why": decisions[place].why,
            "link": decisions[place].link,
        }
        for place, run in runs.items()
        if place not in set_aside
    ]
    rows.sort(key=lambda row: (str(row["external_id"]), str(row["decision"])))
    return table_of(rows, DECISIONS.schema), set_aside


def _flagged(connection: duckdb.DuckDBPyConnection, decisions: Mapping[Place, Decision]) -> set[str]:
    """The runs that have a flag, where a decision asks for them."""
    if not any(isinstance(decision, _JUDGEMENTS) for decision in decisions.values()):
        return set()
    for step in ("bounds", "flags"):
        run_step(connection, step)
    return {run_digest for (run_digest,) in connection.execute("select run_digest from flags").fetchall()}


def _refuse_unfounded(decision: Decision, run: NamedRun | NoRun, flagged: set[str]) -> None:
    if isinstance(run, NoRun):
        return
    _refuse_early(decision, run)
    if isinstance(decision, _JUDGEMENTS) and run.run_digest not in flagged:
        raise EntryError(
            f"nothing flags the run of submission {run.external_id}: take the entry out, or retract the run"
        )


def _refuse_early(decision: Decision, run: NamedRun) -> None:
    if run.observed_at and decision.date <= run.observed_at:
        raise EntryError(
            f"it is dated {shown(decision.date)}, but submission {run.external_id} was measured later, at "
            f"{shown(run.observed_at)}; a decision of the same day needs its time of day"
        )


def _successor(
    connection: duckdb.DuckDBPyConnection, decision: Supersession, run: NamedRun | NoRun
) -> NamedRun:
    successor = find_run(connection, decision.by)
    if isinstance(successor, NoRun):
        raise EntryError(
            f"submission {successor.external_id}, which is to take its place, is no run ({successor.outcome})"
        )
    if isinstance(run, NamedRun) and run.comparison_key != successor.comparison_key:
        raise EntryError(
            f"submission {successor.external_id} is in another comparison group and can't take its place; "
            "retract the run, if it must not be ranked"
        )
    _refuse_early(decision, successor)
    return successor


def _contradictions(decisions: Mapping[Place, Decision], runs: Mapping[Place, NamedRun | NoRun]) -> SetAside:
    """All decisions of the runs of which too many decide: none of them is more right than another."""
    of_run: dict[str, list[Place]] = defaultdict(list)
    for place in decisions:
        of_run[runs[place].external_id].append(place)
    return {
        place: f"{' and '.join(map(str, places))} contradict each other or say the same: of one run there "
        "can be one decision, or an acceptance and, later, a retraction or supersession; take one out"
        for places in of_run.values()
        if not _can_stand_together([decisions[place] for place in places])
        for place in places
    }


def _can_stand_together(decisions: Sequence[Decision]) -> bool:
    if len(decisions) == 1:
        return True
    first, then, *more = sorted(decisions, key=lambda decision: decision.date)
    return (
        not more
        and isinstance(first, Acceptance)
        and isinstance(then, _AFTER_ACCEPTANCE)
        and first.date < then.date
    )


def _circles(runs: Mapping[Place, NamedRun | NoRun], by: Mapping[Place, NamedRun]) -> SetAside:
    """All decisions that supersede in a circle."""
    successors = {run.external_id: by[place].external_id for place, run in runs.items()}
    set_aside: SetAside = {}
    for place, run in runs.items():
        passed = [run.external_id]
        while (following := successors.get(passed[-1])) is not None and following not in passed:
            passed.append(following)
        if following == run.external_id:
            circle = " by ".join([*passed, following])
            set_aside[place] = f"it supersedes in a circle: {circle}; take one entry out"
    return set_aside


def _digest(run: NamedRun | NoRun | None) -> str | None:
    return run.run_digest if isinstance(run, NamedRun) else None
