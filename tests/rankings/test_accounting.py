"""Accounting: what is listed is a run, no run for a reason, or in quarantine, whatever the pages hold."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.leaderboard.sources import DirectorySource
from assets.rankings.accounting import accounts_by_kernel, unaccounted
from tests.examples import GEMM, RMSNORM, ingest, recorded, save
from tests.rankings.boards import Row
from warehouse.home import Home
from warehouse.parquet import read_table, write_table
from warehouse.tables import QUARANTINE, RUNS, SOURCE_SUBMISSIONS, Table

# What can be the matter with a submission, and what then becomes of it.
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "fine": ({}, "runs"),
    "failed": ({"status": "RUNTIME_ERROR"}, "no_runs"),
    "incorrect": ({"is_correct": False}, "no_runs"),
    "disqualified": ({"is_disqualified": True}, "no_runs"),
    "unmeasured": ({"latency_ms": None}, "no_runs"),
    "misread": ({"latency_ms": "fast"}, "quarantined"),
    "nameless": ({"username": None}, "quarantined"),
    "of another kernel": ({"kernel_id": 10**6}, "quarantined"),
    "without an id": ({"id": None}, "quarantined"),
    "of a strange id": ({"id": -(10**30)}, "quarantined"),
}


def kernel_of(name: str, rng: random.Random, first_id: int) -> tuple[Any, dict[str, int]]:
    """A kernel of the sample with submissions of all kinds, and how many are to become what."""
    kernel = recorded(name)
    example = kernel.submissions[0]
    kernel.submissions, expected = [], {"listed": 0, "runs": 0, "no_runs": 0, "quarantined": 0}
    strange = False
    for submission_id in range(first_id, first_id + rng.randint(0, 12)):
        kind = rng.choice(list(KINDS))
        if kind == "of a strange id" and strange:
            kind = "fine"
        strange |= kind == "of a strange id"
        changes, becomes = KINDS[kind]
        kernel.submissions.append({**example, "id": submission_id, **changes})
        expected["listed"] += 1
        expected[becomes] += 1
    return kernel, expected


def saved(directory: Path, kernels: list[Any], rng: random.Random) -> DirectorySource:
    """Kernels as a directory of answers; some listings go on on a second page, where rows can repeat."""
    save(directory, *kernels)
    for kernel in kernels:
        rows = kernel.submissions
        if len(rows) > 4:
            cut = rng.randint(1, len(rows) - 1)
            # An item without an id that can be read can't be known again.
            again = [row for row in rows[:cut] if (row["id"] or 0) > 0][-2:]
            for file, listed in ((f"{kernel.id}", rows[:cut]), (f"{kernel.id}.50", again + rows[cut:])):
                body = kernel.submissions_page(listed).body
                (directory / f"submissions/{file}.json").write_bytes(body)
    return DirectorySource(directory)


@settings(deadline=None, max_examples=4)
@given(rng=st.randoms())
def test_the_three_add_up_to_what_is_listed(rng: random.Random) -> None:
    made = [kernel_of(GEMM, rng, 1), kernel_of(RMSNORM, rng, 101)]
    with tempfile.TemporaryDirectory() as directory:
        home = Home(Path(directory, "home"))
        ingest(saved(Path(directory, "saved"), [kernel for kernel, _ in made], rng), home)
        accounts = {row["kernel_id"]: row for row in accounts_by_kernel(home).to_pylist()}
        assert unaccounted(home).to_pylist() == []
    for kernel, expected in made:
        if expected["listed"]:
            row = accounts[kernel.id]
            assert {name: row[name] for name in expected} == expected
        else:
            assert kernel.id not in accounts


def test_a_page_that_can_not_be_read_puts_all_that_its_kernel_lists_in_quarantine(tmp_path: Path) -> None:
    kernel, other = recorded(GEMM), recorded(RMSNORM)
    save(tmp_path, kernel, other)
    (tmp_path / f"kernels/{kernel.id}.json").write_text("<html>Bad gateway</html>")
    home = Home(tmp_path / "home")
    ingest(DirectorySource(tmp_path), home)
    accounts = {row["kernel_id"]: row for row in accounts_by_kernel(home).to_pylist()}
    assert unaccounted(home).num_rows == 0
    assert accounts[kernel.id]["quarantined"] == accounts[kernel.id]["listed"] == len(kernel.submissions)
    assert accounts[other.id]["runs"] == accounts[other.id]["listed"] == len(other.submissions)


@pytest.mark.parametrize("page", ["kernels/{}.json", "submissions/{}.json"])
def test_what_a_kernel_keeps_when_its_page_turns_unreadable_breaks_no_account(
    tmp_path: Path, page: str
) -> None:
    kernel = recorded(GEMM)
    save(tmp_path, kernel)
    home = Home(tmp_path / "home")
    ingest(DirectorySource(tmp_path), home)
    (tmp_path / page.format(kernel.id)).write_text("<html>Bad gateway</html>")
    ingest(DirectorySource(tmp_path), home)
    assert read_table(home, RUNS).num_rows == len(kernel.submissions)
    assert [row["item"] for row in read_table(home, QUARANTINE).to_pylist()] == ["page"]
    assert unaccounted(home).to_pylist() == []


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with one kernel: a run, one that is none, and one in quarantine."""
    kernel = recorded(GEMM)
    example = kernel.submissions[0]
    kernel.submissions = [
        {**example, "id": submission_id, **KINDS[kind][0]}
        for submission_id, kind in enumerate(("fine", "incorrect", "misread"), start=1)
    ]
    home = Home(tmp_path / "home")
    ingest(DirectorySource(save(tmp_path, kernel)), home)
    return home


def change(home: Home, table: Table, how: Callable[[list[Row]], list[Row]]) -> None:
    rows = how(read_table(home, table).to_pylist())
    write_table(home, table, table.schema.empty_table().from_pylist(rows, schema=table.schema))


@pytest.mark.parametrize(
    ("table", "item"),
    [(RUNS, "submission 1"), (SOURCE_SUBMISSIONS, "submission 2"), (QUARANTINE, "submission 3")],
)
def test_what_a_table_loses_is_named(home: Home, table: Table, item: str) -> None:
    assert unaccounted(home).num_rows == 0
    number = item.removeprefix("submission ")
    change(home, table, lambda rows: [row for row in rows if number not in names(row)])
    (row,) = unaccounted(home).to_pylist()
    assert (row["kernel_key"], row["item"]) == (GEMM, item)
    assert row["problem"].startswith("listed, but neither a run")


def test_what_a_table_invents_is_named(home: Home) -> None:
    change(home, SOURCE_SUBMISSIONS, lambda rows: [*rows, {**rows[0], "submission_id": 4, "outcome": "LATE"}])
    (row,) = unaccounted(home).to_pylist()
    assert (row["item"], row["problem"]) == ("submission 4", "read, but on none of the pages that count")


def names(row: Row) -> list[str]:
    """The ids of the submission that a row is of."""
    return [str(row.get("submission_id")), str(row.get("external_id")), str(row.get("item"))[11:]]
