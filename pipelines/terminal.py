"""How answers reach a terminal or a script: text that does nothing to a terminal, tables that fit, JSON.

This is the one door to a terminal: nothing else prints. Names, pages and what servers answer hold anything;
whatever is printed here, nothing of it but our own styles and lines makes a terminal do something.
"""

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

# What is folded has at least so many letters a line, if it is as long.
FOLDED_WIDTH = 12


class _Harmless(RenderHook):
    """Makes all that a console prints printable, after it was laid out and styled."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Printable(renderable) for renderable in renderables]


class _Printable(NamedTuple):
    renderable: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.renderable, options):
            yield Segment(printable_lines(text), style, control)


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console on which nothing that is printed does anything to a terminal."""
    made = Console(stderr=stderr, width=width, highlight=False)
    made.push_render_hook(_Harmless())
    return made


def screen() -> Console:
    """Where answers go. What goes into a pipe or a file is not folded: that is for grep and its like."""
    is_piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return console(width=10_000 if is_piped else None)


def say(text: str) -> None:
    """Print a text as it is laid out already, without styles: JSON, or a sentence for scripts too."""
    typer.echo(printable_lines(text))


def printable(text: str) -> str:
    """A text that does nothing to a terminal, whatever was in it: one line, without control characters."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def printable_lines(text: str) -> str:
    """The same for a text that may have several lines, which end in line feeds."""
    return "\n".join(map(printable, text.replace("\r\n", "\n").split("\n")))


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
