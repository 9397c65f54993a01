"""Reading and normalising a kernel: from its pages to the part with its records, manifests and history.

How pages are read belongs in `assets.leaderboard.records`, the rules of manifests in `normalise`, those of
history in `history` and `assets.leaderboard.drift`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assets.leaderboard import drift
from assets.leaderboard.pages import Pages
from assets.leaderboard.records import PARSER_VERSION, Records, Row, merged, read_page
from assets.leaderboard.snapshots import Page
from assets.manifests import history
from assets.manifests.normalise import NORMALISER_VERSION, normalise
from warehouse.home import Home
from warehouse.parquet import rows_of, table_of
from warehouse.parts import Made, made, part_version, read_part, write_part
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
)

CODE_VERSION = f"parser {PARSER_VERSION}, normaliser {NORMALISER_VERSION}"

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


def make_manifests(home: Home, key: str, kernel_id: int) -> Made:
    """Make a kernel's manifests of its current pages; nothing, where they were made of the same before.

    Its history goes on from where it was, through the editions of its pages that came since then; from the
    beginning, where other code read it. Raises FileNotFoundError where its pages were never fetched,
    SnapshotError where their bytes are gone.
    """
    path = home.part(key, "manifests")
    if not home.part(key, "pages").exists():
        raise FileNotFoundError(f"the pages of kernel {key} were never fetched")
    version = f"{CODE_VERSION}, pages {part_version(home.part(key, 'pages'))}"
    if part_version(path) == version:
        return made(path, changed=False)
    pages = Pages(home, key)
    if not pages.editions:
        # It was asked for, but what came can't be used.
        return Made({}, version, changed=False)
    followed = _editions_followed(path)
    kept = {table.name: rows_of(read_part(path, table.name)) if followed else [] for table in TABLES}
    rows = _followed(kernel_id, pages, followed, kept)
    tables = {table.name: table_of(rows.get(table.name, []), table.schema) for table in TABLES}
    write_part(path, tables, version)
    return made(path, changed=True)


def _editions_followed(path: Path) -> int:
    """How many editions of a kernel's pages this code has followed already."""
    found = re.fullmatch(f"{CODE_VERSION}, pages .*, edition ([0-9]+)", part_version(path) or "")
    return int(found[1]) if found else 0


def _followed(
    kernel_id: int, pages: Pages, followed: int, kept: Mapping[str, list[Row]]
) -> dict[str, list[Row]]:
    """The rows of all tables: of the last edition that can be read, or else those `kept`.

    History and drift go on from those kept. Of an edition that can't be read only the quarantine counts.
    """
    versions, drifts = kept[SUBMISSION_HISTORY.name], kept[DRIFT.name]
    read: dict[tuple[str, str], tuple[Page, Records]] = {}

    def reading(row: Row) -> tuple[Page, Records]:
        name = row["locator"], row["page_digest"]
        if name not in read:
            page = pages.read(row)
            read[name] = page, read_page(kernel_id, page)
        return read[name]

    tables = dict(kept)
    before = pages.editions[followed - 1] if followed else []
    last = {row["locator"]: row for row in before}
    editions = [(rows, merged(reading(row)[1] for row in rows)) for rows in pages.editions[followed:]]
    readable = [number for number, (_, records) in enumerate(editions) if records.kernel]
    for number, (rows, records) in enumerate(editions):
        new = [row for row in rows if row not in before]
        for row in new:
            page, said = reading(row)
            page_before = pages.read(last[row["locator"]]) if row["locator"] in last else None
            drifts = drift.followed(drifts, page, page_before, said.drift)
            last[row["locator"]] = row
        edition = [reading(row)[0] for row in rows]
        listed = {row["submission_id"] for row in records.submissions} | records.unread
        if number not in readable[-1:] and all(row["locator"].startswith("/submissions") for row in new):
            # Of an edition that does not count any more only the history is wanted, so only what changed.
            records = replace(records, submissions=history.changed(versions, records.submissions))
        made_of = normalise(records, edition)
        if records.kernel:
            tables = made_of
            versions = history.followed(versions, tables, edition, listed)
        else:
            tables = {**tables, QUARANTINE.name: made_of[QUARANTINE.name]}
        before = rows
    return {**tables, SUBMISSION_HISTORY.name: versions, DRIFT.name: drifts}
