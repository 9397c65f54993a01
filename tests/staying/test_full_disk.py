"""A disk that is full, wherever a run has got to: an error that says so, what is published intact, recovery.

How often: `KERNELINDEX_FULL_DISKS`; `make test-staying` fills it thirty times. Only root may mount a disk.
"""

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.staying.commands import Board, ended, kernelindex, places, started, times
from warehouse.files import left_behind
from warehouse.home import Home

DISK_BYTES = 96_000_000
TIMES = times("KERNELINDEX_FULL_DISKS", 1)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "kernelindex", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user, or this machine, may not mount a disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def fill(disk: Path, left_bytes: int) -> Path:
    """Fill a disk but for so many bytes; the file that does."""
    filler = disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(disk).free - left_bytes))
    return filler


def test_a_full_disk_is_said_to_be_full_and_the_last_warehouse_stays(
    disk: Path, ingested: Home, boards: tuple[Board, Board]
) -> None:
    moments = random.Random(8)
    before, after = boards
    home = Home(disk / "home")
    for _ in range(TIMES):
        # Each time a new one: Dagster's history of sixty runs is more than the disk holds.
        shutil.rmtree(home.directory, ignore_errors=True)
        shutil.copytree(ingested.directory, home.directory)
        # A run writes about ten megabytes, most of them Dagster's events and the warehouse.
        filler = fill(disk, moments.randrange(10_000_000))

        full = ended(started("ingest", home, "--source", str(after.directory)))

        if full.code:  # Else there was room enough.
            assert "the disk is full: make room, then run it again" in full.said
            assert "Traceback" not in full.said
            assert places(home) == before.places
        filler.unlink()
        recovered = kernelindex("ingest", home, "--source", str(after.directory))
        assert recovered.code == 0, recovered.said
        assert places(home) == after.places
        assert list(left_behind(home.directory)) == []


def test_a_disk_that_is_full_from_the_start_is_said_to_be_full(disk: Path) -> None:
    fill(disk, 100_000)
    full = ended(started("ingest", Home(disk / "home")))
    assert full.code == 1
    assert "the disk is full: make room, then run it again" in full.said
    assert "Traceback" not in full.said
