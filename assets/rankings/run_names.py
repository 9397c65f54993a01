"""How people name a run: by its id at the source (its submission's), or by its digest or the start of it.

What is then said or asked of the run belongs elsewhere.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import duckdb
from pydantic import Field

RunName = Annotated[str, Field(pattern=r"^([0-9]+(/\S+)?|sha256:[0-9a-f]{1,64})$")]


class UnknownRun(ValueError):
    """A name that leads to no run, or to more than one; says so in words."""


@dataclass(frozen=True)
class NamedRun:
    """A run that somebody named."""

    run_digest: str
    external_id: str
    comparison_key: str
    observed_at: datetime | None


@dataclass(frozen=True)
class NoRun:
    """A submission that somebody named and that was read, but is no run: `outcome` says why."""

    external_id: str
    outcome: str


def find_run(connection: duckdb.DuckDBPyConnection, name: str) -> NamedRun | NoRun:
    """The run of this name, or the submission where that is no run.

    The connection has the relations `runs` and `source_submissions`. Raises UnknownRun where nothing, or
    more than one run, has the name.
    """
    by_digest = name.startswith("sha256:")
    condition = "starts_with(run_digest, $1)" if by_digest else "external_id = $1"
    found = [
        NamedRun(*row)
        for row in connection.execute(
            f"select run_digest, external_id, comparison_key, observed_at from runs where {condition} "
            "order by run_digest limit 2",
            [name],
        ).fetchall()
    ]
    if len(found) > 1:
        digests = " and ".join(run.run_digest for run in found)
        raise UnknownRun(f"{name} is the start of more than one run: of {digests}; write more of it")
    if found:
        return found[0]
    if by_digest:
        raise UnknownRun(f"there is no run whose digest is, or starts with, {name}")
    outcomes = connection.execute(
        "select outcome from source_submissions where submission_id::varchar = $1", [name]
    ).fetchall()
    if not outcomes:
        raise UnknownRun(f"there is no submission {name}")
    return NoRun(name, outcomes[0][0])
