"""The DuckDB build: from Parquet tables to `warehouse.duckdb`, aside and then into place.

The file holds its tables (no path leads out of it), comments on each table and column, and the views for
people, which are in `views.sql`.
"""

from pathlib import Path

import duckdb

from warehouse.files import written_aside
from warehouse.home import Home
from warehouse.tables import TABLES, Table

VIEWS = Path(__file__).with_name("views.sql")


class BuildError(Exception):
    """A warehouse that must not be published; says what is wrong with which table."""


def build_warehouse(home: Home) -> dict[str, int]:
    """Build the warehouse from all Parquet tables and move it into place; return the rows of each table.

    Readers that have the old file open keep it. Raises BuildError where a table is missing or breaks its key:
    the old warehouse then stays.
    """
    counts: dict[str, int] = {}
    with written_aside(home.warehouse) as aside:
        aside.unlink()  # DuckDB wants to make the file itself.
        with duckdb.connect(aside) as connection:
            for table in TABLES.values():
                counts[table.name] = _add_table(connection, home, table)
            connection.execute(VIEWS.read_text())
            connection.execute("checkpoint")
    return counts


def _add_table(connection: duckdb.DuckDBPyConnection, home: Home, table: Table) -> int:
    path = home.table(table.name)
    if not path.exists():
        raise BuildError(f"table {table.name} was never made: run `kernelindex ingest`")
    connection.execute(_create(table))
    try:
        connection.execute(f"insert into {table.name} by name from read_parquet($1)", [str(path)])
    except duckdb.ConstraintException as error:
        raise BuildError(f"table {table.name} lacks a value that it must have: {error}") from error
    key = ", ".join(table.key)
    twice = f"select {key} from {table.name} group by all having count(*) > 1 order by all limit 1"
    if broken := connection.execute(twice).fetchone():
        raise BuildError(f"table {table.name} has more than one row with ({key}) = {broken}")
    (count,) = connection.execute(f"select count(*) from {table.name}").fetchall()[0]
    return int(count)


def _create(table: Table) -> str:
    """The statements that create a table, with its key and its comments."""
    columns = ",\n".join(
        f"  {column.name} {column.sql_type}{' not null' if column.required else ''}"
        for column in table.columns
    )
    comments = [f"comment on table {table.name} is {_quoted(table.grain)};"] + [
        f"comment on column {table.name}.{column.name} is {_quoted(column.comment)};"
        for column in table.columns
    ]
    return f"create table {table.name} (\n{columns}\n);\n" + "\n".join(comments)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
