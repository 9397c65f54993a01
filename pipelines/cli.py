"""The `kernelindex` command: what a person says, and what it answers. The work is done elsewhere."""

import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.logging import RichHandler

from assets.leaderboard.forecast import SUBMISSIONS, forecast
from assets.leaderboard.records import Unreadable, in_words
from assets.leaderboard.sources import SourceError
from pipelines import consent
from pipelines.instance import Busy, open_instance, prepare_instance
from pipelines.progress import log, time_in_words
from pipelines.settings import Settings

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
console = Console()
errors = Console(stderr=True)

Home = Annotated[Path | None, typer.Option(help="Where everything is kept.", show_default="data")]


def _live(help_: str, default: str | bool = False) -> Any:
    return typer.Option(help=help_, rich_help_panel="Fetching live", show_default=default)


@app.callback()
def main() -> None:
    """The SOL-ExecBench leaderboard as manifests, runs and ranks in a DuckDB warehouse."""


@app.command()
def ingest(
    source: Annotated[
        str | None,
        typer.Option(help="recorded, a directory of saved answers, or live.", show_default="recorded"),
    ] = None,
    home: Home = None,
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
    """
    settings = _settings(
        source=source,
        home=home,
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
        typer.echo(_forecast_in_words(settings))
        return
    if settings.source == "live" and not settings.may_fetch_live():
        _ask_for_consent(settings)
    _show_progress()
    with open_instance(settings.kept()) as instance:
        # Dagster and all assets take seconds to import: only who needs them should wait for that.
        from pipelines.run import Failed, run_ingest
        from pipelines.summary import show_summary

        try:
            outcome = run_ingest(settings, instance)
        except (SourceError, Unreadable, Busy, Failed) as problem:
            _fail(str(problem))
    show_summary(console, settings.kept(), outcome)
    if outcome.stopped:
        left = outcome.kernels_not_reached
        _fail(f"fetching ended early, before {left} kernels were reached: {outcome.stopped}")
    if outcome.failed_kernels:
        _fail(f"{len(outcome.failed_kernels)} kernels failed: {'; '.join(outcome.failed_kernels[:5])}")


@app.command()
def read(
    files: Annotated[list[Path], typer.Argument(help="Pages that a browser saved.", metavar="FILE...")],
    private: Annotated[bool, typer.Option("--private", help="Submissions that are not public too.")] = False,
    home: Home = None,
) -> None:
    """Take in saved pages: submission pages become runs on workload cases, run pages are verified.

    Files are kept by what is in them and left where they are. Exits with 1 where one could not be used.
    """
    kept = _settings(home=home).kept()
    from pipelines.saved_pages import show_taken_in, take_in_files

    pages, problems = take_in_files(kept, files, private)
    if pages and kept.warehouse.exists():
        _show_progress()
        with open_instance(kept) as instance:
            from pipelines.run import Failed, run_saved_pages

            try:
                run_saved_pages(_settings(home=home), instance)
            except (Busy, Failed) as problem:
                _fail(f"the pages are kept, and the next run reads them; but {problem}")
    good = show_taken_in(console, kept, pages)
    for sentence in problems:
        errors.print(
            f"kernelindex: {sentence}", style="bold red", markup=False, highlight=False, soft_wrap=True
        )
    if problems or not good:
        raise typer.Exit(1)


@app.command(name="verify")
def verify_pages(
    files: Annotated[list[Path], typer.Argument(help="KernelIndex's run pages, saved.", metavar="FILE...")],
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
    home: Home = None,
) -> None:
    """Say, fact by fact, whether the warehouse agrees with KernelIndex's pages of runs.

    Exits with 0 where all agree, 1 where something differs, 2 where a page can't be read.
    """
    kept = _settings(home=home).kept()
    if not kept.warehouse.exists():
        _fail(f"{kept.warehouse} is not there: run `kernelindex ingest` first", code=2)
    from pipelines import saved_pages

    verified = saved_pages.verify_files(kept, files)
    if as_json:
        typer.echo(saved_pages.as_json(verified))
    else:
        saved_pages.show_verified(console, verified)
    verdicts = {saved_pages.verdict_of(page) for page in verified}
    raise typer.Exit(2 if "unreadable" in verdicts else 1 if "differs" in verdicts else 0)


@app.command()
def ui(
    home: Home = None,
    port: Annotated[int, typer.Option(help="Where it listens, on this machine only.")] = 3000,
) -> None:
    """Open Dagster's UI, with its daemon, on the same home."""
    settings = _settings(home=home)
    prepare_instance(settings.kept())
    command = ["dagster", "dev", "--module-name", "pipelines.definitions"]
    address = ["--host", "127.0.0.1", "--port", str(port)]
    os.execv(sys.executable, [sys.executable, "-m", *command, *address])


def _forecast_in_words(settings: Settings) -> str:
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


def _ask_for_consent(settings: Settings) -> None:
    """Ask for it once, on a terminal; where there is none to ask on, say how else it is given."""
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


def _settings(**given: Any) -> Settings:
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as problem:
        _fail(f"a setting is wrong: {in_words(problem)}")


def _show_progress() -> None:
    handler = RichHandler(console=errors, show_path=False, show_level=False)
    log.handlers = [handler]
    log.setLevel(logging.INFO)


def _fail(sentence: str, code: int = 1) -> NoReturn:
    _complain(sentence)
    raise typer.Exit(code)


def _complain(sentence: str) -> None:
    errors.print(f"kernelindex: {sentence}", style="bold red", markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    app()
