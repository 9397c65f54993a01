"""Parquet: how the warehouse's tables are kept between stages, one file a table."""

import filecmp
import glob
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.files import written_aside
from warehouse.home import STAGES, Home
from warehouse.parts import read_tables
from warehouse.submissions import SETTLED, Settlement, settle, unlisted_keys
from warehouse.tables import Table

# Rows of a table that are written, and held in memory, together. Exactly as many as DuckDB keeps together:
# else it takes half as long again to build the warehouse, and a third of that is empty.
ROW_GROUP = 122_880


class TableError(Exception):
    """A table whose file can't be read; says which."""


def table_of(rows: Iterable[dict[str, object]], schema: pa.Schema) -> pa.Table:
    """Rows as an Arrow table; a column that a row lacks is null."""
    return pa.Table.from_pylist(list(rows), schema=schema)


def table_like(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with the columns of a schema, in its order: those that it lacks are null."""
    if table.schema.equals(schema):
        return table
    return pa.table(
        {
            name: table[name] if name in table.column_names else pa.nulls(len(table), schema.field(name).type)
            for name in schema.names
        }
    ).cast(schema)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of an Arrow table."""
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def collect(home: Home, table: Table, stages: Collection[str]) -> pa.Table:
    """A table out of the parts that stages made of all kernels: one row a key, in order of the kernels.

    Those that are no longer listed come last.
    """
    return pa.concat_tables(
        [table.schema.empty_table(), *(rows for _, rows in pieces(home, {table: stages}))]
    )


def pieces(home: Home, tables: Mapping[Table, Collection[str]]) -> Iterator[tuple[Table, pa.Table]]:
    """What `collect` gives of each of these tables, a part at a time, with the table that the rows are of.

    Where two kernels bring one key (the same project, say), the first row stands; a submission that two list
    counts once. Raises PartError where a part is damaged, TableError where it lacks what it must have.
    """
    unlisted = unlisted_keys(home)
    parts = [
        (path, [table for table, stages in tables.items() if stage in stages])
        for stage in STAGES
        for path in sorted(home.parts(stage), key=lambda path: path.parent.name in unlisted)
    ]
    settled = settle(home) if SETTLED & set(tables) else Settlement()
    more = [(table, table_of(settled.more[table], table.schema)) for table in tables]
    schemas = {table: pa.schema([table.schema.field(name) for name in table.key]) for table in tables}
    keys = {table: [schema.empty_table()] for table, schema in schemas.items()}
    for path, held in parts:
        for table, rows in _read(path, {table: schemas[table] for table in held}, settled):
            keys[table].append(rows)
    for table, rows in more:
        keys[table].append(rows.select(table.key))
    stand = {table: _are_first(pa.concat_tables(of_table)) for table, of_table in keys.items()}
    begin = dict.fromkeys(tables, 0)
    for path, held in parts:
        for table, rows in _read(path, {table: table.schema for table in held}, settled):
            stands = stand[table][begin[table] : begin[table] + len(rows)]
            begin[table] += len(rows)
            if stands.any():
                yield table, rows.filter(pa.array(stands))
    for table, rows in more:
        yield table, rows.filter(pa.array(stand[table][begin[table] :]))


def _are_first(keys: pa.Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Of each row, whether none before it has the same key."""
    numbered = keys.append_column("row", pa.array(np.arange(len(keys))))
    grouped = numbered.group_by(keys.column_names, use_threads=False).aggregate([("row", "min")])
    are_first = np.zeros(len(keys), dtype=bool)
    are_first[grouped["row_min"].to_numpy()] = True
    return are_first


def _read(
    path: Path, schemas: Mapping[Table, pa.Schema], settled: Settlement
) -> Iterator[tuple[Table, pa.Table]]:
    """A part's rows of tables that count, those columns that a schema names, where it holds the table.

    Pages are kept as they came: an older part can lack columns that there are now, which are null then.
    """
    held = read_tables(path, {table.name: schema.names for table, schema in schemas.items()})
    for table, schema in schemas.items():
        if table.name in held:
            try:
                rows = table_like(held[table.name], schema)
                keeps = settled.keeps.get((path, table))
                yield table, rows if keeps is None else rows.filter(keeps)
            except ValueError as error:
                what = f"{path} was made by another version of this project"
                raise TableError(f"{what}: `kernelindex rebuild` makes it anew ({error})") from error


def write_table(home: Home, table: Table, rows: pa.Table | Iterable[pa.Table]) -> bool:
    """`write_tables` of one. False where its file holds the same already."""
    pieces_of_it = [rows] if isinstance(rows, pa.Table) else rows
    return bool(write_tables(home, [table], ((table, piece) for piece in pieces_of_it)))


def write_tables(home: Home, tables: Collection[Table], rows: Iterable[tuple[Table, pa.Table]]) -> set[str]:
    """Write tables' Parquet files, each in one step, and return the names of those that changed.

    One that holds the same already stays untouched. Rows come in pieces, each with its table: no more than a
    group of them is in memory. Raises pyarrow.ArrowInvalid where rows don't fit their table's schema.
    """
    with ExitStack() as done:
        asides = {table: done.enter_context(written_aside(home.table(table.name))) for table in tables}
        with ExitStack() as written:
            add = {table: written.enter_context(_table_file(aside, table)) for table, aside in asides.items()}
            for table, piece in rows:
                add[table](piece)
        for table, aside in asides.items():
            path = home.table(table.name)
            if path.exists() and filecmp.cmp(aside, path, shallow=False):
                aside.unlink()
        return {table.name for table, aside in asides.items() if aside.exists()}


@contextmanager
def _table_file(path: Path, table: Table) -> Iterator[Callable[[pa.Table], None]]:
    """A Parquet file of a table, as a function that takes rows; it writes a row group at a time."""
    waiting: list[pa.Table] = []
    with pq.ParquetWriter(path, table.schema, compression="zstd") as file:

        def write(rows: pa.Table) -> None:
            file.write_table(_fitting(rows, table), ROW_GROUP)

        def add(rows: pa.Table) -> None:
            waiting.append(rows)
            if sum(map(len, waiting)) >= ROW_GROUP:
                together = pa.concat_tables(waiting)
                whole = len(together) // ROW_GROUP * ROW_GROUP
                write(together.slice(0, whole))
                waiting[:] = [together.slice(whole)]

        yield add
        if any(map(len, waiting)):
            write(pa.concat_tables(waiting))


def _fitting(rows: pa.Table, table: Table) -> pa.Table:
    if rows.column_names != table.schema.names:
        raise pa.ArrowInvalid(f"{table.name} has other columns: {', '.join(rows.column_names)}")
    for column in table.columns:
        if column.required and rows.column(column.name).null_count:
            raise pa.ArrowInvalid(f"{table.name}.{column.name} is required, but a row lacks it")
    return rows.cast(table.schema)


def read_table(home: Home, table: Table) -> pa.Table:
    """A table from its Parquet file; an empty one where it was never written.

    Raises TableError where the file is damaged, or has other columns.
    """
    path = home.table(table.name)
    if not path.exists():
        return table.schema.empty_table()
    try:
        return pq.read_table(path, schema=table.schema)
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{path} can't be read: `kernelindex rebuild` makes it anew ({error})") from error


def row_count(home: Home, table: Table) -> int:
    """How many rows a table's file says that it has."""
    return int(pq.read_metadata(home.table(table.name)).num_rows)


def first_rows(home: Home, table: Table, rows: int) -> pa.Table:
    """The first rows of a table, of which no more is read."""
    with pq.ParquetFile(home.table(table.name)) as file:
        batches = list(islice(file.iter_batches(rows), 1))
    return pa.Table.from_batches(batches, table.schema)


def add_view(connection: duckdb.DuckDBPyConnection, home: Home, table: Table) -> None:
    """Let a table stand under its name in a connection, which reads of its file what a query wants.

    Raises TableError where the file is damaged.
    """
    path = home.table(table.name)
    if not path.exists():
        connection.register(table.name, table.schema.empty_table())
        return
    try:
        connection.execute(f"create or replace temp view {table.name} as from {file_of(home, table)}")
    except duckdb.Error as error:
        raise TableError(f"{path} can't be read: `kernelindex rebuild` makes it anew ({error})") from error


def file_of(home: Home, table: Table) -> str:
    """A table's file as SQL reads it."""
    # A home may be called anything, and DuckDB takes a path for a pattern; it knows the escapes of Python.
    pattern = glob.escape(str(home.table(table.name))).replace("'", "''")
    return f"read_parquet('{pattern}')"
