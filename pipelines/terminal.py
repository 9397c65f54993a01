"""How answers reach a terminal or a script: text that does nothing to a terminal, tables that fit, JSON."""

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

# What is folded has at least so many letters a line, if it is as long.
FOLDED_WIDTH = 12


def screen() -> Console:
    """Where answers go. What goes into a pipe or a file is not folded: that is for grep and its like."""
    is_piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=10_000 if is_piped else None, highlight=False)


def printable(text: str) -> str:
    """A text that does nothing to a terminal, whatever was in it: one line, without control characters."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def printable_lines(text: str) -> str:
    """The same for a text that may have several lines."""
    return "\n".join(map(printable, text.splitlines()))


class Column(NamedTuple):
    """How a column is shown: numbers to the right; long names folded, all else in one line."""

    heading: str
    is_number: bool = False
    folds: bool = False


def print_table(
    console: Console, title: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]
) -> None:
    """Print rows, whatever is in them: as a table where that fits the terminal, else row under row."""
    # Names hold anything: as Text they are never markup.
    texts = [[Text(printable(cell)) for cell in row] for row in rows]
    if title:
        console.print(Text(printable(title), style="bold"))
    if _needed_width(columns, texts) > console.width:
        for row in rows:
            print_pairs(console, ((column.heading, cell) for column, cell in zip(columns, row, strict=True)))
            console.print()
        return
    table = Table(box=None, pad_edge=False)
    for heading, is_number, folds in columns:
        table.add_column(
            Text(printable(heading)),
            justify="right" if is_number else "left",
            no_wrap=not folds,
            overflow="fold",
            header_style="bold",
        )
    for cells in texts:
        table.add_row(*cells)
    console.print(table)


def _needed_width(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> int:
    needed = 0
    for number, column in enumerate(columns):
        longest = max([len(column.heading), *(row[number].cell_len for row in rows)])
        needed += min(longest, FOLDED_WIDTH) if column.folds else longest
    return needed + 2 * (len(columns) - 1)


def print_pairs(console: Console, pairs: Iterable[tuple[str, str]]) -> None:
    """Print labels and values, the values under each other."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", overflow="fold")
    grid.add_column(overflow="fold")
    for label, value in pairs:
        grid.add_row(Text(printable(label)), Text(printable(value)))
    console.print(grid)


def as_json(value: Any) -> str:
    """Anything that the warehouse holds as JSON, in ASCII alone: safe on a terminal too."""
    return json.dumps(plain(value), indent=2)


def plain(value: Any) -> Any:
    """A value as JSON has it; what it has no number for is "Infinity", "-Infinity" or "NaN"; times in UTC."""
    match value:
        case dict():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case float():
            return value if math.isfinite(value) else json.dumps(value)
        case None | bool() | int() | str():
            return value
        case Decimal():
            return float(value)
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case _:
            return str(value)
