"""The `kernelindex` command: what a person says, and what it answers. The work is done elsewhere.

Whoever looks something up, or lets the shell complete a word, should not wait for Dagster and Arrow, which
take long to import: so each command imports what it needs.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from rich.text import Text

import warehouse
from pipelines.completion import names_of, runs
from pipelines.disk import FULL, comes_of_full
from pipelines.terminal import as_json as in_json
from pipelines.terminal import console as new_console
from pipelines.terminal import say, screen
from warehouse.home import HomeError

if TYPE_CHECKING:
    import duckdb

    from pipelines.answers import Answer
    from pipelines.settings import Settings
    from warehouse.home import Home as KeptHome

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = new_console()
errors = new_console(stderr=True)

# The parts of `kernelindex --help`.
FETCH, ASK, SHARE, OPERATE = "Fetch and publish", "Look things up", "Hand on", "Operate"

Home = Annotated[Path | None, typer.Option(help="Where everything is kept.", show_default="data")]
AsJson = Annotated[bool, typer.Option("--json", help="For scripts.")]
Run = Annotated[
    str,
    typer.Argument(help="A submission's id, or a run's digest or the start of it.", autocompletion=runs),
]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Publish, though most rows of a table are gone.")
]
Format = Literal["table", "csv", "json", "markdown", "parquet"]


def _name(what: str, help_: str) -> Any:
    return typer.Option(help=help_, autocompletion=names_of(what), metavar="NAME", show_default=False)


Kernel = Annotated[str | None, _name("kernel", "Of this kernel alone, or of those with this in their names.")]
Stack = Annotated[str | None, _name("stack", "On this evaluation stack alone, as v1.0; else on the newest.")]
AllStacks = Annotated[bool, typer.Option("--all-stacks", help="On all stacks, each by itself.")]
Family = Annotated[
    str | None, _name("family", "Of this family alone: a kernel's first tag that says what it computes.")
]
Tag = Annotated[str | None, _name("tag", "Of kernels with this tag alone, as attention.")]
Project = Annotated[str | None, _name("project", "By this account alone, or those with this in their names.")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Rows, at most.", show_default="20; as JSON, all", metavar="N")
]


def _live(help_: str, default: str | bool = False) -> Any:
    return typer.Option(help=help_, rich_help_panel="Fetching live", show_default=default)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(version("kernelindex-pipeline"))
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version, and end."),
    ] = False,
) -> None:
    """The SOL-ExecBench leaderboard as manifests, runs and ranks in a DuckDB warehouse.

    \b
    kernelindex ingest                      first: the sample that ships with the project
    kernelindex top                         then: who leads each comparison group
    kernelindex top --help                  examples of each command
    """


@app.command(rich_help_panel=FETCH)
def ingest(
    source: Annotated[
        str | None,
        typer.Option(help="recorded, a directory of saved answers, or live.", show_default="recorded"),
    ] = None,
    home: Home = None,
    accept_loss: AcceptLoss = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many requests it would make, and make none.")
    ] = False,
    accept_terms: Annotated[bool | None, _live("The operator's consent to fetch live.")] = None,
    incremental: Annotated[bool | None, _live("Ask for what is new, not for all pages.")] = None,
    max_requests: Annotated[int | None, _live("Requests a run, at most.", "3000")] = None,
    request_interval_s: Annotated[float | None, _live("Pause between requests to a host.", "1")] = None,
    base_url: Annotated[str | None, _live("Another server of the same API.")] = None,
    allowed_hosts: Annotated[str | None, _live("Hosts to fetch from.", "the API's")] = None,
    allow_private_hosts: Annotated[bool | None, _live("Private addresses and plain HTTP too.")] = None,
    contact: Annotated[str | None, _live("Whom the User-Agent names, as a URL.")] = None,
) -> None:
    """Fetch, read, normalise, rank and publish, as one Dagster run.

    Ends with what was fetched, made, excluded and quarantined, and who leads. Exits with 1 where it failed.

    \b
    kernelindex ingest                                 the sample that ships with the project
    kernelindex ingest --source DIRECTORY              saved answers
    kernelindex ingest --source live --dry-run         what fetching live would cost
    """
    settings = _settings(
        source=source,
        home=home,
        accept_loss=accept_loss or None,
        accept_terms=accept_terms,
        incremental=incremental,
        max_requests=max_requests,
        request_interval_s=request_interval_s,
        base_url=base_url,
        allowed_hosts=allowed_hosts,
        allow_private_hosts=allow_private_hosts,
        contact=contact,
    )
    if dry_run:
        say(_forecast_in_words(settings))
        return
    if settings.source == "live" and not settings.may_fetch_live():
        _ask_for_consent(settings)
    _show_progress()
    from assets.leaderboard.records import Unreadable
    from assets.leaderboard.sources import SourceError
    from pipelines.instance import Busy, open_instance
    from pipelines.run import Failed, run_ingest
    from pipelines.summary import show_summary
    from warehouse.parts import PartError

    with open_instance(settings.kept()) as instance:
        try:
            outcome = run_ingest(settings, instance)
        except (SourceError, Unreadable, PartError, Busy, Failed) as problem:
            _fail(str(problem))
    show_summary(console, settings.kept(), outcome)
    _say_set_aside(settings.kept())
    if outcome.stopped:
        left = outcome.kernels_not_reached
        _fail(f"fetching ended early, before {left} kernels were reached: {outcome.stopped}")
    if outcome.failed_kernels:
        _fail(f"{len(outcome.failed_kernels)} kernels failed: {'; '.join(outcome.failed_kernels[:5])}")


@app.command(rich_help_panel=FETCH)
def rebuild(home: Home = None, accept_loss: AcceptLoss = False) -> None:
    """Make anew, of the pages that are kept, all that is missing, damaged or of an older version.

    It fetches nothing. Exits with 1 where it failed, or where something is damaged that no page can mend.

    \b
    kernelindex rebuild
    """
    settings = _settings(home=home, accept_loss=accept_loss or None)
    _show_progress()
    from pipelines.damage import damage_to
    from pipelines.instance import Busy, open_instance
    from pipelines.run import Failed, run_rebuild
    from warehouse.parts import PartError

    with open_instance(settings.kept()) as instance:
        try:
            made = run_rebuild(settings, instance)
        except (PartError, Busy, Failed) as problem:
            _fail(str(problem))
    _say_set_aside(settings.kept())
    left = list(damage_to(settings.kept()))
    shown = [*made[:5], *([f"and {len(made) - 5} more"] if len(made) > 5 else [])]
    say(f"made anew: {', '.join(shown) or ('nothing' if left else 'nothing: all was whole')}")
    for damage in left:
        _complain(f"{damage.path}: {damage.problem}; {damage.next_step}")
    if left:
        raise typer.Exit(1)


@app.command(rich_help_panel=FETCH)
def read(
    files: Annotated[list[Path], typer.Argument(help="Pages that a browser saved.", metavar="FILE...")],
    private: Annotated[bool, typer.Option("--private", help="Submissions that are not public too.")] = False,
    home: Home = None,
) -> None:
    """Take in saved pages: submission pages become runs on workload cases, run pages are verified.

    Files are kept by what is in them and left where they are. Exits with 1 where one could not be used.

    \b
    kernelindex read submission-47128.html
    """
    kept = _settings(home=home).kept()
    from pipelines.saved_pages import show_taken_in, take_in_files

    pages, problems = take_in_files(kept, files, private)
    if pages and kept.warehouse.exists():
        _show_progress()
        from pipelines.instance import Busy, open_instance
        from pipelines.run import Failed, run_saved_pages

        with open_instance(kept) as instance:
            try:
                run_saved_pages(_settings(home=home), instance)
            except (Busy, Failed) as problem:
                _fail(f"the pages are kept, and the next run reads them; but {problem}")
        _say_set_aside(kept)
    good = show_taken_in(console, kept, pages)
    for sentence in problems:
        _complain(sentence)
    if problems or not good:
        raise typer.Exit(1)


@app.command(name="verify", rich_help_panel=FETCH)
def verify_pages(
    files: Annotated[list[Path], typer.Argument(help="KernelIndex's run pages, saved.", metavar="FILE...")],
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Say, fact by fact, whether the warehouse agrees with KernelIndex's pages of runs.

    Exits with 0 where all agree, 1 where something differs, 2 where a page can't be read.

    \b
    kernelindex verify run-3268.html
    """
    from pipelines import saved_pages

    with _asking(home, code=2) as connection:
        verified = saved_pages.verify_files(connection, files)
    if as_json:
        say(saved_pages.as_json(verified))
    else:
        saved_pages.show_verified(console, verified)
    verdicts = {saved_pages.verdict_of(page) for page in verified}
    raise typer.Exit(2 if "unreadable" in verdicts else 1 if "differs" in verdicts else 0)


@app.command(rich_help_panel=ASK)
def show(run: Run, as_json: AsJson = False, home: Home = None) -> None:
    """Show a run: all that is known of it, as KernelIndex's page of a run shows it, and its manifest.

    \b
    kernelindex show 3268                   by submission
    kernelindex show sha256:1b9cb94e        by the start of its digest
    kernelindex show 47128/0416d9afc0c1     on one workload case, of a saved page
    kernelindex show 3268 --json
    """
    from pipelines.show import find, for_scripts, run_of, show_run

    with _asking(home) as connection:
        found = run_of(connection, find(connection, run))
    if as_json:
        say(in_json(for_scripts(found)))
    else:
        show_run(screen(), found)


@app.command(rich_help_panel=ASK)
def compare(
    run: Run,
    other: Annotated[
        str | None,
        typer.Argument(help="Another run of its group.", show_default="#1 of its group", autocompletion=runs),
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Compare a run with #1 of its comparison group (#1 with the next best), or with another run of it.

    Runs that measure different work, under different protocols or on different hardware are refused.

    \b
    kernelindex compare 26346               with #1
    kernelindex compare 26346 19945
    """
    from dataclasses import asdict

    from assets.rankings import compare as comparing
    from pipelines.show import find, group_of, show_comparison

    with _asking(home) as connection:
        one, another = find(connection, run), find(connection, other) if other else None
        try:
            comparison = comparing.compare(connection, one, another)
        except comparing.NotComparable as problem:
            _fail(str(problem))
        group = group_of(connection, one)
    if as_json:
        say(in_json(asdict(comparison)))
    else:
        show_comparison(screen(), comparison, group)
        if other is None and comparison.run.rank == 1:
            say("It is #1 of its group itself: beside it stands the best of the others.")


@app.command(rich_help_panel=ASK)
def top(
    kernel: Kernel = None,
    stack: Stack = None,
    all_stacks: AllStacks = False,
    family: Family = None,
    tag: Tag = None,
    project: Project = None,
    limit: Limit = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Say who is ahead: a kernel's ranking or, without one kernel, the best run of each comparison group.

    Names are found by a part of them too, in any case. Ranks are by latency, inside one comparison group;
    groups stand in the order of rank, then SOL score (0.5 is the scoring baseline, 1 the speed-of-light
    bound). × best is the latency over that of #1. Flags are what is not plausible of a run.

    \b
    kernelindex top --kernel 003_grouped_query_attention_with_rope_backward
    kernelindex top --kernel rmsnorm        who leads each kernel with that in its name
    kernelindex top --tag rope              who leads each kernel with a tag
    kernelindex top --project doubleai      an account's best run in each group
    """
    from pipelines import answers

    with _asking(home) as connection:
        answer = answers.top(
            connection,
            kernel=kernel,
            stack=stack,
            all_stacks=all_stacks,
            family=family,
            tag=tag,
            project=project,
        )
    _show_answer(answer, answers.TOP, limit, as_json)


@app.command(rich_help_panel=ASK)
def records(
    kernel: Kernel = None,
    stack: Stack = None,
    all_stacks: AllStacks = False,
    family: Family = None,
    tag: Tag = None,
    project: Project = None,
    limit: Limit = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Say who holds the record of each comparison group, and since when; the newest first.

    \b
    kernelindex records --limit 10
    kernelindex records --project doubleAI --json
    """
    from pipelines import answers

    with _asking(home) as connection:
        answer = answers.records(
            connection,
            kernel=kernel,
            stack=stack,
            all_stacks=all_stacks,
            family=family,
            tag=tag,
            project=project,
        )
    _show_answer(answer, answers.RECORDS, limit, as_json)


@app.command(rich_help_panel=ASK)
def standings(
    stack: Stack = None,
    all_stacks: AllStacks = False,
    family: Family = None,
    limit: Limit = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Say how projects stand: groups they are ranked in, how often first, how near to the bounds.

    Each counts by its best run in a group, and nothing is added up over two stacks. A first is contested
    where another project is ranked too. Gap is how much of the way from the baseline to the bound is closed.

    \b
    kernelindex standings                   on the newest stack
    kernelindex standings --stack v1.0
    kernelindex standings --family rope
    """
    from pipelines import answers

    with _asking(home) as connection:
        answer = answers.standings(connection, family=family, stack=stack, all_stacks=all_stacks)
    _show_answer(answer, answers.STANDINGS, limit, as_json)


@app.command(name="list", rich_help_panel=ASK)
def list_(
    what: Annotated[
        Literal["kernels", "open-kernels", "families", "tags", "projects"],
        typer.Argument(
            help="What to list; open kernels are those on which nobody is ranked.", metavar="WHAT"
        ),
    ],
    kernel: Kernel = None,
    stack: Stack = None,
    all_stacks: AllStacks = False,
    family: Family = None,
    tag: Tag = None,
    limit: Limit = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """List the names that there are: kernels, open-kernels, families, tags or projects.

    Open kernels are those on which nobody is ranked yet. Options narrow it down to some kernels.

    \b
    kernelindex list tags
    kernelindex list open-kernels           nobody is ranked there yet
    kernelindex list kernels --tag rope
    """
    from pipelines import answers

    with _asking(home) as connection:
        answer = answers.listed(
            connection, what, kernel=kernel, stack=stack, all_stacks=all_stacks, family=family, tag=tag
        )
    _show_answer(answer, answers.LISTED[what], limit, as_json)


@app.command(rich_help_panel=ASK)
def sql(
    statements: Annotated[
        str | None, typer.Argument(help="In DuckDB's SQL; - reads them from standard input.", metavar="SQL")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Read them from a file; - is standard input.")] = None,
    format_: Annotated[Format, typer.Option("--format", help="All but tables are for scripts.")] = "table",
    home: Home = None,
) -> None:
    """Ask the warehouse in SQL. Nothing can be changed, and no other file be read or written.

    Of several statements, the last one's result is shown. Try `show tables` and `describe leaderboard`.
    CSV holds the data as it is; for spreadsheets, in which names could be formulas, there is `export`.

    \b
    kernelindex sql "select kernel, stack, project, latency_ms from leaderboard where rank = 1 limit 5"
    kernelindex sql --file question.sql --format csv > answer.csv
    kernelindex sql "from runs" --format parquet > runs.parquet
    """
    text = _statements(statements, file)
    if format_ == "parquet" and sys.stdout.isatty():
        _fail("Parquet is not for a terminal: send it to a file, as `kernelindex sql … > answer.parquet`")
    import duckdb

    from pipelines import sql as asking

    with _asking(home, asking.sealed) as connection:
        try:
            result = asking.answer(connection, text)
            if format_ == "table":
                asking.show_result(screen(), result)
                return
            content = asking.written(result, format_)
        except duckdb.Error as problem:
            _fail(str(problem))
        except RecursionError:
            _fail(f"the answer is nested too deep for {format_}: --format csv writes it as text")
    if sys.stdout.isatty():
        say(content.decode().removesuffix("\n"))
    else:
        rest = memoryview(content)
        while rest:  # Without a buffer, as in many a container, not all is written at once.
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.flush()


@app.command(rich_help_panel=SHARE)
def export(
    directory: Annotated[Path, typer.Argument(help="Where to: new, empty, or an earlier export's.")],
    form: Annotated[
        Literal["csv", "parquet", "jsonl", "json", "yaml", "catalog"],
        typer.Option(
            "--format",
            help="Tables as csv, parquet or jsonl; manifests as json or yaml; or KernelIndex's catalog.",
        ),
    ] = "csv",
    table: Annotated[
        list[str] | None, typer.Option(help="Only this table or view; can be given several times.")
    ] = None,
    home: Home = None,
) -> None:
    """Write the warehouse as files that other tools read: spreadsheets, data frames, KernelIndex's.

    The directory is replaced as a whole, and only if nothing but an export is in it. Says what it wrote.

    \b
    kernelindex export for-sheets
    kernelindex export tables --format parquet --table rankings --table runs
    kernelindex export catalog --format catalog
    """
    kept = _settings(home=home).kept()
    from warehouse import WarehouseError, exports

    try:
        written = exports.export(directory, form, table or (), kept.directory)
    except (exports.ExportError, WarehouseError) as problem:
        _fail(str(problem))
    for name, count in written.items():
        say(f"{count:>9,}  {name}")
    say(f"{sum(written.values()):>9,}  in {directory}")


@app.command(rich_help_panel=SHARE)
def site(
    directory: Annotated[
        Path | None, typer.Argument(help="Where to: new, or an earlier site's.", show_default="data/site")
    ] = None,
    home: Home = None,
) -> None:
    """Write the warehouse as pages that a browser opens from disk: groups, kernels, runs and projects.

    The directory is replaced as a whole, and only if it holds a site. Says how many pages, and which to open.

    \b
    kernelindex site
    kernelindex site public
    """
    kept = _settings(home=home).kept()
    from warehouse.site.build import SiteError, write_site

    with _asking(kept.directory) as connection:
        try:
            written = write_site(connection, directory or kept.directory / "site")
        except SiteError as problem:
            _fail(str(problem))
    for kind, count in written.pages.items():
        say(f"{count:>9,}  {kind} page{'' if count == 1 else 's'}")
    say(f"Open {written.index}")


@app.command(rich_help_panel=OPERATE)
def doctor(as_json: AsJson = False, home: Home = None) -> None:
    """Say what is installed, where everything is, how fresh it is, what is wrong, and what to do about it.

    Reads every file that is kept, and changes none. Exits with 1 where something is wrong.

    \b
    kernelindex doctor
    kernelindex doctor --json
    """
    kept = _settings(home=home).kept()
    from pipelines.doctor import examine, show

    report = examine(kept)
    if as_json:
        say(report.as_json())
    else:
        show(console, report)
    raise typer.Exit(0 if report.is_well else 1)


@app.command(rich_help_panel=OPERATE)
def ui(
    home: Home = None,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Where it listens, on this machine only.", metavar="N")
    ] = 3000,
) -> None:
    """Open Dagster's UI, with its daemon, on the same home.

    \b
    kernelindex ui --port 3001
    """
    kept = _settings(home=home).kept()
    from pipelines.ui import NotOpened, become_ui

    try:
        become_ui(kept, port)
    except NotOpened as problem:
        _fail(str(problem))


@contextmanager
def _asking(
    home: Path | None,
    connect: Callable[[Path | None], "duckdb.DuckDBPyConnection"] = warehouse.connect,
    code: int = 1,
) -> Iterator["duckdb.DuckDBPyConnection"]:
    """The warehouse, to ask it; what can't be answered ends the command with a sentence and this code."""
    import duckdb

    from pipelines.answers import NoAnswer

    try:
        with connect(home) as connection:
            yield connection
    except (warehouse.WarehouseError, NoAnswer) as problem:
        _fail(str(problem), code)
    except duckdb.Error as problem:
        why = str(problem).splitlines()[0]
        _fail(f"the warehouse is damaged or of another version: run `kernelindex rebuild` ({why})", code)


def _show_answer(answer: "Answer", columns: Sequence[str], limit: int | None, as_json: bool) -> None:
    from pipelines.answers import show_answer

    if as_json:
        say(in_json(answer.rows[:limit]))
    else:
        show_answer(screen(), answer, columns, limit or 20)


def _statements(given: str | None, file: Path | None) -> str:
    if given and file:
        _fail("SQL is given twice, as words and with --file: leave one of them out")
    if not (given or file):
        _fail('give SQL, as `kernelindex sql "from leaderboard limit 5"`, or a file with --file')
    try:
        if given == "-" or file == Path("-"):
            return sys.stdin.read()
        return file.read_text("utf-8") if file else given or ""
    except OSError as problem:
        _fail(f"{file} can't be read: {problem.strerror}")
    except UnicodeError:
        _fail(f"{file or 'standard input'} can't be read: it is no text in UTF-8")


def _forecast_in_words(settings: "Settings") -> str:
    from assets.leaderboard.forecast import SUBMISSIONS, forecast
    from pipelines.progress import time_in_words

    if settings.source != "live":
        return "It would make no request: only `--source live` makes any."
    home = settings.kept()
    ahead = forecast(
        home,
        settings.base_url,
        incremental=settings.incremental,
        request_interval_s=settings.request_interval_s,
    )
    kernels = f"the {ahead.kernels} kernels that {home.directory} knows of"
    if not ahead.known:
        kernels = f"{ahead.kernels} kernels with {SUBMISSIONS} submissions ({home.directory} knows none yet)"
    done = f" It goes on with a crawl that has {ahead.done} of them already." if ahead.done else ""
    least, most = (time_in_words(requests * ahead.request_s) for requests in (ahead.least, ahead.most))
    return (
        f"{'An incremental' if settings.incremental else 'A full'} crawl of {kernels} would make at least "
        f"{ahead.least} requests, which take about {least}; at most {ahead.most} ({most}), if all listings "
        f"change while they are gone through. What fails is asked for again on top of that, but no run makes "
        f"more than {settings.max_requests} requests.{done} Nothing was asked for now."
    )


def _ask_for_consent(settings: "Settings") -> None:
    """Ask for it once, on a terminal; where there is none to ask on, say how else it is given."""
    from pipelines import consent

    home = settings.kept()
    if not sys.stdin.isatty():
        _fail(consent.REFUSED)
    said = consent.TERMS.format(
        base_url=settings.base_url, interval_s=settings.request_interval_s, home=home.directory
    )
    errors.print(said, markup=False, highlight=False)
    if not typer.confirm("Do you agree?", err=True):
        _fail("nothing was fetched")
    consent.remember(home, settings.base_url)


def _settings(**given: Any) -> "Settings":
    from pydantic import ValidationError

    from assets.leaderboard.records import in_words
    from pipelines.settings import Settings

    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
        settings.kept()
    except ValidationError as problem:
        _fail(f"a setting is wrong: {in_words(problem)}")
    except HomeError as problem:
        _fail(str(problem))
    return settings


def _show_progress() -> None:
    import logging

    from rich.logging import RichHandler

    from pipelines.progress import log

    handler = RichHandler(console=errors, show_path=False, show_level=False)
    log.handlers = [handler]
    log.setLevel(logging.INFO)


def _say_set_aside(home: "KeptHome") -> None:
    """Say which decisions and attestations can't count: somebody has to look at them."""
    from assets.rankings.entries import entries_set_aside

    for sentence in entries_set_aside(home):
        _complain(sentence)


def _fail(sentence: str, code: int = 1) -> NoReturn:
    _complain(sentence)
    raise typer.Exit(code)


def _complain(sentence: str) -> None:
    errors.print(Text(f"kernelindex: {sentence}", style="bold red"), soft_wrap=True)


def run() -> None:
    """The whole command; what any part of it can meet, as a full disk, ends it with a sentence."""
    if sys.stdout is None:  # It was closed by whoever started this.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        app()
    except SystemExit as ended:
        # Whoever read the answer, as `head`, had enough: the code by which shells know that.
        sys.exit(141 if isinstance(ended.__context__, BrokenPipeError) else ended.code)
    except HomeError as problem:
        _complain(str(problem))
        sys.exit(1)
    except Exception as problem:
        # What Python would print of it can hold the source's words too.
        _complain(FULL if comes_of_full(problem) else "".join(traceback.format_exception(problem)))
        sys.exit(1)


if __name__ == "__main__":
    run()
