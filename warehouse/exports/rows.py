"""Tables and views as files of rows: CSV that spreadsheets may open, Parquet, and JSON lines.

Rows are read and written in batches, never all at once. In CSV and JSON lines times are ISO 8601, in UTC.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from warehouse.exports.data_package import Column, columns_of, data_package
from warehouse.tables import TABLES

ROWS_AT_ONCE = 10_000
# A cell that begins so is a formula to a spreadsheet; one that begins with the mark itself gets another, so
# that the rule can be undone: take one mark off every text that begins with it.
MARK = "'"
FORMULA_STARTS = "=+-@\t\r\n＝＋－＠"
# Without it, Excel takes UTF-8 for the machine's own encoding.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def write_rows(
    connection: duckdb.DuckDBPyConnection, directory: Path, form: str, tables: Sequence[str]
) -> dict[str, int]:
    """Write each table as a file, and beside CSV, which knows no types, a data package; return the rows."""
    write = {"csv": write_csv, "parquet": write_parquet, "jsonl": write_json_lines}[form]
    written = {}
    for name in tables:
        path = directory / f"{name}.{form}"
        written[path.name] = write(connection, name, path)
    if form == "csv":
        package = json.dumps(data_package(connection, tables), indent=2)
        (directory / "datapackage.json").write_text(package + "\n")
    return written


def write_csv(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> int:
    """Write a table or view as CSV that spreadsheets may open; return its rows."""
    cells = ", ".join(f'{_csv_cell(column)} as "{column.name}"' for column in columns_of(connection, table))
    batches = batches_of(connection, f'select {cells} from "{table}"')
    count = 0
    with path.open("wb") as file:
        file.write(BYTE_ORDER_MARK)
        with csv.CSVWriter(file, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                count += batch.num_rows
    return count


def _csv_cell(column: Column) -> str:
    """SQL for the column's cells: text that is no formula, lists and JSON as JSON text, numbers as such."""
    if column.type in ("VARCHAR", "JSON"):
        return _safe_text(f'"{column.name}"')
    if column.type == "TIMESTAMP WITH TIME ZONE":
        return _iso(column)
    if column.is_nested:
        return f'to_json("{column.name}")::varchar'
    return f'"{column.name}"'


def _safe_text(sql: str) -> str:
    """SQL for the text that this SQL comes to, marked where a spreadsheet would run it."""
    starts = ", ".join(f"chr({ord(start)})" for start in FORMULA_STARTS + MARK)
    mark = f"chr({ord(MARK)})"
    return f"if(left({sql}, 1) in ({starts}), {mark} || {sql}, {sql}::varchar)"


def write_parquet(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> int:
    """Write a table or view as Parquet, with a table's comments; return its rows."""
    batches = batches_of(connection, f'from "{table}"')
    # A table's own schema has its comments.
    schema = TABLES[table].schema if table in TABLES else batches.schema
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
            count += batch.num_rows
    return count


def write_json_lines(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> int:
    """Write a table or view as JSON, an object a line; return its rows."""
    times = [
        f'{_iso(column)} as "{column.name}"'
        for column in columns_of(connection, table)
        if column.type == "TIMESTAMP WITH TIME ZONE"
    ]
    replaced = f"replace ({', '.join(times)})" if times else ""
    count = 0
    with path.open("wb") as file:
        for line in lines_of(
            connection, f'select to_json(line)::varchar from (select * {replaced} from "{table}") as line'
        ):
            file.write(line)
            count += 1
    return count


def _iso(column: Column) -> str:
    return f"strftime(\"{column.name}\" at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')"


def lines_of(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[bytes]:
    """The text in a query's only column, a line each."""
    for batch in batches_of(connection, query):
        for text in batch.column(0).to_pylist():
            yield text.encode() + b"\n"


def batches_of(connection: duckdb.DuckDBPyConnection, query: str) -> pa.RecordBatchReader:
    """What a query comes to, in batches; only one reader can be open on a connection."""
    return connection.sql(query).to_arrow_reader(ROWS_AT_ONCE)
