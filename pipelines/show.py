"""What `kernelindex show` and `compare` say of runs: finding one by its name, printing what is known of it.

What a run's page shows, and in which form, belongs in `warehouse.dossier`; what two runs are beside each
other, in `assets.rankings.compare`.
"""

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import duckdb
from rich.console import Console
from rich.text import Text

from assets.rankings.compare import Comparison, Side
from pipelines.answers import UNKNOWN, NoAnswer, Row
from pipelines.terminal import Column, print_pairs, print_table, printable
from warehouse import rows_of
from warehouse.dossier import MANIFEST, SOL_SCORE, Line, day, dossier, fixed, latency

# What a name can mean: an id at the source; else the start of a digest; else a submission known by its cases.
_NAMED = """
select
    run_digest,
    external_id,
    projects.name as project,
    operations.name as kernel,
    case
        when external_id = $name then 1
        when starts_with(run_digest, $digest) then 2
        when submission_id::varchar = $name then 3
    end as meaning
from runs
join operations using (operation_digest)
join implementations using (implementation_digest)
join projects using (project_digest)
where meaning is not null
qualify meaning = min(meaning) over ()
order by external_id, run_digest
"""
_NEAREST = """
select submission_id from source_submissions order by abs(submission_id - $1), submission_id limit 3
"""
# Why a submission is no run; of one that is not public, no more than that.
_NO_RUN = """
select
    outcome,
    concat_ws(
        ', ',
        why,
        'on ' || no_runs.disqualified_at::date,
        'until ' || strftime(no_runs.result_available_at, '%Y-%m-%d %H:%M UTC')
    )
from source_submissions
left join no_runs using (submission_id, outcome)
where submission_id = $submission_id
"""
_LONGEST_REASON = 500
_DIGEST = re.compile(r"sha256:[0-9a-f]{1,64}|[0-9a-f]{4,64}", re.IGNORECASE)
_LISTED = 10
_JSON = ("case_axes", "manifest", "workload_manifest", "protocol_manifest", "environment_manifest")


def find(warehouse: duckdb.DuckDBPyConnection, name: str) -> str:
    """The digest of the run of this name: a submission's id, or a run's digest or the first digits of it.

    Raises NoAnswer where it names no run, or several.
    """
    digest = f"sha256:{name.lower().removeprefix('sha256:')}" if _DIGEST.fullmatch(name) else None
    given = {"name": name, "digest": digest}
    found = rows_of(warehouse.execute(_NAMED, given))
    if len(found) == 1:
        return str(found[0]["run_digest"])
    if not found:
        raise NoAnswer(_why_not(warehouse, name))
    listed = [
        printable(f"  {run['run_digest'][:23]}…  {run['external_id']}  {run['project']}  {run['kernel']}")
        for run in found[:_LISTED]
    ]
    more = [f"  and {len(found) - _LISTED} more"] if len(found) > _LISTED else []
    raise NoAnswer("\n".join([f"{name} can be any of {len(found)} runs; write more of it:", *listed, *more]))


def _why_not(warehouse: duckdb.DuckDBPyConnection, name: str) -> str:
    if not re.fullmatch("[0-9]{1,18}", name):
        return (
            f"no run is called {name}: give a submission's id, as 3268, or the first digits of a run's "
            "digest, as sha256:1b9cb94e; `kernelindex top` lists runs with their submissions"
        )
    if said := warehouse.execute(_NO_RUN, {"submission_id": int(name)}).fetchall():
        return f"submission {name} is no run: {_shortened(': '.join(filter(None, said[0])))}"
    problems = warehouse.execute(
        "select problem from quarantine where item = $1", [f"submission {int(name)}"]
    ).fetchall()
    if problems:
        return f"submission {name} could not be read: {_shortened(problems[0][0])}"
    nearest = ", ".join(str(near) for (near,) in warehouse.execute(_NEAREST, [int(name)]).fetchall())
    return (
        f"there is no submission {name} here; the nearest are {nearest or 'none'}. "
        "If it is new, `kernelindex ingest` brings it"
    )


def _shortened(reason: str) -> str:
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]} …"


def run_of(warehouse: duckdb.DuckDBPyConnection, run_digest: str) -> Row:
    """The run's row of the view `run_dossier`."""
    return rows_of(warehouse.execute("from run_dossier where run_digest = $1", [run_digest]))[0]


def for_scripts(run: Row) -> Row:
    """A run's row with its JSON as objects, not as text."""
    return run | {name: json.loads(run[name]) for name in _JSON if run[name]}


def group_of(warehouse: duckdb.DuckDBPyConnection, run_digest: str) -> str:
    """What a run's group has in common, in the names that people know it by."""
    run = run_of(warehouse, run_digest)
    case = [f"case {run['case_id']}"] if run["case_id"] else []
    return " · ".join([run["kernel"], *case, run["stack"], run["gpu"]])


def show_run(console: Console, run: Row) -> None:
    """Print a run's dossier."""
    page = dossier(run, accessed=datetime.now(UTC).date())
    console.print(Text(printable(page.title), style="bold"))
    for section in page.sections:
        console.print()
        console.print(Text(section.title, style="bold cyan"))
        _print_lines(console, section.lines)
    console.print()
    for line in page.footer:
        console.print(Text(printable(line)))
    kernel = shlex.quote(printable(run["kernel"]))
    console.print(
        Text(
            f"JSON: kernelindex show {run['external_id']} --json\n\n"
            f"Try next:\n  kernelindex compare {run['external_id']}\n  kernelindex top --kernel {kernel}",
            style="dim",
        ),
        soft_wrap=True,
    )


def _print_lines(console: Console, lines: list[Line]) -> None:
    """Print lines: values under each other, sentences as such, and the manifest as it is, for copying."""
    for is_labelled, alike in groupby(lines, lambda line: line.label not in ("", MANIFEST)):
        if is_labelled:
            print_pairs(console, alike)
            continue
        for label, value in alike:
            for text in [label, *value.splitlines()] if label else [value]:
                console.print(Text(printable(text)), soft_wrap=bool(label))


def show_comparison(console: Console, comparison: Comparison, group: str) -> None:
    """Print two runs beside each other, and what is between them."""
    run, other = comparison.run, comparison.other
    ratio, difference = comparison.latency_ratio, comparison.sol_score_difference
    between = {
        "latency": "" if ratio is None else f"{fixed(ratio, 2)}×",
        "SOL": "" if difference is None else f"{'+' if difference > 0 else ''}{fixed(difference, 4)}",
        "observed": {"run": "newer", "other": "older", None: ""}[comparison.newer],
    }
    ones, others = _side(run), _side(other)
    print_table(
        console,
        group,
        [
            Column(""),
            *(Column(f"submission {side.external_id}", folds=True) for side in (run, other)),
            Column(""),
        ],
        [[name, ones[name], others[name], between.get(name, "")] for name in ones],
    )
    console.print(Text(f"SOL: {SOL_SCORE}", style="dim"))


def _side(side: Side) -> dict[str, str]:
    def shown(value: Any, form: Callable[[Any], str] = str) -> str:
        return UNKNOWN if value is None else form(value)

    return {
        "project": side.project,
        "rank": shown(side.rank) if side.rank else f"none: {', '.join(side.reasons)}",
        "latency": shown(side.primary_value, latency),
        "SOL": shown(side.sol_score, lambda score: fixed(score, 4)),
        "observed": shown(side.observed_at, day),
        "flags": ", ".join(side.flags) or "none",
        "digest": f"{side.run_digest[:23]}…",
    }
