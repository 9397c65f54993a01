"""`kernelindex --help` and completion: what they teach is true, and they come at once."""

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

from pipelines.cli import app
from tests.commands.asking import GQA_BACKWARD, Kernelindex
from warehouse.home import Home

COMMANDS = typer.main.get_group(app).commands
ASKING = ("show", "compare", "top", "records", "standings", "list", "sql")


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


def test_help_and_version_are_there_as_everywhere(kernelindex: Kernelindex) -> None:
    for command in ([], ["top"]):
        assert kernelindex(*command, "-h").text == kernelindex(*command, "--help").text
    assert kernelindex("--version").text == f"{version('kernelindex-pipeline')}\n"


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
    "arguments",
    [
        ["--help"],
        ["top"],
        ["top", "--json"],
        ["show", "3268"],
        ["sql", "from runs", "--format", "csv"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_where_nobody_reads_on_it_ends_quietly_and_as_others_do(
    asked_home: Home, arguments: list[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = started(asked_home, sys.executable, "-m", "pipelines.cli", *arguments, stdout=writer)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_of_which_only_the_start_was_read_does_not_end_as_a_whole_one(
    asked_home: Home, unbuffered: str
) -> None:
    environment = {
        **os.environ,
        "KERNELINDEX_HOME": str(asked_home.directory),
        "PYTHONUNBUFFERED": unbuffered,
    }
    answer = ["sql", "select repeat('x', 1_000_000)", "--format", "csv"]
    command = [sys.executable, "-m", "pipelines.cli", *answer]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout
        process.stdout.read(10)
        process.stdout.close()
    assert process.returncode == 141


def started(home: Home, *command: str, stdout: int | None = None) -> subprocess.CompletedProcess[str]:
    """A command that ran in a process of its own."""
    environment = {**os.environ, "KERNELINDEX_HOME": str(home.directory)}
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, env=environment, text=True, check=False
    )


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
