"""From a kernel's stored pages to the part that holds what they say."""

import os
from pathlib import Path

import pytest

from assets.leaderboard.kernel_pages import fetch_kernel, fetch_kernel_listing
from assets.leaderboard.snapshots import SnapshotError, Snapshots
from assets.leaderboard.sources import DirectorySource
from assets.manifests import kernel_manifests
from assets.manifests.kernel_manifests import make_all_manifests, make_manifests
from tests.examples import Kernel, save
from warehouse.home import Home
from warehouse.parquet import rows_of
from warehouse.parts import read_part


def fetch(kernel: Kernel, directory: Path, home: Home) -> None:
    fetch_kernel(DirectorySource(save(directory, kernel)), home, "gemm", kernel.id)


def test_what_pages_say_is_made_once(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    fetch(gemm, tmp_path, home)
    first = make_manifests(home, "gemm", gemm.id)
    part = home.part("gemm", "manifests").read_bytes()
    second = make_manifests(home, "gemm", gemm.id)
    assert (first.changed, second.changed) == (True, False)
    assert (first.rows["runs"], first.rows["workloads"]) == (3, 26)
    assert second == type(second)({}, first.version, changed=False)
    assert home.part("gemm", "manifests").read_bytes() == part


def test_a_changed_page_is_read_again(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    fetch(gemm, tmp_path, home)
    make_manifests(home, "gemm", gemm.id)
    gemm.submissions[0]["is_disqualified"] = True
    fetch(gemm, tmp_path, home)
    assert make_manifests(home, "gemm", gemm.id).changed
    rows = rows_of(read_part(home.part("gemm", "manifests"), "source_submissions"))
    assert [row["outcome"] for row in rows] == ["DISQUALIFIED", "run", "run"]


def test_a_history_is_the_same_read_step_by_step_or_at_once_also_where_a_page_comes_back(
    gemm: Kernel, home: Home, tmp_path: Path
) -> None:
    for day, is_disqualified in enumerate([False, True, False], start=1):
        gemm.submissions[0]["is_disqualified"] = is_disqualified
        save(tmp_path, gemm)
        for file in tmp_path.rglob("*.json"):
            os.utime(file, (day * 86_400, day * 86_400))
        fetch_kernel(DirectorySource(tmp_path), home, "gemm", gemm.id)
        make_manifests(home, "gemm", gemm.id)
    part = home.part("gemm", "manifests")
    step_by_step = rows_of(read_part(part, "submission_history"))
    part.unlink()
    make_manifests(home, "gemm", gemm.id)
    assert rows_of(read_part(part, "submission_history")) == step_by_step
    assert [row["valid_from"].day for row in step_by_step if row["version"] > 1] == [3, 4]


@pytest.mark.parametrize("editions", [1, 2])
def test_a_record_of_pages_that_was_lost_begins_anew(
    gemm: Kernel, home: Home, tmp_path: Path, editions: int
) -> None:
    for latency_ms in (1.0, 2.0)[:editions]:
        gemm.submissions[0]["latency_ms"] = latency_ms
        fetch(gemm, tmp_path, home)
        make_manifests(home, "gemm", gemm.id)
    home.part("gemm", "pages").unlink()
    gemm.submissions.pop()
    fetch(gemm, tmp_path, home)
    assert make_manifests(home, "gemm", gemm.id).rows["runs"] == 2


def test_a_page_that_turns_unreadable_leaves_the_kernel_what_it_had(
    gemm: Kernel, home: Home, tmp_path: Path
) -> None:
    fetch(gemm, tmp_path, home)
    before = make_manifests(home, "gemm", gemm.id).rows
    (tmp_path / f"submissions/{gemm.id}.json").write_text("<html>Bad gateway</html>")
    fetch_kernel(DirectorySource(tmp_path), home, "gemm", gemm.id)

    assert make_manifests(home, "gemm", gemm.id).rows == {**before, "quarantine": 1}

    gemm.submissions.pop()
    fetch(gemm, tmp_path, home)
    after = make_manifests(home, "gemm", gemm.id).rows
    assert (after["quarantine"], after["runs"]) == (0, before["runs"] - 1)


def test_a_damaged_snapshot_is_never_read(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    fetch(gemm, tmp_path, home)
    snapshots = Snapshots(home.snapshots)
    for digest in snapshots:
        snapshots.path(digest).write_bytes(b"")
    with pytest.raises(SnapshotError):
        make_manifests(home, "gemm", gemm.id)
    assert not home.part("gemm", "manifests").exists()


def test_every_row_leads_to_bytes_that_are_kept(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    gemm.submissions[0]["latency_ms"] = "fast"
    gemm.submissions[1]["unheard_of"] = 1
    fetch(gemm, tmp_path, home)
    made = make_manifests(home, "gemm", gemm.id)
    kept = set(Snapshots(home.snapshots))
    for table in ("source_kernels", "source_workloads", "source_submissions", "runs", "quarantine", "drift"):
        assert made.rows[table]
        rows = rows_of(read_part(home.part("gemm", "manifests"), table))
        assert {row["page_digest"] for row in rows} <= kept


def test_two_processes_make_what_one_makes(
    rmsnorm: Kernel, gemm: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {}
    source = DirectorySource(save(tmp_path / "saved", rmsnorm, gemm))
    for name, many in (("one", 10**9), ("two", 0)):
        monkeypatch.setattr(kernel_manifests, "MANY_SUBMISSIONS", many)
        home = Home(tmp_path / name)
        kernels = fetch_kernel_listing(source, home)
        for row in kernels:
            fetch_kernel(source, home, row["kernel_key"], row["kernel_id"])
        states = list(make_all_manifests(home, kernels))
        assert [state.changed for state in states] == [True, True]
        made[name] = [path.read_bytes() for path in home.parts("manifests")]
    assert made["one"] == made["two"]
