"""The command, in this process or in one of its own; and what a warehouse must then hold."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from typer.testing import CliRunner

from pipelines.cli import app
from warehouse.home import Home

Places = frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Board:
    """A state of the leaderboard: its saved answers, and the places that its runs have."""

    directory: Path
    places: Places


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, and what it said."""

    code: int
    said: str


def kernelindex(command: str, home: Home, *arguments: str) -> Ended:
    """A command on a home, run to its end in this process, which need not import all of it anew."""
    environment = {"KERNELINDEX_HOME": str(home.directory), "DAGSTER_HOME": str(home.dagster)}
    result = CliRunner().invoke(app, [command, *arguments], env=environment)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.output)


def started(command: str, home: Home, *arguments: str, by: Sequence[str] = ()) -> subprocess.Popen[str]:
    """A command on a home, started as a process of its own; `by` is what starts it, as `setpriv`."""
    return subprocess.Popen(
        [*by, sys.executable, "-m", "pipelines.cli", command, "--home", str(home.directory), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> Ended:
    """How a command ends, once it does."""
    said, _ = process.communicate(timeout=180)
    return Ended(process.returncode, said)


def places(home: Home) -> Places:
    """The places that the published warehouse gives the runs."""
    with duckdb.connect(home.warehouse, read_only=True) as warehouse:
        return frozenset(warehouse.execute("select run_digest, rank from rankings").fetchall())


def times(name: str, default: int) -> int:
    """How often a test that takes long does what it does: as the environment says, or a few times."""
    return int(os.environ.get(name, default))


def killed_while_writing(path: Path) -> None:
    """Have a process written aside half a file, and killed then."""
    code = (
        "import os, pathlib, sys; from warehouse.files import written_aside\n"
        "with written_aside(pathlib.Path(sys.argv[1])) as aside:\n"
        "    aside.write_text('half')\n"
        "    os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, path], check=False)


def flip(path: Path, at: float = 0.5) -> None:
    """Flip a bit of a file, at this part of its length."""
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    """Cut a file short."""
    path.write_bytes(path.read_bytes()[:-9])
