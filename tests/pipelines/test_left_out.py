"""What the data leaves out, kernels that are gone and submissions that a source did not give; who says so."""

import json
from pathlib import Path

import duckdb
import pytest

from assets.leaderboard.kernel_pages import kernel_listing
from assets.leaderboard.sources import DirectorySource
from pipelines.checks import MANIFEST_CHECKS, opened_tables
from pipelines.doctor import examine
from pipelines.left_out import left_out
from tests.examples import GEMM, RMSNORM, Row, ingest, recorded, save
from tests.site.pages import read_pages, words
from warehouse import connect
from warehouse.build import build_warehouse
from warehouse.home import Home
from warehouse.parquet import read_table, rows_of
from warehouse.site.build import write_site
from warehouse.tables import SOURCE_KERNELS


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Two kernels of three submissions each, as a directory of saved answers."""
    return save(tmp_path / "saved", recorded(GEMM), recorded(RMSNORM))


def change(saved: Path, file: str, name: str, value: object) -> None:
    """Let a saved answer say something else."""
    answer = json.loads((saved / file).read_bytes())
    answer["data"][name] = value
    (saved / file).write_text(json.dumps(answer))


def listed(*names: str, **said: object) -> list[Row]:
    return [{"id": recorded(name).id, "name": name, **said} for name in names]


def kernels(home: Home) -> dict[str, Row]:
    return {row["kernel_name"]: row for row in rows_of(read_table(home, SOURCE_KERNELS))}


def published(saved: Path, home: Home) -> Home:
    ingest(DirectorySource(saved), home)
    home.write_version()
    build_warehouse(home)
    return home


def sentences(home: Home) -> list[str]:
    with connect(home.directory) as warehouse:
        return [problem for problem, _ in left_out(warehouse)]


def warned_of(home: Home, check: str) -> list[str]:
    """The kernels that a check names."""
    (found,) = [each for each in MANIFEST_CHECKS if each.name == check]
    assert not found.blocking
    assert isinstance(found.broken, str)
    with opened_tables(home) as tables:
        return [name for name, *_ in tables.sql(found.broken).fetchall()]


def test_where_nothing_is_left_out_nobody_says_so(saved: Path, home: Home) -> None:
    assert sentences(published(saved, home)) == []
    assert warned_of(home, "no_kernel_is_gone") + warned_of(home, "no_submission_is_missing") == []


def test_a_kernel_that_is_gone_stays_ranked_and_everybody_says_so(
    saved: Path, home: Home, tmp_path: Path
) -> None:
    ingest(DirectorySource(saved), home)
    change(saved, "kernels.json", "kernels", listed(RMSNORM))
    published(saved, home)
    gone_since = kernels(home)[GEMM]["gone_since"]
    assert gone_since == DirectorySource(saved)._page("/kernels", Path("kernels.json")).fetched_at
    assert kernels(home)[RMSNORM]["gone_since"] is None
    said = f"1 kernels are gone from the leaderboard, and stay ranked as they were last seen: {GEMM}"
    assert sentences(home) == [said]
    assert said in [finding.problem for finding in examine(home).findings if not finding.is_wrong]
    assert warned_of(home, "no_kernel_is_gone") == [GEMM]
    with connect(home.directory) as warehouse:
        ranked = "select kernel, count(*), min(gone_since) from leaderboard group by all order by kernel"
        assert warehouse.sql(ranked).fetchall() == [(GEMM, 3, gone_since), (RMSNORM, 3, None)]
        write_site(warehouse, tmp_path / "site")
    pages = read_pages(tmp_path / "site")
    assert "1 kernels are gone from the leaderboard." in words(pages.by_path["index.html"].get_text())
    assert "This kernel is gone from the leaderboard since" in pages.titled(GEMM).get_text()
    assert "gone" not in pages.titled(RMSNORM).get_text()


def test_a_kernel_that_is_listed_again_is_not_gone(saved: Path, home: Home) -> None:
    for names in ([GEMM, RMSNORM], [RMSNORM], [GEMM, RMSNORM]):
        change(saved, "kernels.json", "kernels", listed(*names))
        ingest(DirectorySource(saved), home)
    assert kernels(home)[GEMM]["gone_since"] is None


def test_a_kernel_stays_gone_since_the_first_listing_without_it(saved: Path, home: Home) -> None:
    for names in ([GEMM, RMSNORM], [RMSNORM], []):
        change(saved, "kernels.json", "kernels", listed(*names))
        ingest(DirectorySource(saved), home)
    gone = {row["kernel_name"]: row["gone_since"] for row in kernel_listing(home)}
    assert gone[GEMM] < gone[RMSNORM]


@pytest.mark.parametrize(("count", "total"), [(10, 3), (None, 10), (8, 10), (10, 0)])
def test_submissions_that_a_source_lists_and_does_not_give_are_counted(
    saved: Path, home: Home, tmp_path: Path, count: int | None, total: int
) -> None:
    change(saved, "kernels.json", "kernels", listed(GEMM, submission_count=count) + listed(RMSNORM))
    change(saved, f"submissions/{recorded(GEMM).id}.json", "total", total)
    published(saved, home)
    row = kernels(home)[GEMM]
    names = ("submission_count", "submission_total", "submissions_held", "submissions_missing")
    assert [row[name] for name in names] == [count, total, 3, 7]
    said = f"of 1 kernels the source gave fewer submissions than it lists, 3 of 10: {GEMM}"
    assert sentences(home) == [said]
    assert said in [finding.problem for finding in examine(home).findings if not finding.is_wrong]
    assert warned_of(home, "no_submission_is_missing") == [GEMM]
    with connect(home.directory) as warehouse:
        write_site(warehouse, tmp_path / "site")
    pages = read_pages(tmp_path / "site")
    assert "Of 1 kernels fewer submissions are held" in pages.by_path["index.html"].get_text()
    assert "The source lists 10 submissions, and gave 3:" in words(pages.titled(GEMM).get_text())


def test_a_submission_that_can_t_be_read_is_held(saved: Path, home: Home) -> None:
    gemm = recorded(GEMM)
    broken = [{**gemm.submissions[0], "latency_ms": "fast"}, {"id": "?"}, *gemm.submissions[1:]]
    change(saved, f"submissions/{gemm.id}.json", "submissions", broken)
    ingest(DirectorySource(saved), home)
    assert kernels(home)[GEMM]["submissions_held"] == 4


def test_every_submission_that_is_no_run_says_why(saved: Path, home: Home) -> None:
    gemm = recorded(GEMM)
    one, two, three = gemm.submissions
    one |= {"is_disqualified": True, "disqualification_reason": "caches", "disqualification_source": "NVIDIA"}
    two |= {"status": "PENDING_RESULT", "result_available_at": "2026-08-14T05:38:44"}
    three |= {"username": None}
    more = [
        {**three, "id": 4, "status": "FAILED", "error_log": "no such file"},
        {**three, "id": 5, "is_correct": False},
    ]
    change(saved, f"submissions/{gemm.id}.json", "submissions", gemm.submissions + more)
    with connect(published(saved, home).directory) as warehouse:
        rows = warehouse.sql("select submission_id, why from no_runs").fetchall()
    assert dict(rows) == {
        one["id"]: "caches, by NVIDIA",
        two["id"]: "its result is held back",
        three["id"]: "it would be a run, but names no username",
        4: "no such file",
        5: "its results are not correct",
    }


def test_what_is_left_out_needs_no_warehouse_of_this_version(home: Home, saved: Path) -> None:
    with duckdb.connect(published(saved, home).warehouse) as warehouse:
        warehouse.execute("drop view gone_kernels; update warehouse_version set version = 'older'")
    assert any("another version" in finding.problem for finding in examine(home).findings)
