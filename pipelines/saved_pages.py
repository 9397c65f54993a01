"""Saved pages at the command: taking them in, verifying run pages, and showing what became of each.

What pages say belongs in `assets.leaderboard`, what they come to in `assets.manifests`, whether they agree
with what we hold in `assets.rankings.run_pages`.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assets.leaderboard.inbox import InboxError, SavedPage, fault, kind_of, read_file, take_in
from assets.leaderboard.records import Unreadable
from assets.leaderboard.run_page import read_run_page
from assets.rankings.run_pages import Verification, verify
from pipelines.terminal import printable
from warehouse.home import Home

_STATES = """
select
    page_digest,
    state,
    waits_for,
    case_runs,
    list_concat(
        (
            select list('quarantined: ' || item || ': ' || problem order by item)
            from quarantine
            where quarantine.page_digest = saved_pages.page_digest
        ),
        (
            select list('differs: ' || field || ' is ' || page_value || ', by the API ' || api_value
                order by field)
            from page_disagreements
            where page_disagreements.page_digest = saved_pages.page_digest
        ),
        (
            select list(
                'differs: ' || field || ' is ' || page_value || ', here ' || coalesce(our_value, 'nothing')
                order by field
            )
            from run_page_checks
            where run_page_checks.page_digest = saved_pages.page_digest and verdict = 'differs'
        )
    ) as problems
from saved_pages
"""
_STYLES = {"agrees": "green", "differs": "bold red", "explained": "yellow"}


@dataclass(frozen=True)
class Verified:
    """What became of one file: a verification, or the problem that it can't be read."""

    file: str
    verification: Verification | None
    problem: str | None = None


def take_in_files(
    home: Home, files: Iterable[Path], may_be_private: bool
) -> tuple[dict[Path, SavedPage], list[str]]:
    """Take files in, each on its own: the pages by file, and the problems of those that can't be read."""
    pages, problems = {}, []
    for file in files:
        try:
            pages[file] = take_in(home, file, may_be_private)
        except InboxError as problem:
            problems.append(str(problem))
    return pages, problems


def show_taken_in(console: Console, home: Home, pages: dict[Path, SavedPage]) -> bool:
    """Print what became of each page, as the warehouse has it; False where one could not be used."""
    states = {}
    if home.warehouse.exists():
        with duckdb.connect(home.warehouse, read_only=True) as warehouse:
            states = {digest: state for digest, *state in warehouse.execute(_STATES).fetchall()}
    good = True
    for file, page in pages.items():
        _print(console, f"{printable(file.name)}: {_what(page)}")
        if page.page_digest not in states:
            problem = page.details["problem"]
            good = good and not problem
            _print(console, f"    {problem or 'waits for `kernelindex ingest`'}")
            continue
        state, waits_for, case_runs, problems = states[page.page_digest]
        good = good and state not in ("quarantined", "private")
        runs = f", {case_runs} case runs" if page.details["kind"] == "submission" else ""
        waits = f" for the {waits_for} to be ingested" if waits_for else ""
        _print(console, f"    {state}{waits}{runs}")
        for problem in problems or ():
            _print(console, f"    {printable(problem)}")
    return good


def verify_files(warehouse: duckdb.DuckDBPyConnection, files: Iterable[Path]) -> list[Verified]:
    """Verify run pages against the published warehouse, each file on its own."""
    verified = []
    for file in files:
        try:
            text = read_file(file)
            if kind_of(text) == "submission":
                raise Unreadable("it is a page of a submission; `kernelindex read` takes those")
            verified.append(Verified(str(file), verify(warehouse, read_run_page(text))))
        except (Unreadable, InboxError) as problem:
            verified.append(Verified(str(file), None, str(problem)))
        except duckdb.IOException:
            raise  # The warehouse is damaged, not the page.
        except Exception as error:  # Whatever it is, it costs this page, and no other.
            verified.append(Verified(str(file), None, fault(error)))
    return verified


def show_verified(console: Console, verified: Iterable[Verified]) -> None:
    """Print each page's facts beside ours."""
    for page in verified:
        if page.verification is None:
            _print(console, f"{printable(page.file)}: can't be verified: {printable(page.problem or '')}")
            continue
        table = Table(title=Text(printable(page.file)), title_justify="left")
        for name in ("fact", "the page", "here", ""):
            table.add_column(name, overflow="fold")
        for check in page.verification.checks:
            verdict = Text(check.verdict, style=_STYLES[check.verdict])
            # Pages hold anything: as Text it is never markup.
            cells = [check.field, check.page_value, check.our_value or "nothing"]
            table.add_row(*(Text(printable(cell)) for cell in cells), verdict)
        console.print(table)
        for check in page.verification.checks:
            if check.verdict != "agrees" and check.note:
                _print(console, f"  {check.field}: {printable(check.note)}")
        differing = [check.field for check in page.verification.checks if check.verdict == "differs"]
        _print(console, f"  {'differs in ' + ', '.join(differing) if differing else 'agrees'}")


def as_json(verified: Iterable[Verified]) -> str:
    """The same for scripts."""
    return json.dumps(
        [
            {
                "file": page.file,
                "verdict": verdict_of(page),
                "problem": page.problem,
                "run_digest": page.verification and page.verification.run_digest,
                "facts": [check._asdict() for check in page.verification.checks] if page.verification else [],
            }
            for page in verified
        ],
        indent=2,
    )


def verdict_of(page: Verified) -> str:
    """Agrees, differs or unreadable."""
    if page.verification is None:
        return "unreadable"
    return "agrees" if page.verification.agrees else "differs"


def _what(page: SavedPage) -> str:
    details = page.details
    match details["kind"]:
        case "submission" if details["submission_id"]:
            return f"submission {details['submission_id']} of {printable(details['kernel'])}"
        case "submission":
            return "a submission page"
        case "run":
            return "a KernelIndex run page"
        case _:
            return "neither a submission page nor a run page"


def _print(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
