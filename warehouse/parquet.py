"""Parquet: how the warehouse's tables are kept between stages, one file a table."""

import filecmp
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.files import written_aside
from warehouse.home import Home
from warehouse.parts import read_part
from warehouse.tables import Table


def table_of(rows: Iterable[dict[str, object]], schema: pa.Schema) -> pa.Table:
    """Rows as an Arrow table; a column that a row lacks is null."""
    return pa.Table.from_pylist(list(rows), schema=schema)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of an Arrow table."""
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def collect(home: Home, table: Table, stages: Iterable[str]) -> pa.Table:
    """A table out of the parts that stages made of all kernels: one row a key, in order of the columns."""
    pieces = [piece for stage in stages for path in home.parts(stage) for piece in _pieces(path, table)]
    rows = pa.concat_tables(  # noqa: F841  # DuckDB reads it by name
        [table.schema.empty_table(), *pieces], promote_options="default"
    )
    key = ", ".join(table.key)
    with duckdb.connect() as connection:
        # Where two kernels bring one key (the same project, say), the first in order stands.
        result = connection.sql(f"select distinct on ({key}) * from rows order by all")
        return result.to_arrow_table().cast(table.schema)


def _pieces(path: Path, table: Table) -> list[pa.Table]:
    """A part's rows of a table; none, where it holds no such table."""
    try:
        return [read_part(path, table.name)]
    except KeyError:
        return []


def write_table(home: Home, table: Table, rows: pa.Table) -> bool:
    """Write a table's Parquet file in one step. False where it holds the same already: it stays untouched.

    Raises pyarrow.ArrowInvalid where the rows don't fit the table's schema.
    """
    path = home.table(table.name)
    if rows.column_names != table.schema.names:
        raise pa.ArrowInvalid(f"{table.name} has other columns: {', '.join(rows.column_names)}")
    for column in table.columns:
        if column.required and rows.column(column.name).null_count:
            raise pa.ArrowInvalid(f"{table.name}.{column.name} is required, but a row lacks it")
    rows = rows.cast(table.schema)
    with written_aside(path) as aside:
        pq.write_table(rows, aside, compression="zstd")
        if path.exists() and filecmp.cmp(aside, path, shallow=False):
            aside.unlink()
            return False
    return True


def read_table(home: Home, table: Table) -> pa.Table:
    """A table from its Parquet file; an empty one where it was never written."""
    path = home.table(table.name)
    return pq.read_table(path, schema=table.schema) if path.exists() else table.schema.empty_table()
