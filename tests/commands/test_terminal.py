"""The door to a terminal: whatever is printed, and by whichever way, does nothing to it."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.logging import RichHandler
from rich.table import Table
from rich.text import Text

from pipelines import cli, progress, terminal
from pipelines.run import Outcome
from pipelines.summary import show_summary
from pipelines.terminal import Column, console, print_pairs, print_table, say
from tests.commands.asking import HOSTILE, OF_HOSTILE_NAME, Kernelindex
from warehouse.home import Home

# What begins a command of a terminal, moves its cursor, or turns the order of letters.
HARMFUL = st.text(st.sampled_from("a \t\n\r\b\a\x1b\x9b\x90\x7f\x85\u2028\u202e\u200b\ud800[2J"))


def in_a_table(console: Console, text: str) -> None:
    table = Table("name", title=Text(text))
    table.add_row(Text(text))
    console.print(table)


WAYS: dict[str, Callable[[Console, str], None]] = {
    "text": lambda console, text: console.print(Text(text, style="bold red"), soft_wrap=True),
    "a plain string": lambda console, text: console.print(text, markup=False),
    "a table": in_a_table,
    "our table": lambda console, text: print_table(console, text, [Column(text)], [[text]]),
    "labels and values": lambda console, text: print_pairs(console, [(text, text)]),
    "as it is laid out": lambda _, text: say(text),
    "a log line": lambda console, text: log(console, text),
}


def log(to: Console, text: str) -> None:
    record = progress.log.makeRecord("kernelindex", logging.INFO, "", 0, "kernel %s", (text,), None)
    RichHandler(console=to, show_path=False).handle(record)


@pytest.mark.parametrize("way", WAYS)
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=HARMFUL)
def test_what_is_printed_does_nothing_to_a_terminal(
    capsys: pytest.CaptureFixture[str], way: str, text: str
) -> None:
    WAYS[way](console(width=60), text)
    printed = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in printed)


def test_our_own_styles_still_reach_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    console().print(Text("a\x1b[2Jb", style="bold"))
    assert capsys.readouterr().out == "\x1b[1ma\ufffd[2Jb\x1b[0m\n"


def test_log_lines_do_nothing_to_a_terminal_of_dagsters_either() -> None:
    record = progress.log.makeRecord("kernelindex", logging.INFO, "", 0, "kernel %s", ("\x1b[2J",), None)
    progress.log.filter(record)
    assert record.getMessage() == "kernel \ufffd[2J"


def test_the_end_of_an_ingest_names_projects_harmlessly(
    kernelindex: Kernelindex, asked_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert HOSTILE in kernelindex("show", OF_HOSTILE_NAME, "--json").json["project"]
    show_summary(console(width=200), asked_home, Outcome("0", [], 0, 0))
    printed = capsys.readouterr().out
    assert "Mal\ufffd[31mory" in printed
    assert all(character.isprintable() or character == "\n" for character in printed)


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_no_form_of_an_answer_for_people_does_anything(kernelindex: Kernelindex, form: str) -> None:
    query = "select project as \"a\x1b[2Jb\", project from (values (E'x\\x1b[2J\\u009b')) as t(project)"
    text = kernelindex("sql", query, "--format", form).text
    assert all(character.isprintable() or character == "\n" for character in text)


def test_what_nobody_foresaw_is_said_harmlessly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise ValueError("what a page says: \x1b[2J")

    monkeypatch.setattr(cli, "app", fails)
    with pytest.raises(SystemExit) as ended:
        cli.run()
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert said.endswith("ValueError: what a page says: \ufffd[2J\n\n")


def test_nothing_else_prints() -> None:
    root = Path(terminal.__file__).parents[1]
    prints = re.compile(r"(?<![\w.])print\(|\bConsole\(|typer\.echo\(|sys\.std(?:out|err)\.write\(")
    by = {
        str(path.relative_to(root))
        for room in ("pipelines", "assets", "warehouse")
        for path in (root / room).rglob("*.py")
        if prints.search(path.read_text("utf-8"))
    }
    # The reference is written by a person's own command, of our own words.
    assert by == {"pipelines/terminal.py", "warehouse/reference.py"}
