"""Readers from other processes query without pause through publishes: no error, and no half-seen state.

How many: `KERNELINDEX_READERS` and `KERNELINDEX_PUBLISHES`; `make test-staying` has 8 read through 50.
"""

import json
import shutil
import subprocess
import sys
from typing import Any

from tests.staying.commands import times
from warehouse.home import Home

PUBLISHES = times("KERNELINDEX_PUBLISHES", 3)
READERS = times("KERNELINDEX_READERS", 3)


def process(module: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"tests.staying.{module}", *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def published(home: Home, publishes: int) -> dict[str, int]:
    """Publish so often; the versions, each with its number of runs."""
    said, _ = process("publisher", home.directory, publishes).communicate(timeout=600)
    lines = [line.split() for line in said.splitlines()]
    assert len(lines) == publishes
    return {version: int(runs) for version, runs in lines}


def what_they_say(readers: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """What readers say, once they are told to stop."""
    said = [reader.communicate(timeout=60)[0] for reader in readers]
    assert [reader.returncode for reader in readers] == [0] * len(readers)
    return [json.loads(line) for line in said]


def test_every_query_sees_one_version_whole(sample_home: Home, home: Home) -> None:
    shutil.copytree(sample_home.directory / "tables", home.directory / "tables")
    versions = published(home, 1)
    readers = [process("reader", home.warehouse) for _ in range(READERS)]

    versions |= published(home, PUBLISHES)

    said = what_they_say(readers)
    for version, runs, on_the_leaderboard in (row for reader in said for row in reader["seen"]):
        assert runs == on_the_leaderboard == versions[version]
    print([(reader["queries"], round(reader["median_ms"])) for reader in said])
