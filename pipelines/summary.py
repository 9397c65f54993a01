"""What `kernelindex ingest` ends with: what was fetched and made, who leads, and what to try next."""

import shlex
import sys
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assets.leaderboard.pages import Tally
from pipelines.run import Outcome
from pipelines.terminal import printable
from warehouse.home import Home

LEADERS = """
select project, count(*) filter (rank = 1) as leads, count(*) filter (rank <= 3) as podiums, count(*) as runs
from leaderboard
group by project
order by leads desc, podiums desc, runs desc, project
limit 10
"""


def show_summary(console: Console, home: Home, outcome: Outcome) -> None:
    """Print what the warehouse holds after a run."""
    with duckdb.connect(home.warehouse, read_only=True) as warehouse:
        leaders = warehouse.execute(LEADERS).fetchall()
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
        (not_runs,) = warehouse.execute(
            "select count(*) from source_submissions where outcome not in ('run', 'QUARANTINED')"
        ).fetchall()[0]

    table = Table(title="Leaders", caption=f"of {rows['comparison_groups']} comparison groups")
    table.add_column("project")
    for name in ("leads", "podiums", "runs"):
        table.add_column(name, justify="right")
    for project, *numbers in leaders:
        # Names hold anything: as Text they are never markup.
        table.add_row(Text(printable(project)), *map(str, numbers))
    console.print(table)

    changed = ", ".join(outcome.changed_tables) or "nothing: all was there before"
    for what, value in {
        "fetched": f"{outcome.pages} pages of {outcome.kernels} kernels",
        **({"asked": _in_words(outcome.asked)} if outcome.asked.requests else {}),
        "changed": changed,
        "made": f"{rows['operations']} operations, {rows['runs']} runs",
        "ranked": f"{rows['comparison_groups']} comparison groups, {rows['record_events']} record events",
        "excluded": f"{not_runs} submissions, {rows['exclusions']} runs",
        "quarantined": f"{rows['quarantine']} items",
        "warehouse": str(home.warehouse),
        "Dagster run": outcome.run_id,
    }.items():
        console.print(f"{what:>12}  {value}", markup=False, highlight=False, soft_wrap=True)
    command, where = Path(sys.executable).with_name("kernelindex"), shlex.quote(str(home.directory))
    console.print(
        "\nTry next:\n"
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
