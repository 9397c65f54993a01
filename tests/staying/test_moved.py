"""A home that is moved, that belongs to another user, or lies on a disk that is read only."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.doctor import examine
from tests.staying.commands import Board, ended, kernelindex, places, started
from warehouse.home import Home


def test_nothing_that_is_kept_says_where_the_home_is(ingested: Home) -> None:
    here = str(ingested.directory).encode()
    files = [path for path in ingested.directory.rglob("*") if path.is_file()]
    of_dagster = [path for path in files if path.is_relative_to(ingested.dagster)]
    assert [path for path in files if path not in of_dagster and here in path.read_bytes()] == []


def test_a_home_that_was_moved_is_as_good_as_before(
    copied: Home, boards: tuple[Board, Board], tmp_path: Path
) -> None:
    moved = Home(tmp_path / "another machine's disk" / "it's [here]")
    moved.directory.parent.mkdir()
    copied.directory.rename(moved.directory)
    assert examine(moved).is_well

    ingested = kernelindex("ingest", moved, "--source", str(boards[1].directory))

    assert ingested.code == 0, ingested.said
    assert places(moved) == boards[1].places
    assert not copied.directory.exists()
    assert examine(moved).is_well


@pytest.fixture
def mounted(ingested: Home, tmp_path: Path) -> Iterator[Home]:
    """A home on a disk that is mounted read only."""
    mounted = Home(tmp_path / "mounted")
    mounted.directory.mkdir()
    for how in (["--bind", ingested.directory], ["-o", "remount,bind,ro"]):
        if subprocess.run(["mount", *how, mounted.directory], capture_output=True, check=False).returncode:
            pytest.skip("this user, or this machine, may not mount a disk")
    yield mounted
    subprocess.run(["umount", "--lazy", mounted.directory], check=True)


def test_a_home_on_a_read_only_disk_can_be_read(mounted: Home, boards: tuple[Board, Board]) -> None:
    assert places(mounted) == boards[0].places
    shown = kernelindex("show", mounted, "3268")
    assert shown.code == 0, shown.said
    examined = kernelindex("doctor", mounted)
    assert examined.code == 0, examined.said


def test_nothing_is_ingested_into_a_home_on_a_read_only_disk_and_it_says_so(mounted: Home) -> None:
    refused = ended(started("ingest", mounted))
    assert refused.code == 1
    assert f"nothing can be written to {mounted.directory}" in refused.said
    assert "Traceback" not in refused.said


def test_another_user_can_read_a_home(ingested: Home, tmp_path: Path, boards: tuple[Board, Board]) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    for directory in [ingested.directory, *ingested.directory.parents]:
        directory.chmod(directory.stat().st_mode | 0o055)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    shown = ended(started("show", ingested, "3268", by=as_nobody))
    assert shown.code == 0, shown.said
