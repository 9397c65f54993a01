"""The DuckDB build: from Parquet tables to `warehouse.duckdb`, aside and then into place.

The file holds its tables (no path leads out of it), comments on each table and column, the views for people,
which are in `views.sql` and `views_cases.sql`, and in `warehouse_version` what it was built from.
"""

import hashlib
from pathlib import Path

import duckdb

from warehouse.files import written_aside
from warehouse.home import Home
from warehouse.parquet import read_table
from warehouse.tables import TABLES, Table

VIEWS = Path(__file__).with_name("views.sql")
CASE_VIEWS = Path(__file__).with_name("views_cases.sql")


class BuildError(Exception):
    """A warehouse that must not be published; says what is wrong with which table."""


def build_warehouse(home: Home) -> bool:
    """Build the warehouse from all Parquet tables and move it into place; False where it is so already.

    Readers that have the old file open keep it. Raises BuildError where a table is missing or breaks its key:
    the old warehouse then stays.
    """
    version = _version(home)
    if version == warehouse_version(home):
        return False
    with written_aside(home.warehouse) as aside:
        aside.unlink()  # DuckDB wants to make the file itself.
        with duckdb.connect(aside) as connection:
            for table in TABLES.values():
                _add_table(connection, home, table)
            for views in (VIEWS, CASE_VIEWS):
                connection.execute(views.read_text())
            connection.execute("create table warehouse_version as select $1 as version", [version])
            connection.execute("checkpoint")
    return True


def warehouse_version(home: Home) -> str | None:
    """What the published warehouse was built from, as a digest; None where there is none that says so."""
    try:
        with duckdb.connect(home.warehouse, read_only=True) as connection:
            (version,) = connection.execute("select version from warehouse_version").fetchall()[0]
            return str(version)
    except duckdb.Error:
        return None


def _version(home: Home) -> str:
    """A digest of all that a warehouse is built from: this room's own files, and the tables'."""
    digest = hashlib.sha256()
    for path in [*sorted(Path(__file__).parent.glob("*.*")), *map(home.table, TABLES)]:
        if not path.exists():
            raise BuildError(f"table {path.stem} was never made: run `kernelindex ingest`")
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"


def _add_table(connection: duckdb.DuckDBPyConnection, home: Home, table: Table) -> None:
    connection.execute(_create(table))
    try:
        # Read as Arrow: DuckDB takes a path for a pattern, and a home may be called anything.
        connection.register("rows", read_table(home, table))
        connection.execute(f"insert into {table.name} by name from rows")
    except duckdb.ConstraintException as error:
        raise BuildError(f"table {table.name} lacks a value that it must have: {error}") from error
    key = ", ".join(table.key)
    twice = f"select {key} from {table.name} group by all having count(*) > 1 order by all limit 1"
    if broken := connection.execute(twice).fetchone():
        raise BuildError(f"table {table.name} has more than one row with ({key}) = {broken}")


def _create(table: Table) -> str:
    """The statements that create a table, with its key and its comments."""
    columns = ",\n".join(
        f"  {column.name} {column.sql_type}{' not null' if column.required else ''}"
        for column in table.columns
    )
    comments = [f"comment on table {table.name} is {quoted(table.grain)};"] + [
        f"comment on column {table.name}.{column.name} is {quoted(column.comment)};"
        for column in table.columns
    ]
    return f"create table {table.name} (\n{columns}\n);\n" + "\n".join(comments)


def quoted(text: str) -> str:
    """Text as SQL writes it, for statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"
