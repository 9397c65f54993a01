"""SIGKILL at random moments: the warehouse is always a good one, and the next run completes.

How often: `KERNELINDEX_KILLS`; `make test-staying` kills a hundred times.
"""

import os
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from pipelines.instance import BY_COMMAND, instance_there
from pipelines.own_runs import UNDER_WAY
from tests.staying.commands import Board, ended, places, started, times
from warehouse.build import damage_to_warehouse
from warehouse.files import left_behind, sweep
from warehouse.home import Home
from warehouse.parquet import read_table, write_table
from warehouse.tables import RUNS, TABLES

KILLS = times("KERNELINDEX_KILLS", 2)
# About when an ingest begins to write, and when it is over.
BEGINS_S, TAKES_S = 2.0, 8.0

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


def cpu_s(process: subprocess.Popen[str]) -> float:
    """How long a process has computed: unlike the time of day, it tells how far it has got."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def killed(process: subprocess.Popen[str], after_cpu_s: float) -> bool:
    """Kill a process once it has computed for that long; whether it was still under way then."""
    while cpu_s(process) < after_cpu_s:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.01)
            break
    process.kill()
    process.communicate()
    return process.returncode < 0


def test_an_ingest_that_is_killed_leaves_a_good_warehouse_and_a_home_to_go_on_with(
    boards: tuple[Board, Board], copied: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(copied.dagster))
    moments = random.Random(8)
    for number in range(KILLS):
        board = boards[(number + 1) % 2]
        process = started("ingest", copied, "--source", str(board.directory))
        was_killed = killed(process, moments.uniform(BEGINS_S, TAKES_S))
        assert was_killed or process.returncode == 0
        assert damage_to_warehouse(copied) is None
        assert places(copied) in ({board.places for board in boards} if was_killed else {board.places})

    last = ended(started("ingest", copied, "--source", str(boards[1].directory)))

    assert last.code == 0, last.said
    assert places(copied) == boards[1].places
    assert list(left_behind(copied.directory)) == []
    with instance_there(copied) as instance:
        assert instance.get_runs(dg.RunsFilter(tags=BY_COMMAND, statuses=UNDER_WAY)) == []
        for pool in ("fetching", "publishing"):
            assert instance.event_log_storage.get_concurrency_info(pool).claimed_slots == []


def test_a_publish_that_is_killed_leaves_one_warehouse_or_the_other(sample_home: Home, home: Home) -> None:
    shutil.copytree(sample_home.directory / "tables", home.directory / "tables")
    command = [sys.executable, "-m", "tests.staying.publisher", str(home.directory)]
    said = subprocess.run([*command, "2"], capture_output=True, text=True, check=True).stdout
    versions = dict(line.split() for line in said.splitlines())
    runs = read_table(sample_home, RUNS)
    moments = random.Random(8)
    for _ in range(KILLS):
        write_table(home, RUNS, runs)
        process = subprocess.Popen([*command, "1000"], stdout=subprocess.PIPE, text=True)
        assert process.stdout
        process.stdout.readline()  # It has begun.
        assert killed(process, cpu_s(process) + moments.uniform(0, 1))
        assert damage_to_warehouse(home) is None
        with duckdb.connect(home.warehouse, read_only=True) as warehouse:
            ((version, count),) = warehouse.execute(
                "select version, (select count(*) from runs) from warehouse_version"
            ).fetchall()
        assert versions[version] == str(count)
    sweep(home.directory)
    assert {path.name for path in home.directory.iterdir()} == {"tables", "warehouse.duckdb"}
    assert {path.stem for path in (home.directory / "tables").iterdir()} == set(TABLES)
