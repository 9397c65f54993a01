"""Fifty runs at once, and people who query all the while: nobody fails, and nothing is lost.

Of the archive where there is one, else of the sample, a run a kernel. Says what it took: run with `-s`.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from assets.leaderboard.assets import KERNELS
from assets.leaderboard.recorded import recorded_directory
from pipelines.instance import open_instance
from pipelines.jobs import range_tags
from pipelines.run import run_ingest
from pipelines.settings import Settings
from tests.pipelines.ui import UNDER_WAY, running_ui, wait_until
from warehouse.build import warehouse_version
from warehouse.home import Home
from warehouse.parquet import read_table
from warehouse.parts import parts_version
from warehouse.tables import TABLES

pytestmark = pytest.mark.ui

RUNS = 50
READERS = 3
PATIENCE_S = 3600

# Opens the warehouse anew for each query, as a person's shell does, until it is told to stop; it must never
# see a run that is neither ranked nor excluded. Ends with how often it looked.
READER = """
import sys
from pathlib import Path
import duckdb
warehouse, stop = map(Path, sys.argv[1:])
looks = 0
while not stop.exists():
    with duckdb.connect(warehouse, read_only=True) as connection:
        (astray,) = connection.execute(
            "select count(*) from runs "
            "anti join rankings using (run_digest) anti join exclusions using (run_digest)"
        ).fetchone()
        connection.execute("from standings").fetchall()
    assert astray == 0, f"{astray} runs are neither ranked nor excluded"
    looks += 1
print(looks)
"""


def leaderboard_of(directory: Path) -> Path:
    """A directory of saved answers."""
    if archive := os.environ.get("KERNELINDEX_ARCHIVE"):
        shutil.copytree(archive, directory)
    else:
        recorded_directory(directory)
    return directory


def forget_submissions(leaderboard: Path) -> None:
    """Go back to the day before, when every kernel had its first submission alone."""
    for path in (leaderboard / "submissions").glob("*.json"):
        a_day_before = path.stat().st_mtime - 24 * 60 * 60
        page = json.loads(path.read_text())
        page["data"]["submissions"] = page["data"]["submissions"][-1:]
        page["data"]["total"] = len(page["data"]["submissions"])
        path.write_text(json.dumps(page))
        os.utime(path, (a_day_before, a_day_before))
    for path in (leaderboard / "submissions").glob("*.*.json"):
        path.unlink()


def ingested(leaderboard: Path, home: Home) -> list[str]:
    """Ingest all in one run; the kernels' keys."""
    with open_instance(home) as instance:
        run_ingest(Settings(home=home.directory, source=str(leaderboard)), instance)
        return list(instance.get_dynamic_partitions(KERNELS))


@contextmanager
def reading(home: Home, stop: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """People who query a home's warehouse; they end with the block, and say how often they looked."""
    command = [sys.executable, "-c", READER, str(home.warehouse), str(stop)]
    try:
        yield [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(READERS)
        ]
    finally:
        stop.touch()


def test_fifty_runs_at_once_make_what_one_run_makes_while_readers_read(tmp_path: Path) -> None:
    before, now = leaderboard_of(tmp_path / "before"), leaderboard_of(tmp_path / "now")
    forget_submissions(before)
    one_run, home = Home(tmp_path / "one run"), Home(tmp_path / "home")
    keys = ingested(before, one_run)
    shutil.copytree(one_run.directory, home.directory)
    ingested(now, one_run)

    with running_ui(home, now) as ui, reading(home, tmp_path / "stop") as readers:
        begun, loads, versions = time.monotonic(), [0.0], {warehouse_version(home)}
        bounds = [len(keys) * number // RUNS for number in range(RUNS + 1)]
        chunks = [keys[first:last] for first, last in pairwise(bounds) if first < last]
        backfills, runs = [], []
        for number, chunk in enumerate(chunks):
            if number % 5:
                backfills.append(ui.backfill(["kernel_pages", "kernel_manifests"], partitionNames=chunk))
            else:
                runs.append(ui.run_job("ingest", range_tags(chunk)))

        def is_over() -> bool:
            loads.append(os.getloadavg()[0])
            versions.add(warehouse_version(home))
            ended = all(ui.backfill_status(backfill).startswith("COMPLETED") for backfill in backfills)
            is_collected = home.collected.read_text() == parts_version(home)
            return ended and is_collected and not UNDER_WAY & set(ui.run_statuses())

        wait_until(is_over, "all runs are over and carried to the warehouse", within_s=PATIENCE_S)
        took_s = time.monotonic() - begun
        statuses = [ui.backfill_status(backfill) for backfill in backfills]
        run_statuses = ui.run_statuses()
    ended = [reader.communicate(timeout=60) for reader in readers]
    assert [complained for _, complained in ended] == [""] * READERS
    looks = [int(said) for said, _ in ended]
    print(
        f"\n{len(backfills)} backfills and {len(runs)} ingests, of {len(keys)} kernels: {len(run_statuses)} "
        f"runs in {took_s:.0f} s, {len(versions) - 1} warehouses published, {sum(looks)} reads by {READERS} "
        f"readers, highest load {max(loads):.1f}"
    )
    assert min(looks) > 0
    assert set(statuses) == {"COMPLETED_SUCCESS"}
    assert set(run_statuses) == {"SUCCESS"}
    for table in TABLES.values():
        assert read_table(home, table).equals(read_table(one_run, table)), table.name
