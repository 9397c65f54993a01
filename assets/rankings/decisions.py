"""Decisions by people: retract a run, supersede it by another, accept or reject a flagged one.

They stand in `decisions.yaml` beside this module. Read here, and held against the runs that there are; what
follows from them for ranks and records is in `review.sql`, `eligibility.sql` and `records.sql`.

A decision that names a submission counts for whatever run that submission is now, and for nothing while it is
none (disqualified at the source, say). One that names a digest counts for that very run: where the source
changes what it says of it, there is no such run any more, and the decision is an error until a person has
looked at it again. In which order decisions stand never matters.
"""

from collections.abc import Mapping
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

import duckdb
import pyarrow as pa
from pydantic import Field, TypeAdapter

from assets.rankings.entries import Entry, EntryError, Link, Text, read_entries, shown
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

# What a run can have beside its acceptance; of these it can have one.
_AFTER_ACCEPTANCE = (Retraction, Supersession)


def read_decisions(path: Path = DECISIONS_FILE, now: datetime | None = None) -> dict[str, Decision]:
    """The decisions of a file, by name. Raises EntryError for the first that is wrong in itself."""
    return dict(read_entries(path, _DECISION, now))


def resolve_decisions(connection: duckdb.DuckDBPyConnection, decisions: Mapping[str, Decision]) -> pa.Table:
    """The table `decisions`: each with the run that it is about.

    The connection has the relations `runs` and `source_submissions`. Raises EntryError where a decision
    names a run that there is not, is dated before its run, contradicts another, or supersedes in a circle.
    """
    runs = {name: _found(connection, name, decision.run) for name, decision in decisions.items()}
    by = {
        name: _successor(connection, name, decision, runs[name])
        for name, decision in decisions.items()
        if isinstance(decision, Supersession)
    }
    for name, decision in decisions.items():
        for run in (runs[name], by.get(name)):
            if isinstance(run, NamedRun) and run.observed_at and decision.date <= run.observed_at:
                raise EntryError(
                    f"{name} is dated {shown(decision.date)}, but submission {run.external_id} was measured "
                    f"later, at {shown(run.observed_at)}; a decision of the same day needs its time of day"
                )
    _refuse_contradictions(decisions, runs)
    _refuse_circles(runs, by)
    rows: list[dict[str, object]] = [
        {
            "external_id": runs[name].external_id,
            "run_digest": _digest(runs[name]),
            "decision": decision.decision,
            "by_run_digest": _digest(by.get(name)),
            "decided_at": decision.date,
            "who": decision.who,
            "why": decision.why,
            "link": decision.link,
        }
        for name, decision in decisions.items()
    ]
    rows.sort(key=lambda row: (str(row["external_id"]), str(row["decision"])))
    return table_of(rows, DECISIONS.schema)


def check_judgements(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise EntryError where a decision accepts or rejects a run that has no flag.

    The connection has the relations `decisions` and `flags`.
    """
    unfounded = connection.execute(
        "select decision, external_id from decisions anti join flags using (run_digest) "
        "where decision in ('accept', 'reject') and run_digest is not null order by all limit 1"
    ).fetchall()
    for decision, external_id in unfounded:
        raise EntryError(
            f"{DECISIONS_FILE.name} says to {decision} submission {external_id}, but nothing flags its run: "
            "take the entry out, or retract the run"
        )


def _found(connection: duckdb.DuckDBPyConnection, name: str, run: str) -> NamedRun | NoRun:
    try:
        return find_run(connection, run)
    except UnknownRun as problem:
        raise EntryError(f"{name}: {problem}") from problem


def _successor(
    connection: duckdb.DuckDBPyConnection, name: str, decision: Supersession, run: NamedRun | NoRun
) -> NamedRun:
    successor = _found(connection, name, decision.by)
    if isinstance(successor, NoRun):
        raise EntryError(
            f"{name}: submission {successor.external_id}, which is to take its place, is no run "
            f"({successor.outcome})"
        )
    if isinstance(run, NamedRun) and run.comparison_key != successor.comparison_key:
        raise EntryError(
            f"{name}: submission {successor.external_id} is in another comparison group and can't take its "
            "place; retract the run, if it must not be ranked"
        )
    return successor


def _refuse_contradictions(decisions: Mapping[str, Decision], runs: Mapping[str, NamedRun | NoRun]) -> None:
    for (name, one), (other_name, other) in combinations(decisions.items(), 2):
        if runs[name].external_id != runs[other_name].external_id:
            continue
        first, then = sorted((one, other), key=lambda decision: decision.date)
        if not (
            isinstance(first, Acceptance) and isinstance(then, _AFTER_ACCEPTANCE) and first.date < then.date
        ):
            raise EntryError(
                f"{name} and {other_name} contradict each other or say the same: of one run there can be one "
                "decision, or an acceptance and, later, a retraction or supersession; take one out"
            )


def _refuse_circles(runs: Mapping[str, NamedRun | NoRun], by: Mapping[str, NamedRun]) -> None:
    successors = {runs[name].external_id: run.external_id for name, run in by.items()}
    for name in by:
        start = runs[name].external_id
        passed = [start]
        while (following := successors.get(passed[-1])) is not None:
            passed.append(following)
            if following in passed[:-1]:
                raise EntryError(f"{name} supersedes in a circle: {' by '.join(passed)}; take one entry out")


def _digest(run: NamedRun | NoRun | None) -> str | None:
    return run.run_digest if isinstance(run, NamedRun) else None
