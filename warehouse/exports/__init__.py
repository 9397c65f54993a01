"""Exports: the warehouse as files that other tools read, each export a directory of its own.

`rows` writes tables and views (CSV, Parquet, JSON lines) and `data_package` what describes them; `manifests`
writes manifests, a file each; `catalog` the layout of KernelIndex's own catalog export. All only read.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

import warehouse
from warehouse.build import quoted
from warehouse.exports.catalog import write_catalog
from warehouse.exports.manifests import write_manifests
from warehouse.exports.rows import write_rows
from warehouse.files import directory_written_aside, holds_a_home
from warehouse.tables import DIGESTS, TABLES

# What an export says of itself: only what this names is ever replaced.
ABOUT = "export.json"

Writer = Callable[[duckdb.DuckDBPyConnection, Path, str, Sequence[str]], dict[str, int]]
FORMATS: dict[str, Writer] = {
    "csv": write_rows,
    "parquet": write_rows,
    "jsonl": write_rows,
    "json": write_manifests,
    "yaml": write_manifests,
    "catalog": write_catalog,
}


class ExportError(Exception):
    """An export that can't be written; says why, and what to do."""


def export(
    directory: Path | str, form: str = "csv", tables: Sequence[str] = (), home: Path | str | None = None
) -> dict[str, int]:
    """Write the warehouse in a format of FORMATS; return the rows or manifests written, by file or directory.

    `tables` are those to write, or views; without any, all tables. The same warehouse makes the same bytes.
    The directory is written aside and moved into place; it replaces an earlier export, and nothing else.

    Raises ExportError where the directory or a table can't be used, warehouse.WarehouseError where there is
    no warehouse to read.
    """
    directory = Path(os.path.abspath(directory))  # Without .., and links as they are.
    with warehouse.connect(home) as connection:
        chosen = _chosen(connection, form, tables)
        # Rows then come in the order in which the warehouse keeps them.
        connection.execute("set threads = 1")
        ((version,),) = connection.execute("select version from warehouse_version").fetchall()
        with _moved_into_place(directory) as aside:
            # What is sorted and doesn't fit into memory goes where there must be room anyway.
            connection.execute(
                f"set temp_directory = {quoted(str(aside.with_name(f'{aside.name}.sorting')))}"
            )
            written = FORMATS[form](connection, aside, form, chosen)
            about = {
                "format": form,
                "warehouse_version": version,
                "written": written,
                "files": sorted([ABOUT, *(path.name for path in aside.iterdir())]),
            }
            (aside / ABOUT).write_text(json.dumps(about, indent=2) + "\n")
    return written


def _chosen(connection: duckdb.DuckDBPyConnection, form: str, tables: Sequence[str]) -> list[str]:
    """The tables to write, each once; raises ExportError where the format has no such table."""
    if form not in FORMATS:
        raise ExportError(f"there is no format {form!r}, only {', '.join(FORMATS)}")
    if form == "catalog":
        if tables:
            raise ExportError("a catalog holds all that belongs in it: leave out the tables, or the format")
        return []
    if form in ("json", "yaml"):
        there, default, what = list(DIGESTS), list(DIGESTS), "table with manifests"
    else:
        there, default, what = warehouse.tables_and_views(connection), list(TABLES), "table or view"
    for name in tables:
        if name not in there:
            near = warehouse.nearest(name, there)
            raise ExportError(f"the warehouse has no {what} {name!r}; it has {near}")
    return list(dict.fromkeys(tables)) or default


@contextmanager
def _moved_into_place(directory: Path) -> Iterator[Path]:
    """Give a new directory to write to; when the block ends well, it takes the place of `directory`."""
    try:
        if foreign := _foreign(directory):
            raise ExportError(f"{foreign}: give a new directory, an empty one, or that of an earlier export")
        with directory_written_aside(directory) as aside:
            yield aside
    except (OSError, duckdb.Error) as problem:
        # The system's reason alone: the file that it names is one that nobody knows of.
        why = getattr(problem, "strerror", None) or problem
        raise ExportError(f"{directory} can't be written: {why}") from problem


def _foreign(directory: Path) -> str | None:
    """Why an export must not take the directory's place; None where it may."""
    here = Path.cwd()
    if directory == here or directory in here.parents:
        return f"{directory} is, or holds, the directory that this runs in, and can't be replaced"
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        return f"{directory} is no directory"
    names = {path.name for path in directory.iterdir()} if directory.exists() else set()
    try:
        ours = set(json.loads((directory / ABOUT).read_text())["files"])
    except (OSError, ValueError, LookupError, TypeError):
        ours = set()
    if holds_a_home(directory):
        return f"{directory} holds a home, or a repository"
    if names - ours:
        return f"{directory} holds {min(names - ours)!r}, which no export wrote"
    return None
