"""How the pipeline's tables are kept and published; and, for Python, how they are read.

    import warehouse

    warehouse.connect().sql("from leaderboard limit 5").show()
    warehouse.table("rankings").to_pandas()

DuckDB and Arrow are imported when they are needed: who wants another module of this room need not wait.
"""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.home import Home, HomeError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


class WarehouseError(Exception):
    """A warehouse, or a table of it, that can't be read; says which, and what to do."""


def connect(home: Path | str | None = None) -> "duckdb.DuckDBPyConnection":
    """A connection to the warehouse, opened to be read only; times are shown in UTC.

    `home` is the directory where everything is kept: by default `$KERNELINDEX_HOME`, else `data`. A
    connection keeps the warehouse that was there when it was made; a later one sees what was published since.

    Raises WarehouseError where there is no warehouse, or DuckDB can't read it.
    """
    import duckdb

    file = warehouse_file(home)
    # Attached, not opened: within a process DuckDB shares what is open by its path, and who has an old
    # warehouse open would never see the new one.
    connection = duckdb.connect()
    try:
        connection.execute("attach $1 as warehouse (type duckdb, read_only)", [str(file)])
    except duckdb.Error as problem:
        connection.close()
        raise WarehouseError(
            f"{file} can't be read: run `kernelindex ingest`, which builds it anew ({problem})"
        ) from problem
    connection.execute("use warehouse; set timezone = 'UTC'")
    return connection


def warehouse_file(home: Path | str | None = None) -> Path:
    """The warehouse's file; `home` is as in `connect`.

    Raises WarehouseError where there is none, or where a newer version of the project made it.
    """
    kept = Home(Path(home or os.environ.get("KERNELINDEX_HOME") or "data").absolute())
    try:
        kept.refuse_newer()
    except HomeError as problem:
        raise WarehouseError(str(problem)) from problem
    file = kept.warehouse
    if not file.exists():
        raise WarehouseError(
            f"{file} is not there: run `kernelindex ingest` first, or name another home, with --home or "
            "KERNELINDEX_HOME"
        )
    return file


def tables_and_views(connection: "duckdb.DuckDBPyConnection") -> list[str]:
    """The names of all tables and views of the warehouse of a connection that `connect` made."""
    listed = "select table_name from information_schema.tables where table_catalog = 'warehouse'"
    return [name for (name,) in connection.execute(listed).fetchall()]


def nearest(name: str, there: Sequence[str]) -> str:
    """Of the names that are there those that are spelt like this one, or else all, in words."""
    return ", ".join(get_close_matches(name, there) or sorted(there))


def rows_of(result: "duckdb.DuckDBPyConnection") -> list[dict[str, Any]]:
    """All rows of a result, by the names of its columns."""
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def table(name: str, home: Path | str | None = None) -> "pa.Table":
    """A table or view of the warehouse, whole, as Arrow; `.to_pandas()` makes a data frame of it.

    A table has the types, and with each column the comment, of `warehouse.tables`. `home` is as in `connect`.

    Raises WarehouseError where there is no warehouse or no such table.
    """
    with connect(home) as connection:
        if name not in (there := tables_and_views(connection)):
            raise WarehouseError(
                f"the warehouse has no table or view {name!r}; it has {nearest(name, there)}"
            )
        rows = connection.table(f'"{name}"').to_arrow_table()

    from warehouse.tables import TABLES

    if name not in TABLES:
        return rows
    try:
        return rows.cast(TABLES[name].schema)
    except ValueError as problem:
        raise WarehouseError(
            f"the warehouse has another table {name} than this version: run `kernelindex ingest`"
        ) from problem
