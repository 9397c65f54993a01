"""Snapshots: every page's bytes, once, under their digest."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.leaderboard.snapshots import Page, SnapshotError, Snapshots, digest_of
from tests.examples import GEMM, recorded_pages, stamp

BODY = recorded_pages(GEMM)[0].body


@pytest.fixture
def snapshots(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "snapshots")


def files(snapshots: Snapshots) -> list[Path]:
    return [path for path in snapshots.directory.rglob("*") if path.is_file()]


def test_a_page_is_named_by_the_digest_of_its_bytes(snapshots: Snapshots) -> None:
    fetched = Page("/kernels/213", BODY, datetime(2026, 8, 11, tzinfo=UTC), "file:///kernels/213.json")
    assert fetched.page_digest == digest_of(BODY) == "sha256:" + hashlib.sha256(BODY).hexdigest()
    assert snapshots.put(fetched.body) == fetched.page_digest
    assert snapshots.get(fetched.page_digest) == BODY


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=2000))
def test_any_bytes_come_back_as_they_were(snapshots: Snapshots, body: bytes) -> None:
    assert snapshots.get(snapshots.put(body)) == body


def test_the_same_bytes_are_kept_once_and_left_alone(snapshots: Snapshots) -> None:
    digest = snapshots.put(BODY)
    first = stamp(snapshots.path(digest))
    assert snapshots.put(bytes(BODY)) == digest
    assert [stamp(path) for path in files(snapshots)] == [first]


def test_what_is_kept_is_compressed(snapshots: Snapshots) -> None:
    assert snapshots.path(snapshots.put(BODY)).stat().st_size < len(BODY) / 3


def test_nothing_but_snapshots_is_left(snapshots: Snapshots) -> None:
    digests = {snapshots.put(page.body) for page in recorded_pages(GEMM)}
    assert set(snapshots) == digests
    assert {path.name for path in files(snapshots)} == {f"{digest[7:]}.zst" for digest in digests}


def test_a_directory_that_is_not_there_holds_no_snapshots(snapshots: Snapshots) -> None:
    assert list(snapshots) == []


def test_a_snapshot_that_is_not_there_is_asked_for_in_vain(snapshots: Snapshots) -> None:
    with pytest.raises(SnapshotError, match=digest_of(BODY)):
        snapshots.get(digest_of(BODY))


@pytest.mark.parametrize("damage", ["empty", "cut", "one bit", "other bytes", "no zstd", "more at the end"])
def test_a_damaged_snapshot_is_never_given_out(snapshots: Snapshots, damage: str) -> None:
    digest = snapshots.put(BODY)
    path = snapshots.path(digest)
    kept = path.read_bytes()
    middle = len(kept) // 2
    path.write_bytes(
        {
            "empty": b"",
            "cut": kept[:-9],
            "one bit": kept[:middle] + bytes([kept[middle] ^ 1]) + kept[middle + 1 :],
            "other bytes": snapshots.path(snapshots.put(b"other bytes")).read_bytes(),
            "no zstd": BODY,
            "more at the end": kept + kept,
        }[damage]
    )
    with pytest.raises(SnapshotError, match=digest):
        snapshots.get(digest)


def test_a_damaged_snapshot_is_mended_when_its_page_is_fetched_again(snapshots: Snapshots) -> None:
    digest = snapshots.put(BODY)
    snapshots.path(digest).write_bytes(b"")
    snapshots.put(BODY)
    assert snapshots.get(digest) == BODY


def test_where_one_of_many_can_not_be_written_all_others_are(snapshots: Snapshots) -> None:
    bodies = [str(number).encode() for number in range(50)]
    in_the_way = snapshots.path(digest_of(bodies[0])).parent
    in_the_way.parent.mkdir()
    in_the_way.write_text("a file, where the directory would be")
    with pytest.raises(OSError, match="exists"):
        snapshots.put_all(bodies)
    others = [body for body in bodies if snapshots.path(digest_of(body)).parent != in_the_way]
    assert all(snapshots.holds(digest_of(body)) for body in others)
    assert list(snapshots.directory.glob(".*")) == []
