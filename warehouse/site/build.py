"""The site's build: every page written aside, then the whole site moved into place."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from jinja2 import Environment, PackageLoader, StrictUndefined

from warehouse.dossier import SOL_SCORE, dossier
from warehouse.files import directory_written_aside, holds_a_home
from warehouse.site import plots
from warehouse.site.words import FILTERS

HERE = Path(__file__).parent
KINDS = ("front", "kernel", "project", "run")
MARKER = ".kernelindex-site"
BATCH = 100


class SiteError(Exception):
    """A site that can't be written; says where, and what to do."""


@dataclass(frozen=True)
class Site:
    """A site that was written: where one starts to read, and how many pages there are of each kind."""

    index: Path
    pages: dict[str, int]


def write_site(connection: duckdb.DuckDBPyConnection, directory: Path) -> Site:
    """Write the warehouse of a connection as pages into a directory, which they replace if it holds a site.

    The same warehouse always comes to the same bytes. Raises SiteError where the directory holds anything
    else, or can't be written.
    """
    directory = directory.resolve()
    _refuse_to_lose(directory)
    connection.execute((HERE / "names.sql").read_text("utf-8"))
    try:
        with directory_written_aside(directory) as aside:
            pages = {kind: _write_pages(connection, kind, aside) for kind in KINDS}
            shutil.copytree(HERE / "static", aside, dirs_exist_ok=True)
            (aside / MARKER).write_text("\n".join(sorted(path.name for path in aside.iterdir())))
    except OSError as problem:
        raise SiteError(f"{directory} can't be written: {problem}") from problem
    return Site(directory / "index.html", pages)


def _write_pages(connection: duckdb.DuckDBPyConnection, kind: str, directory: Path) -> int:
    """Write all pages of a kind; return how many."""
    template = _templates().get_template(f"{kind}.html")
    (about,) = _rows(connection, "site")
    count = 0
    for row in _rows(connection, kind):
        path = directory / row["page"]
        path.parent.mkdir(exist_ok=True)
        root = "../" if "/" in row["page"] else ""
        # Never over another page: where two digests began alike, the build would fail, not lose one.
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(template.render(row, about=about, root=root))
        count += 1
    return count


def _rows(connection: duckdb.DuckDBPyConnection, kind: str) -> Iterator[dict[str, Any]]:
    """The rows of a kind's query, a batch at a time; each holds all that its page shows."""
    relation = connection.sql((HERE / f"{kind}.sql").read_text("utf-8"))
    return (row for batch in relation.to_arrow_reader(BATCH) for row in batch.to_pylist())


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("warehouse.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(FILTERS)
    templates.globals.update(plots=plots, dossier=dossier, sol_score=SOL_SCORE)
    return templates


def _refuse_to_lose(directory: Path) -> None:
    if Path.cwd().is_relative_to(directory):
        raise SiteError(
            f"{directory} is where this command runs, and can't be replaced: name another directory"
        )
    if not directory.exists():
        return
    # The marker names all that a site is made of: what people put beside it is theirs.
    marker = directory / MARKER
    ours = {MARKER, *marker.read_text("utf-8").splitlines()} if marker.is_file() else set()
    if (
        not directory.is_dir()
        or any(path.name not in ours for path in directory.iterdir())
        or holds_a_home(directory)
    ):
        raise SiteError(
            f"{directory} holds something that is no site, and was left as it is: name another directory"
        )
