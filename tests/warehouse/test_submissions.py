"""Submissions that several kernels list: each counts once, and its history is one."""

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from assets.leaderboard.sources import DirectorySource
from assets.rankings.accounting import accounts_by_kernel, unaccounted
from pipelines.checks import MANIFEST_CHECKS, opened_tables
from tests.examples import GEMM, RMSNORM, SERVED, Kernel, Row, ingest, recorded, save
from warehouse.home import Home
from warehouse.parquet import read_table, rows_of
from warehouse.tables import PROJECTS, QUARANTINE, RUNS, SOURCE_SUBMISSIONS, SUBMISSION_HISTORY, TABLES, Table

MOVED = 32884  # GEMM's best

Seen = Callable[..., None]


@pytest.fixture
def seen(home: Home, tmp_path: Path) -> Seen:
    """Give a function that ingests kernels as they are seen, each time an hour after the last."""
    times = 0

    def ingested(*kernels: Kernel) -> None:
        nonlocal times
        directory = save(tmp_path / f"seen {times}", *kernels)
        for path in directory.rglob("*.json"):
            os.utime(path, (SERVED.timestamp() + times * 3600,) * 2)
        times += 1
        ingest(DirectorySource(directory), home)
        assert unaccounted(home).to_pylist() == []
        with opened_tables(home) as tables:
            for check in MANIFEST_CHECKS:
                result = check.result(tables, home)
                assert result.passed or not check.blocking, check.name

    return ingested


def rows(home: Home, table: Table, submission_id: int = MOVED) -> list[Row]:
    return [row for row in rows_of(read_table(home, table)) if row["submission_id"] == submission_id]


def told(home: Home) -> list[tuple[int, str | None]]:
    """A submission's history: at which kernel each version was, and why it ended."""
    history = rows(home, SUBMISSION_HISTORY)
    assert [row["version"] for row in history] == list(range(1, len(history) + 1))
    assert all(one["valid_to"] <= other["valid_from"] for one, other in pairwise(history))
    return [(row["kernel_id"], row["end_reason"]) for row in history]


def under_id(kernel: Kernel, kernel_id: int) -> Kernel:
    kernel.definition["id"] = kernel_id
    for row in kernel.submissions:
        row["kernel_id"] = kernel_id
    return kernel


def test_a_kernel_that_comes_back_under_a_new_id_takes_its_submissions_along(home: Home, seen: Seen) -> None:
    gemm, rmsnorm = recorded(GEMM), recorded(RMSNORM)
    seen(gemm, rmsnorm)
    before = sorted(row["run_digest"] for row in rows_of(read_table(home, RUNS)))
    seen(under_id(recorded(GEMM), 900), rmsnorm)
    assert sorted(row["run_digest"] for row in rows_of(read_table(home, RUNS))) == before
    assert [row["kernel_id"] for row in rows(home, SOURCE_SUBMISSIONS)] == [900]
    assert told(home) == [(gemm.id, "MOVED"), (900, None)]
    assert read_table(home, QUARANTINE).num_rows == 0
    accounts = {row["kernel_id"]: row for row in accounts_by_kernel(home).to_pylist()}
    assert (accounts[gemm.id]["no_runs"], accounts[900]["runs"]) == (3, 3)


def test_a_submission_that_moves_and_comes_back_loses_no_version(home: Home, seen: Seen) -> None:
    gemm, rmsnorm = recorded(GEMM), recorded(RMSNORM)
    seen(gemm, rmsnorm)
    moved = gemm.submissions.pop(0)
    rmsnorm.submissions.append({**moved, "kernel_id": rmsnorm.id})
    seen(gemm, rmsnorm)
    gemm.submissions.append(moved)
    rmsnorm.submissions.pop()
    seen(gemm, rmsnorm)
    assert told(home) == [(gemm.id, "NOT_LISTED"), (rmsnorm.id, "NOT_LISTED"), (gemm.id, None)]


def test_a_submission_that_two_listed_kernels_list_counts_where_it_came_last(home: Home, seen: Seen) -> None:
    gemm, rmsnorm = recorded(GEMM), recorded(RMSNORM)
    seen(gemm, rmsnorm)
    rmsnorm.submissions.append({**gemm.submissions[0], "kernel_id": rmsnorm.id})
    seen(gemm, rmsnorm)
    assert [row["kernel_id"] for row in rows(home, SOURCE_SUBMISSIONS)] == [rmsnorm.id]
    assert len(rows(home, RUNS)) == 1
    assert told(home) == [(gemm.id, "MOVED"), (rmsnorm.id, None)]
    (row,) = rows_of(read_table(home, QUARANTINE))
    assert (row["item"], row["locator"]) == (f"submission {MOVED}", f"/submissions?kernel_id={gemm.id}")
    assert f"kernel {rmsnorm.id} lists it too" in row["problem"]


def test_a_row_that_says_it_is_of_another_kernel_counts_there_alone(home: Home, seen: Seen) -> None:
    gemm, rmsnorm = recorded(GEMM), recorded(RMSNORM)
    rmsnorm.submissions.append(gemm.submissions[0])
    seen(gemm, rmsnorm)
    assert [row["kernel_id"] for row in rows(home, SOURCE_SUBMISSIONS)] == [gemm.id]


def test_a_submission_that_moves_and_turns_private_leaves_no_name_behind(home: Home, seen: Seen) -> None:
    gemm, rmsnorm = recorded(GEMM), recorded(RMSNORM)
    gemm.submissions[0]["username"] = "Ada"
    seen(gemm, rmsnorm)
    private = {**gemm.submissions[0], "kernel_id": 900, "submission_mode": "private"}
    back = under_id(recorded(GEMM), 900)
    back.submissions[0] = private
    seen(back, rmsnorm)
    assert [row["outcome"] for row in rows(home, SUBMISSION_HISTORY)] == ["run", "NOT_PUBLIC"]
    assert "Ada" not in {row["name"] for row in rows_of(read_table(home, PROJECTS))}
    for table in TABLES.values():
        assert "Ada" not in str(read_table(home, table).to_pylist())
