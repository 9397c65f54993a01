"""What `kernelindex sql` does: run statements that can change nothing, and write what the last one gives.

Tables and Markdown are for people, and do nothing to a terminal. CSV, JSON and Parquet are for scripts, and
hold the data as it is; CSV that goes to a terminal is made harmless. CSV for spreadsheets is an export.
"""

import csv
import io
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.text import Text

from pipelines.answers import UNKNOWN, NoAnswer
from pipelines.terminal import Column, as_json, plain, print_table, printable
from warehouse import WarehouseError, warehouse_file

# What Markdown would take for markup, in the cell of a table.
_MARKUP = re.compile(r"[\\`*\[|~<]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
# What more there is, is for a program to read.
_SHOWN_ROWS = 1000
_NUMBER = re.compile(r"[A-Z]*INT|INTEGER|UINTEGER|DOUBLE|FLOAT|DECIMAL\(.*\)")


def sealed(home: Path | None) -> duckdb.DuckDBPyConnection:
    """A connection that can read the warehouse, and nothing else: no other file, no network, no setting.

    The file is opened read only: one that is attached so could be detached, and attached again to write.

    Raises WarehouseError where there is no warehouse, or DuckDB can't read it.
    """
    file = warehouse_file(home)
    try:
        connection = duckdb.connect(file, read_only=True)
    except duckdb.Error as problem:
        raise WarehouseError(f"{file} can't be read: run `kernelindex rebuild` ({problem})") from problem
    connection.execute(
        "set timezone = 'UTC'; set enable_external_access = false; set lock_configuration = true"
    )
    return connection


def answer(connection: duckdb.DuckDBPyConnection, statements: str) -> duckdb.DuckDBPyRelation:
    """Run statements in their order; the last one runs when what it gives is asked for.

    Raises NoAnswer, and duckdb.Error where one can't be run.
    """
    result = connection.sql(statements)
    if result is None:
        raise NoAnswer("the last statement gives nothing; end with a query, as `from leaderboard limit 5`")
    return result


def show_result(console: Console, result: duckdb.DuckDBPyRelation) -> None:
    """Print what statements gave: as a table where it fits the terminal, else row under row."""
    rows = result.fetchall()
    shown = [[UNKNOWN if value is None else _text(value) for value in row] for row in rows[:_SHOWN_ROWS]]
    if result.columns == ["explain_key", "explain_value"]:
        for _, explained in shown:
            console.print(Text(explained), soft_wrap=True)
        return
    numbers = [_NUMBER.fullmatch(str(type_)) is not None for type_ in result.types]
    columns = [
        Column(name, is_number, folds=not is_number)
        for name, is_number in zip(result.columns, numbers, strict=True)
    ]
    print_table(console, "", columns, shown)
    more = f"; {_SHOWN_ROWS} are shown, --format csv writes all" if len(rows) > _SHOWN_ROWS else ""
    console.print(Text(f"{len(rows)} row{'' if len(rows) == 1 else 's'}{more}", style="dim"))


def written(result: duckdb.DuckDBPyRelation, format_: str) -> bytes:
    """What statements gave as csv, json, markdown or parquet.

    In JSON and Parquet columns of one name are told apart as in a DuckDB table: `a` and `a_1`.
    """
    names = result.select("*").columns
    if format_ == "parquet":
        import pyarrow as pa  # Takes long to import.
        import pyarrow.parquet as pq

        file = pa.BufferOutputStream()
        pq.write_table(result.to_arrow_table().rename_columns(names), file)
        return bytes(file.getvalue().to_pybytes())
    rows = result.fetchall()
    if format_ == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(result.columns)
        writer.writerows([_text(value) for value in row] for row in rows)
        return text.getvalue().encode()
    if format_ == "markdown":
        lines = [result.columns, ["---"] * len(result.columns), *rows]
        return "".join(f"| {' | '.join(map(_markdown, line))} |\n" for line in lines).encode()
    is_json = [str(type_) == "JSON" for type_ in result.types]
    records = [
        {
            name: json.loads(value) if parse and value is not None else value
            for name, value, parse in zip(names, row, is_json, strict=True)
        }
        for row in rows
    ]
    return f"{as_json(records)}\n".encode()


def _text(value: Any) -> str:
    """A value as text; lists and structs as JSON; nothing where there is none."""
    match value:
        case None:
            return ""
        case Decimal():
            return f"{value:f}"
        case float():
            return str(value)  # Also inf, -inf and nan: DuckDB reads these.
        case bool() | dict() | list() | tuple():
            return json.dumps(plain(value), ensure_ascii=False)
        case _:
            return str(plain(value))


def _markdown(value: Any) -> str:
    """A value in a cell of a Markdown table: no character of it means anything, and no other is escaped.

    Names are for pasting, so what Markdown takes as it is stays: an underscore inside a word, as in
    `021_rmsnorm_h128`, and an ampersand that begins no entity.
    """
    text = printable(" ".join(_text(value).splitlines()))
    return _MARKUP.sub(r"\\\g<0>", text)
