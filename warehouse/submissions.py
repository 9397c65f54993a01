"""Submissions across kernels: at which one each counts, and what is told of one that is not public.

What a kernel's pages say of a submission belongs in `assets`; here are the parts of all kernels, since one
submission can stand in several: the source moved it, or lists its kernel under a new id.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.home import Home
from warehouse.parts import read_tables
from warehouse.tables import (
    IMPLEMENTATIONS,
    PROJECTS,
    QUARANTINE,
    RUNS,
    SOURCE_SUBMISSIONS,
    SUBMISSION_HISTORY,
    Table,
)

Row = dict[str, Any]

# The outcome of a submission that is not public.
NOT_PUBLIC = "NOT_PUBLIC"
# All that is told of it, and of what it was before it was withdrawn: whatever columns there will be.
SHOWN_OF_PRIVATE = {
    *SUBMISSION_HISTORY.key,
    *("kernel_id", "outcome", "page_digest", "valid_from", "valid_to", "end_reason"),
}

# The tables whose rows depend on where a submission counts.
SETTLED = {SOURCE_SUBMISSIONS, SUBMISSION_HISTORY, QUARANTINE, RUNS, IMPLEMENTATIONS, PROJECTS}


def withdraw(versions: Iterable[Row]) -> None:
    """Take out of versions of a submission, which is no longer public, all but that they were there."""
    for row in versions:
        row |= dict.fromkeys(row.keys() - SHOWN_OF_PRIVATE)


@dataclass
class Settlement:
    """Which rows of a part's table count, where not all do, and rows that count in their place."""

    keeps: dict[tuple[Path, Table], pa.Array] = field(default_factory=dict)
    more: dict[Table, list[Row]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True)
class _Kernel:
    """A kernel's part, and the rows of it that are of submissions which other kernels have too."""

    path: Path
    tables: Mapping[str, pa.Table]
    is_listed: bool
    submissions: Mapping[int, Row]
    versions: Mapping[int, list[Row]]


def settle(home: Home) -> Settlement:
    """Say at which kernel each submission counts that several have listed, and make its histories one.

    It counts at a kernel that is still listed, of several at the one that came to list it last. Raises
    PartError where a part is damaged.
    """
    settlement = Settlement()
    kernels = _contending(home)
    losers: dict[Path, set[int]] = {kernel.path: set() for kernel in kernels}
    for submission_id in sorted({id_ for kernel in kernels for id_ in kernel.versions}):
        of = [kernel for kernel in kernels if submission_id in kernel.versions]
        holders = [kernel for kernel in of if submission_id in kernel.submissions]
        winner = max(holders, key=lambda kernel: _claim(kernel, submission_id), default=None)
        holds = winner.versions[submission_id][-1] if winner else None
        versions = [row for kernel in of for row in kernel.versions[submission_id]]
        settlement.more[SUBMISSION_HISTORY] += _one_history(versions, holds)
        for kernel in holders:
            if winner and kernel is not winner:
                losers[kernel.path].add(submission_id)
                if kernel.is_listed:
                    counts_at = winner.submissions[submission_id]["kernel_id"]
                    settlement.more[QUARANTINE].append(_set_aside(kernel, submission_id, counts_at))
    for kernel in kernels:
        settlement.keeps |= _kept(kernel, losers[kernel.path])
    return settlement


def unlisted_keys(home: Home) -> set[str]:
    """The keys of the kernels that are no longer listed."""
    listing = read_tables(home.kernel_listing).get("listed")
    rows = listing.to_pylist() if listing else []
    return {row["kernel_key"] for row in rows if not row["listed"]}


def _contending(home: Home) -> list[_Kernel]:
    """The kernels that have had submissions which others have had too."""
    column = {SUBMISSION_HISTORY.name: ["submission_id"]}
    ids = {
        path: pc.unique(tables[SUBMISSION_HISTORY.name]["submission_id"]).to_numpy()
        for path in home.parts("manifests")
        if SUBMISSION_HISTORY.name in (tables := read_tables(path, column))
    }
    unique, counts = np.unique(np.concatenate([*ids.values(), np.array([], int)]), return_counts=True)
    contested = unique[counts > 1]
    unlisted = unlisted_keys(home) if len(contested) else set()
    return [
        _kernel(path, path.parent.name not in unlisted, contested)
        for path, of_it in ids.items()
        if np.isin(of_it, contested).any()
    ]


def _kernel(path: Path, is_listed: bool, contested: np.ndarray[Any, Any]) -> _Kernel:
    tables = read_tables(path)

    def rows(table: Table) -> list[Row]:
        ids = pa.array(contested, pa.int64())
        of_them = tables[table.name].filter(pc.is_in(tables[table.name]["submission_id"], ids))
        rows: list[Row] = of_them.to_pylist()
        return rows

    versions: dict[int, list[Row]] = defaultdict(list)
    for row in sorted(rows(SUBMISSION_HISTORY), key=lambda row: row["version"]):
        versions[row["submission_id"]].append(row)
    submissions = {row["submission_id"]: row for row in rows(SOURCE_SUBMISSIONS)}
    return _Kernel(path, tables, is_listed, submissions, versions)


def _claim(kernel: _Kernel, submission_id: int) -> tuple[object, ...]:
    """Of two kernels that list a submission, it counts at the one whose claim is greater."""
    *before, since = kernel.versions[submission_id]
    for row in reversed(before):  # As long as it was listed without a break.
        if row["valid_to"] != since["valid_from"] or row.get("end_reason"):
            break
        since = row
    return kernel.is_listed, since["valid_from"], since["kernel_id"]


def _one_history(versions: list[Row], holds: Row | None) -> list[Row]:
    """The versions that kernels have of one submission as one history, whose end is the one that holds."""
    history = sorted(versions, key=lambda row: (row["valid_from"], row["kernel_id"], row["version"]))
    if holds and history[-1] is not holds:
        # It was elsewhere meanwhile, and came back.
        last = history[-1]
        back_at = max(last["valid_to"] or last["valid_from"], holds["valid_from"])
        history.append({**holds, "valid_from": back_at})
    for row, following in pairwise(history):
        if row["valid_to"] is None or row["valid_to"] > following["valid_from"]:
            row |= {"valid_to": following["valid_from"], "end_reason": "MOVED"}
    private = [place for place, row in enumerate(history) if row["outcome"] == NOT_PUBLIC]
    withdraw(history[: max(private, default=0)])
    return [{**row, "version": number} for number, row in enumerate(history, start=1)]


def _set_aside(kernel: _Kernel, submission_id: int, counts_at: int) -> Row:
    submission = kernel.submissions[submission_id]
    page_digest = submission.get("unread_page_digest") or submission["page_digest"]
    pages = read_tables(kernel.path.with_name("pages.zip"))["pages"].to_pylist()
    page = next(row for row in pages if row["page_digest"] == page_digest)
    return {
        "locator": page["locator"],
        "item": f"submission {submission_id}",
        "problem": f"kernel {counts_at} lists it too, and came to do so later: it counts there",
        "page_digest": page_digest,
        "first_seen_at": page["fetched_at"],
    }


def _kept(kernel: _Kernel, lost: set[int]) -> dict[tuple[Path, Table], pa.Array]:
    """Which rows of a kernel's part count: no history that is told as one, and none of what it `lost`."""
    tables = kernel.tables
    ids = pa.array(sorted(lost), pa.int64())
    revisions = pa.array([f"submission-{id_}" for id_ in sorted(lost)], pa.string())
    items = pc.replace_substring_regex(tables[QUARANTINE.name]["item"], r"^.* of submission", "submission")
    contested = pa.array(sorted(kernel.versions), pa.int64())
    implementations = pc.invert(pc.is_in(tables[IMPLEMENTATIONS.name]["revision"], revisions))
    of_projects = tables[IMPLEMENTATIONS.name].filter(implementations)["project_digest"]
    keeps = {
        SUBMISSION_HISTORY: pc.invert(pc.is_in(tables[SUBMISSION_HISTORY.name]["submission_id"], contested)),
        SOURCE_SUBMISSIONS: pc.invert(pc.is_in(tables[SOURCE_SUBMISSIONS.name]["submission_id"], ids)),
        RUNS: pc.invert(pc.is_in(tables[RUNS.name]["submission_id"], ids)),
        IMPLEMENTATIONS: implementations,
        PROJECTS: pc.is_in(tables[PROJECTS.name]["project_digest"], pc.unique(of_projects)),
        QUARANTINE: pc.invert(pc.is_in(items, pc.replace_substring(revisions, "-", " "))),
    }
    return {(kernel.path, table): mask for table, mask in keeps.items()}
