"""What a shell completes: names that the warehouse has. Where it has no warehouse to ask, nothing.

Shells put what is completed on the line as it is, and names hold anything: so none is completed that a shell
could take for more than a word.
"""

import re
import shlex
from collections.abc import Callable

import typer

import warehouse

Suggestions = list[tuple[str, str]]


def names_of(what: str) -> Callable[[typer.Context, str], Suggestions]:
    """Completes the names of kernels, stacks, families, tags or projects."""

    def complete(context: typer.Context, incomplete: str) -> Suggestions:
        from pipelines.answers import names

        try:
            with warehouse.connect(context.params.get("home")) as connection:
                known = names(connection, what)
        except warehouse.WarehouseError:
            return []
        return [(name, "") for name in known if name.startswith(incomplete) and shlex.quote(name) == name]

    return complete


def runs(context: typer.Context, incomplete: str) -> Suggestions:
    """Completes a run's submission, the newest first; beside it, whose it is and of which kernel."""
    try:
        with warehouse.connect(context.params.get("home")) as connection:
            found = connection.execute(
                "select external_id, project || ' · ' || kernel from leaderboard "
                "where starts_with(external_id, $1) order by submission_id desc limit 100",
                [incomplete],
            ).fetchall()
    except warehouse.WarehouseError:
        return []
    return [(external_id, re.sub(r"[^\w .·-]", "", whose)) for external_id, whose in found]
