"""Reading and normalising a kernel: from its pages to the part with its records, manifests and history.

How pages are read belongs in `assets.leaderboard.records`, the rules of manifests in `normalise`, those of
history in `history` and `assets.leaderboard.drift`.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import pyarrow as pa

from assets.leaderboard import drift
from assets.leaderboard.pages import Pages, version_of
from assets.leaderboard.records import PARSER_VERSION, Records, Row, merged, read_page
from assets.leaderboard.snapshots import Page
from assets.manifests import history
from assets.manifests.normalise import NORMALISER_VERSION, normalise
from warehouse.home import Home
from warehouse.parquet import rows_of, table_of
from warehouse.parts import Made, locked_parts, part_version, read_tables, write_part
from warehouse.tables import (
    DRIFT,
    ENVIRONMENTS,
    IMPLEMENTATIONS,
    OPERATIONS,
    PROJECTS,
    PROTOCOLS,
    QUARANTINE,
    RUNS,
    SOURCE_KERNELS,
    SOURCE_SUBMISSIONS,
    SOURCE_WORKLOADS,
    SUBMISSION_HISTORY,
    WORKLOADS,
    columns_version,
)

SOURCE_TABLES = (
    SOURCE_KERNELS,
    SOURCE_WORKLOADS,
    SOURCE_SUBMISSIONS,
    SUBMISSION_HISTORY,
    QUARANTINE,
    DRIFT,
)
MANIFEST_TABLES = (
    OPERATIONS,
    WORKLOADS,
    PROJECTS,
    IMPLEMENTATIONS,
    PROTOCOLS,
    ENVIRONMENTS,
    RUNS,
)
TABLES = (*SOURCE_TABLES, *MANIFEST_TABLES)

# As many take longer to read in one process than it takes to start others.
MANY_SUBMISSIONS = 20_000

CODE_VERSION = f"parser {PARSER_VERSION}, normaliser {NORMALISER_VERSION}, columns {columns_version(TABLES)}"


def make_manifests(home: Home, key: str, kernel_id: int) -> Made:
    """Make a kernel's manifests of its current pages; nothing, where they were made of the same before.

    Its history goes on from where it was, through the editions of its pages that came since then; from the
    beginning, where other code read it. Raises FileNotFoundError where its pages were never fetched,
    SnapshotError where their bytes are gone.
    """
    path = home.part(key, "manifests")
    if not home.part(key, "pages").exists():
        raise FileNotFoundError(f"the pages of kernel {key} were never fetched")
    version = _version(home, key)
    if part_version(path) == version:
        return Made({}, version, changed=False)
    pages = Pages(home, key)
    if not pages.editions:
        # It was asked for, but what came can't be used.
        return Made({}, version, changed=False)
    followed = _editions_followed(path, pages)
    tables = {table.name: table.schema.empty_table() for table in TABLES}
    if followed:
        tables |= read_tables(path)
    rows = _followed(kernel_id, pages, followed, tables)
    tables |= {table.name: table_of(rows[table.name], table.schema) for table in TABLES if table.name in rows}
    with locked_parts(home):
        write_part(path, tables, version)
    return Made({name: table.num_rows for name, table in tables.items()}, version, changed=True)


def make_all_manifests(home: Home, kernels: Sequence[Row]) -> Iterator[Made]:
    """`make_manifests` of all these kernels, rows of LISTED, in order; in two processes if they are large."""
    to_read = sum(row["submission_count"] or 0 for row in kernels if not is_made(home, row["kernel_key"]))
    keys, ids = [row["kernel_key"] for row in kernels], [row["kernel_id"] for row in kernels]
    make = partial(make_manifests, home)
    if to_read < MANY_SUBMISSIONS:
        yield from map(make, keys, ids)
        return
    # Fresh processes, since this one has threads.
    with ProcessPoolExecutor(2, get_context("spawn"), _end_with_parent) as processes:
        yield from processes.map(make, keys, ids)


def _end_with_parent() -> None:
    # Also where the parent is killed, and can end nothing itself.
    def watch() -> None:
        parent = parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def is_made(home: Home, key: str) -> bool:
    """Whether a kernel's manifests are made of the pages that it has now."""
    return part_version(home.part(key, "manifests")) == _version(home, key)


def _version(home: Home, key: str) -> str:
    return f"{CODE_VERSION}, pages {part_version(home.part(key, 'pages'))}"


def _editions_followed(path: Path, pages: Pages) -> int:
    """How many editions of a kernel's pages this code has followed already."""
    found = re.fullmatch(f"{CODE_VERSION}, pages (.*), edition ([0-9]+)", part_version(path) or "")
    if not found:
        return 0
    version, count = found[1], int(found[2])
    # Where it is another edition the record of its pages was lost, and begins anew.
    is_known = 0 < count <= len(pages.editions) and version_of(pages.editions[count - 1]) == version
    return count if is_known else 0


def _followed(
    kernel_id: int, pages: Pages, followed: int, kept: Mapping[str, pa.Table]
) -> dict[str, list[Row]]:
    """The rows of tables that are others now than those `kept`: of the last edition that can be read.

    History and drift go on from those kept. Of an edition that can't be read only the quarantine counts.
    """
    versions, drifts = rows_of(kept[SUBMISSION_HISTORY.name]), rows_of(kept[DRIFT.name])
    read: dict[tuple[str, str, datetime], tuple[Page, Records]] = {}

    def readings(edition: list[Row]) -> list[tuple[Page, Records]]:
        nonlocal read  # Only those of one edition are in memory.
        read = {
            _name(row): read.get(_name(row)) or ((page := pages.read(row)), read_page(kernel_id, page))
            for row in edition
        }
        return [read[_name(row)] for row in edition]  # A page can stand in it twice: the last mention counts.

    def is_readable(edition: list[Row]) -> bool:
        return merged(records for _, records in readings(edition)).kernel is not None

    tables: dict[str, list[Row]] = {}
    editions = pages.editions
    before = {_name(row) for edition in editions[:followed][-1:] for row in edition}
    last = {row["locator"]: row for edition in editions[:followed] for row in edition}
    counts = next((edition for edition in reversed(editions[followed:]) if is_readable(edition)), None)
    for edition in editions[followed:]:
        said = readings(edition)
        edition_pages, records = [page for page, _ in said], merged(records for _, records in said)
        records = history.with_last_good(versions, records)
        new = [(row, *what) for row, what in zip(edition, said, strict=True) if _name(row) not in before]
        for row, page, of_page in new:
            page_before = pages.read(last[row["locator"]]) if row["locator"] in last else None
            drifts = drift.followed(drifts, page, page_before, of_page.drift)
            last[row["locator"]] = row
        listed = {row["submission_id"] for row in records.submissions} | records.unread.keys()
        if edition is not counts and all(row["locator"].startswith("/submissions") for row, *_ in new):
            # Of an edition that does not count any more only the history is wanted, so only what changed.
            records = replace(records, submissions=history.changed(versions, records.submissions))
        made_of = normalise(records, edition_pages)
        if records.kernel:
            tables = {table.name: made_of[table.name] for table in TABLES}
            versions = history.followed(versions, tables, edition_pages, listed)
        else:
            tables = {**tables, QUARANTINE.name: made_of[QUARANTINE.name]}
        before = set(read)
    return {**tables, SUBMISSION_HISTORY.name: versions, DRIFT.name: drifts}


def _name(row: Row) -> tuple[str, str, datetime]:
    """A page by its time too: one that comes back, after another, came when it came back."""
    return row["locator"], row["page_digest"], row["fetched_at"]
