"""What `kernelindex ingest` ends with: what was fetched and made, who leads, and what to try next."""

import shlex
import sys
from pathlib import Path

import duckdb
from rich.console import Console
from rich.text import Text

from assets.leaderboard.pages import Tally
from pipelines.answers import Answer, show_answer, standings
from pipelines.left_out import left_out
from pipelines.run import Outcome
from pipelines.terminal import printable
from warehouse.home import Home

# Of `answers.STANDINGS` what a first look needs.
LEADERS = ("project", "groups", "firsts", "contested_firsts", "uncontested_firsts", "podiums")
_SHOWN = 10


def show_summary(console: Console, home: Home, outcome: Outcome) -> None:
    """Print what the warehouse holds after a run."""
    with duckdb.connect(home.warehouse, read_only=True) as warehouse:
        leaders = standings(warehouse)
        newest = warehouse.execute("select stack, groups from stacks where is_newest").fetchall()
        rows = {
            name: warehouse.table(name).count("*").fetchall()[0][0]
            for name in (
                "operations",
                "runs",
                "comparison_groups",
                "record_events",
                "quarantine",
                "exclusions",
            )
        }
        not_runs, unread = warehouse.execute(
            "select count(*) filter (outcome not in ('run', 'QUARANTINED')), count(unread_page_digest) "
            "from source_submissions"
        ).fetchall()[0]
        notes = left_out(warehouse)

    for stack, groups in newest:
        console.print(Text(printable(f"Leaders of the {groups} comparison groups on {stack}"), style="bold"))
        show_answer(console, Answer(leaders.rows[:_SHOWN]), LEADERS, _SHOWN)
        console.print()
    changed = ", ".join(outcome.changed_tables) or "nothing: all was there before"
    for what, value in {
        "fetched": f"{outcome.pages} pages of {outcome.kernels} kernels",
        **({"asked": _in_words(outcome.asked)} if outcome.asked.requests else {}),
        "changed": changed,
        "made": f"{rows['operations']} operations, {rows['runs']} runs",
        "ranked": f"{rows['comparison_groups']} comparison groups, {rows['record_events']} record events",
        "excluded": f"{not_runs} submissions, {rows['exclusions']} runs",
        "quarantined": f"{rows['quarantine']} items"
        + (f"; {unread} of them submissions of which what could be read last stays" if unread else ""),
        **({"left out": printable("; ".join(problem for problem, _ in notes))} if notes else {}),
        "warehouse": str(home.warehouse),
        "Dagster run": outcome.run_id,
    }.items():
        console.print(f"{what:>12}  {value}", markup=False, highlight=False, soft_wrap=True)
    command, where = Path(sys.executable).with_name("kernelindex"), shlex.quote(str(home.directory))
    console.print(
        "\nTry next:\n"
        f"  {command} standings --home {where} --all-stacks    (all projects, on each stack by itself)\n"
        f"  {command} top --home {where}    (who leads each comparison group)\n"
        f"  {command} sql --home {where} 'from leaderboard limit 5'\n"
        f"  {command} ui --home {where}     (Dagster's UI: this run, what it made, backfills)",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _in_words(asked: Tally) -> str:
    return (
        f"{asked.requests} requests, {asked.retries} of them retries, {asked.size_bytes / 1e6:.1f} MB; "
        f"pages: {asked.new} new, {asked.changed} changed, {asked.unchanged} unchanged, {asked.failed} failed"
    )
