"""Parquet: how the warehouse's tables are kept between stages, one file a table."""

import filecmp
import glob
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.files import written_aside
from warehouse.home import Home
from warehouse.parts import read_part
from warehouse.tables import Table

# Rows of a table that are written, and held in memory, together; DuckDB reads a group of them on one thread.
ROW_GROUP = 25_000


class TableError(Exception):
    """A table whose file can't be read; says which."""


def table_of(rows: Iterable[dict[str, object]], schema: pa.Schema) -> pa.Table:
    """Rows as an Arrow table; a column that a row lacks is null."""
    return pa.Table.from_pylist(list(rows), schema=schema)


def table_like(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with the columns of a schema, in its order: those that it lacks are null."""
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


def collect(home: Home, table: Table, stages: Iterable[str]) -> pa.Table:
    """A table out of the parts that stages made of all kernels: one row a key, in order of the kernels."""
    return pa.concat_tables([table.schema.empty_table(), *pieces(home, table, stages)])


def pieces(home: Home, table: Table, stages: Iterable[str]) -> Iterator[pa.Table]:
    """What `collect` gives, a part at a time.

    Where two kernels bring one key (the same project, say), the first row stands. Raises PartError where a
    part is damaged, TableError where it lacks what it must have.
    """
    paths = [path for stage in stages for path in home.parts(stage)]
    keys = [_piece(path, table, table.key) for path in paths]
    if not keys:
        return
    all_keys = pa.concat_tables(keys)
    all_keys = all_keys.append_column("row", pa.array(np.arange(len(all_keys))))
    first_rows = all_keys.group_by(list(table.key), use_threads=False).aggregate([("row", "min")])["row_min"]
    stands = np.zeros(len(all_keys), dtype=bool)
    stands[first_rows.to_numpy()] = True
    end = 0
    for path, key in zip(paths, keys, strict=True):
        begin, end = end, end + len(key)
        if stands[begin:end].any():
            yield _piece(path, table, table.schema.names).filter(pa.array(stands[begin:end]))


def _piece(path: Path, table: Table, columns: Iterable[str]) -> pa.Table:
    """Columns of a part's rows of a table; no rows, where it holds no such table.

    Pages are kept as they came: an older part can lack columns that there are now, which are null then.
    """
    schema = pa.schema([table.schema.field(name) for name in columns])
    try:
        return table_like(read_part(path, table.name, schema.names), schema)
    except KeyError:
        return schema.empty_table()
    except ValueError as error:
        what = f"{path} was made by another version of this project"
        raise TableError(f"{what}: `kernelindex rebuild` makes it anew ({error})") from error


def write_table(home: Home, table: Table, rows: pa.Table | Iterable[pa.Table]) -> bool:
    """Write a table's Parquet file in one step. False where it holds the same already: it stays untouched.

    Rows can come in pieces: no more than a group of them is in memory then. Raises pyarrow.ArrowInvalid where
    the rows don't fit the table's schema.
    """
    path = home.table(table.name)
    with written_aside(path) as aside:
        with pq.ParquetWriter(aside, table.schema, compression="zstd") as file:
            for group in _groups([rows] if isinstance(rows, pa.Table) else rows):
                file.write_table(_fitting(group, table))
        if path.exists() and filecmp.cmp(aside, path, shallow=False):
            aside.unlink()
            return False
    return True


def _groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Tables, put together to as many rows as one row group should have."""
    waiting: list[pa.Table] = []
    for piece in tables:
        waiting.append(piece)
        if sum(map(len, waiting)) >= ROW_GROUP:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


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
