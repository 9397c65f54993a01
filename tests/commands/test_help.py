"""`kernelindex --help` and completion: what they teach is true, and they come at once."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from pipelines.cli import app
from tests.commands.asking import GQA_BACKWARD, Kernelindex

COMMANDS = typer.main.get_group(app).commands
ASKING = ("show", "compare", "top", "records", "standings", "sql")


def examples(command: str) -> list[str]:
    """The command lines in a command's help, without what is said of them and where they write to."""
    lines = re.findall(r"^ *(kernelindex .+)$", COMMANDS[command].help or "", re.MULTILINE)
    return [re.split(r"   +| > ", line)[0] for line in lines]


@pytest.mark.parametrize("command", ASKING)
def test_each_example_in_the_help_of_what_asks_works(
    kernelindex: Kernelindex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("question.sql").write_text("from leaderboard limit 5")
    assert examples(command)
    for example in examples(command):
        ended = kernelindex(*shlex.split(example)[1:])
        assert (ended.code, ended.complaint) == (0, ""), example
        assert ended.written


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_shows_examples_that_it_understands(command: str) -> None:
    assert examples(command)
    for example in examples(command):
        _, name, *arguments = shlex.split(example)
        COMMANDS[command].make_context(name, arguments)
        assert name == command


def test_help_lists_commands_by_what_they_are_for(kernelindex: Kernelindex) -> None:
    text = kernelindex("--help").text
    panels = ["Fetch and publish", "Look things up", "Hand on", "Operate"]
    assert [text.index(panel) for panel in panels] == sorted(text.index(panel) for panel in panels)
    assert all(f"│ {command} " in text for command in COMMANDS)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["top"], ["show", "3268"], ["sql", "select 1"], ["top", "--help"]]
)
def test_who_asks_does_not_wait_for_dagster_and_arrow(kernelindex: Kernelindex, arguments: list[str]) -> None:
    code = (
        "import sys; from pipelines.cli import app; app(sys.argv[1:], standalone_mode=False);"
        "sys.exit(', '.join({'dagster', 'pandas', 'pyarrow', 'httpx'} & sys.modules.keys()))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert ended.stderr.strip() == ""


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kernelindex stan", ["standings"]),
        ("kernelindex top --kernel 003", [GQA_BACKWARD]),
        ("kernelindex top --stack v", ["v1.0", "v1.1"]),
        ("kernelindex records --project double", ["doubleAI"]),
        ("kernelindex show 326", ["3268"]),
        # A shell takes what is completed as it is: names that it would read otherwise are not offered.
        ("kernelindex top --project Mal", []),
        ("kernelindex top --project Amir", []),
        ("kernelindex top --home /nowhere --kernel 003", []),
    ],
)
def test_words_are_completed_from_the_warehouse(
    kernelindex: Kernelindex, line: str, offered: list[str]
) -> None:
    environment = {
        "_KERNELINDEX_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    ended = kernelindex(env=environment, prog_name="kernelindex")
    assert ended.text.split() == offered
