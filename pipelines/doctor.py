"""`kernelindex doctor`: what is installed, where everything is, how fresh it is, what is wrong, what to do.

What damage is belongs in `damage`. Nothing is changed here, so a home on a disk that is read only is examined
too.
"""

import os
import platform
import shutil
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import dagster as dg
import duckdb
from rich.console import Console
from rich.filesize import decimal as in_units
from rich.text import Text

from assets.rankings.entries import entries_set_aside
from pipelines.damage import REBUILD, damage_to
from pipelines.instance import dagster_home, dead_runs, instance_there, is_held, is_own
from pipelines.left_out import left_out
from pipelines.own_runs import home_tag
from pipelines.terminal import as_json
from warehouse.build import is_current
from warehouse.files import left_behind
from warehouse.home import VERSION, Home

_INSTALLED = ("kernelindex-pipeline", "dagster", "duckdb", "pyarrow")
_KEPT = ("snapshots", "parts", "inbox", "tables", "dagster", "warehouse.duckdb")
_FRESH_FOR = timedelta(days=10)
_NEWER = (
    "`kernelindex ingest --source live` brings newer ones; the sample that ships with the project has none"
)
_INGEST = "run `kernelindex ingest`, or name another home, with --home or KERNELINDEX_HOME"
_LOOK_AGAIN = "look at that entry again: until it is changed or can count, it does nothing"
_CLEARED = "nothing: the next `kernelindex ingest` or `kernelindex rebuild` clears that away"


@dataclass(frozen=True)
class Finding:
    """Something that a person should know, and what to do; not all of it is wrong."""

    problem: str
    next_step: str
    is_wrong: bool = True


@dataclass(frozen=True)
class LastRun:
    """The run of Dagster's that began last."""

    run_id: str
    job: str
    status: str
    ended_at: datetime | None


@dataclass(frozen=True)
class Report:
    """All that the doctor says of a home; sizes by directory, times UTC."""

    installed: dict[str, str]
    home: str
    home_version: int
    size_bytes: dict[str, int]
    free_bytes: int
    newest_page: datetime | None
    last_run: LastRun | None
    findings: list[Finding]

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong."""
        return not any(finding.is_wrong for finding in self.findings)

    def as_json(self) -> str:
        """For scripts."""
        return as_json(asdict(self))


def examine(home: Home) -> Report:
    """Look at all of a home; every file that is kept in it is read."""
    last_run = None
    sizes = {name: _size_bytes(home.directory / name) for name in _KEPT}
    free_bytes = _free_bytes(home.directory)
    findings = [Finding(f"{it.path}: {it.problem}", it.next_step) for it in damage_to(home)]
    newest_page, of_warehouse = _published(home)
    findings += of_warehouse
    if home.dagster.exists() or not is_own(home):
        last_run, of_runs = _runs(home)
        findings += of_runs
    if unfinished := sum(1 for _ in left_behind(home.directory)):
        problem = f"{unfinished} files were being written when their process was killed"
        findings.append(Finding(problem, _CLEARED, is_wrong=False))
    needed_bytes = 2 * (sizes["tables"] + sizes["warehouse.duckdb"])
    if free_bytes < needed_bytes:
        problem = f"{in_units(free_bytes)} are free, and writing tables and warehouse anew takes that or more"
        findings.append(Finding(problem, "make room on the disk"))
    return Report(
        installed={"python": platform.python_version(), **{name: version(name) for name in _INSTALLED}},
        home=str(home.directory),
        home_version=home.version,
        size_bytes=sizes,
        free_bytes=free_bytes,
        newest_page=newest_page,
        last_run=last_run,
        findings=findings,
    )


def show(console: Console, report: Report) -> None:
    """Print a report for people."""

    def say(text: str = "") -> None:
        console.print(Text(text), soft_wrap=True)

    say(", ".join(f"{name} {installed}" for name, installed in report.installed.items()))
    say(f"\n{report.home}, {in_units(report.free_bytes)} free")
    for name, size_bytes in report.size_bytes.items():
        say(f"{name:>18}  {in_units(size_bytes):>10}")
    newest = report.newest_page
    say(f"\n       newest page  {f'{newest:%Y-%m-%d %H:%M} UTC' if newest else 'none'}")
    run = report.last_run
    ended = f", ended {run.ended_at:%Y-%m-%d %H:%M} UTC" if run and run.ended_at else ""
    say(f"          last run  {f'{run.job}: {run.status}{ended} ({run.run_id})' if run else 'none'}\n")
    for finding in report.findings:
        say(f"{'wrong' if finding.is_wrong else 'to see':>6}  {finding.problem}")
        say(f"        {finding.next_step}")
    if report.is_well:
        say("all is well")


def _published(home: Home) -> tuple[datetime | None, list[Finding]]:
    """When the newest page of the warehouse came, and what is to say of what it holds."""
    if not home.warehouse.exists():
        next_step = REBUILD if home.kernel_listing.exists() else _INGEST
        return None, [Finding(f"{home.warehouse} is not there", next_step)]
    try:
        with duckdb.connect(home.warehouse, read_only=True) as warehouse:
            ((newest_page, quarantined),) = warehouse.execute(
                "select max(fetched_at), (select count(*) from quarantine) from pages"
            ).fetchall()
            unread = _unread(warehouse)
        findings = [Finding(problem, _LOOK_AGAIN) for problem in entries_set_aside(home)]
    except duckdb.Error:
        return None, []  # It is damaged, which is said already.
    if home.version < VERSION or not is_current(home):
        problem = "the warehouse was made by another version of this project, or of other tables"
        findings.append(Finding(problem, REBUILD))
    else:
        with duckdb.connect(home.warehouse, read_only=True) as warehouse:
            findings += [Finding(*said, is_wrong=False) for said in left_out(warehouse)]
    if unread:
        problem = f"{unread} submissions can't be read any more: what could be read of them last stays"
        next_step = "look at them: `from source_submissions where unread_page_digest is not null`"
        findings.append(Finding(problem, next_step, is_wrong=False))
    if quarantined:
        problem = f"{quarantined} items are in quarantine"
        findings.append(
            Finding(problem, "look at them: `from quarantine` names each, and why", is_wrong=False)
        )
    if newest_page and datetime.now(UTC) - newest_page > _FRESH_FOR:
        problem = f"the newest page is older than {_FRESH_FOR.days} days"
        findings.append(Finding(problem, _NEWER, is_wrong=False))
    return newest_page, findings


def _unread(warehouse: duckdb.DuckDBPyConnection) -> int:
    try:
        unread = warehouse.execute("select count(unread_page_digest) from source_submissions").fetchall()
        return int(unread[0][0])
    except duckdb.BinderException:
        return 0  # Another version of this project built it, which is a finding of its own.


def _runs(home: Home) -> tuple[LastRun | None, list[Finding]]:
    """The home's last run in Dagster, and what is to say of those that are dead or failed."""
    dagster = dagster_home(home)
    if not os.access(dagster, os.W_OK):
        problem = "the home can only be read here: Dagster's runs are not looked at"
        return None, [Finding(problem, "nothing, if you only want to read", is_wrong=False)]
    try:
        with instance_there(home) as instance:
            records = instance.get_run_records(dg.RunsFilter(tags=home_tag(home.directory)), limit=1)
            dead = [] if is_held(home) else dead_runs(home, instance)
    except Exception as error:  # Whatever it is that SQLite, SQLAlchemy or Dagster raise.
        problem = f"Dagster's runs in {dagster} can't be read ({type(error).__name__}: {error})"
        next_step = "move that directory away: another is made, without the runs so far"
        return None, [Finding(problem, next_step if is_own(home) else "ask who operates that Dagster")]
    findings = []
    if dead:
        problem = f"{len(dead)} runs were under way when their command was killed: {dead[0].run_id}"
        findings.append(Finding(problem, _CLEARED, is_wrong=False))
    if not records:
        return None, findings
    (record,) = records
    run = record.dagster_run
    ended_at = datetime.fromtimestamp(record.end_time, UTC) if record.end_time else None
    if run.status == dg.DagsterRunStatus.FAILURE:
        problem = f"the last run failed: {run.job_name} {run.run_id}"
        findings.append(Finding(problem, "`kernelindex ui` shows why; mend that, and run it again"))
    return LastRun(run.run_id, run.job_name, run.status.value, ended_at), findings


def _size_bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if file.is_file())


def _free_bytes(directory: Path) -> int:
    there = next(path for path in [directory, *directory.parents] if path.exists())
    return shutil.disk_usage(there).free
