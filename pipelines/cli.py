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

from assets.leaderboard.records import Unreadable, in_words
from assets.leaderboard.sources import SourceError
from pipelines.instance import Busy, open_instance, prepare_instance
from pipelines.progress import log
from pipelines.settings import Settings

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
console = Console()
errors = Console(stderr=True)

Home = Annotated[Path | None, typer.Option(help="Where everything is kept.", show_default="data")]


@app.callback()
def main() -> None:
    """The SOL-ExecBench leaderboard as manifests, runs and ranks in a DuckDB warehouse."""


@app.command()
def ingest(
    source: Annotated[
        str | None,
        typer.Option(help="recorded, or a directory of saved answers.", show_default="recorded"),
    ] = None,
    home: Home = None,
) -> None:
    """Fetch, read, normalise, rank and publish, as one Dagster run.

    Ends with what was fetched, made, excluded and quarantined, and who leads. Exits with 1 where it failed.
    """
    settings = _settings(source=source, home=home)
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
    if outcome.failed_kernels:
        _fail(f"{len(outcome.failed_kernels)} kernels failed: {'; '.join(outcome.failed_kernels[:5])}")


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


def _settings(**given: Any) -> Settings:
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as problem:
        _fail(f"a setting is wrong: {in_words(problem)}")


def _show_progress() -> None:
    handler = RichHandler(console=errors, show_path=False, show_level=False)
    log.addHandler(handler)
    log.setLevel(logging.INFO)


def _fail(sentence: str) -> NoReturn:
    errors.print(f"kernelindex: {sentence}", style="bold red", markup=False, highlight=False)
    raise typer.Exit(1)


if __name__ == "__main__":
    app()
