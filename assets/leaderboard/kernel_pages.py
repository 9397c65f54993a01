"""Fetching: from a source's answers to the parts that say of which pages each kernel is made.

How pages are kept belongs in `pages`; how they are got, in `sources` and `live`; what they say, in `records`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from assets.leaderboard.drift import followed
from assets.leaderboard.pages import Pages, page_of, version_of
from assets.leaderboard.records import Row, Unreadable, read_kernel_listing, submission_counts
from assets.leaderboard.snapshots import digest_of
from assets.leaderboard.sources import Source, SourceError
from warehouse.home import Home
from warehouse.parquet import rows_of, table_like, table_of
from warehouse.parts import read_tables
from warehouse.tables import DRIFT, TIME

__all__ = ["current_pages", "fetch_kernel", "fetch_kernel_listing", "kernel_key", "kernel_listing", "page_of"]

# Every kernel that was ever listed; those that vanished from the listing stay, with listed = false, and
# gone_since when the first listing without them came.
LISTED = pa.schema(
    [
        ("kernel_key", pa.string()),
        ("kernel_id", pa.int64()),
        ("kernel_name", pa.string()),
        ("submission_count", pa.int64()),
        ("listed", pa.bool_()),
        ("gone_since", TIME),
    ]
)


@dataclass(frozen=True)
class Fetched:
    """What a kernel is made of: how many pages and bytes, and whether any differs from before."""

    pages: int
    size_bytes: int
    changed: bool
    version: str


def kernel_key(name: str) -> str:
    """A kernel's name as a partition key and a file's name: as it is where it is safe as both.

    Any other gets a safe form with the first digits of its digest, so that no two kernels share a key.
    """
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
        return name
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:80]
    return f"{safe}-{digest_of(name.encode())[7:19]}".lstrip("-")


def fetch_kernel_listing(source: Source, home: Home) -> list[Row]:
    """Fetch the listing of kernels; return all that were ever listed, as rows of LISTED.

    Raises SourceError where the source has no listing, Unreadable where it can't be read.
    """
    pages = Pages(home, None, source.tally)
    before = [pages.read(row) for row in pages.current if pages.is_stored(row)]
    try:
        (row,) = source.take_listing(pages)
        page = pages.read(row)
        try:
            names, records = read_kernel_listing(page)
        except Unreadable as problem:
            pages.set_aside(row, str(problem))
            raise
    except (SourceError, Unreadable):
        pages.write(pages.current, None)
        raise
    rows = _listed(kernel_listing(home), names, submission_counts(page), page.fetched_at)
    drift = rows_of(read_tables(pages.path).get("drift", DRIFT.schema.empty_table()))
    drift = followed(drift, page, before[0] if before else None, records.drift)
    pages.quarantine = records.quarantine
    tables = {"listed": table_of(rows, LISTED), "drift": table_of(drift, DRIFT.schema)}
    pages.write([row], None, tables)
    return rows


def _listed(
    known: Iterable[Row], names: dict[int, str], counts: dict[int, int], fetched_at: datetime
) -> list[Row]:
    """The kernels that were known and those that are listed now; each keeps the key that it got first."""
    kernels = {
        row["kernel_id"]: {**row, "listed": False, "gone_since": row["gone_since"] or fetched_at}
        for row in known
    }
    taken = {row["kernel_key"] for row in kernels.values()}
    for kernel_id, name in sorted(names.items()):
        if kernel_id not in kernels:
            key = kernel_key(name)
            while key in taken:
                key = f"{key}-{kernel_id}"
            taken.add(key)
            kernels[kernel_id] = {"kernel_key": key, "kernel_id": kernel_id}
        kernels[kernel_id] |= {
            "kernel_name": name,
            "submission_count": counts.get(kernel_id),
            "listed": True,
            "gone_since": None,
        }
    return sorted(kernels.values(), key=lambda row: row["kernel_id"])


def kernel_listing(home: Home) -> list[Row]:
    """All kernels that were ever listed, as rows of LISTED; none where no listing was fetched."""
    tables = read_tables(home.kernel_listing)
    rows = rows_of(table_like(tables.get("listed", LISTED.empty_table()), LISTED))
    for row in rows:
        # An older version did not note when a kernel went.
        if not row["listed"] and not row["gone_since"]:
            row["gone_since"] = max(tables["pages"]["fetched_at"].to_pylist())
    return rows


def with_listing(source_kernels: pa.Table, home: Home) -> pa.Table:
    """Rows of source_kernels, with what the listing of kernels says of each."""
    listed = {row["kernel_id"]: row for row in kernel_listing(home)}
    rows = rows_of(source_kernels)
    for row in rows:
        of_it = listed.get(row["kernel_id"], {})
        row |= {name: of_it.get(name) for name in ("gone_since", "submission_count")}
        there = max(row["submission_count"] or 0, row["submission_total"] or 0)
        # What older code read does not say how many are held: it is read anew by the next ingest.
        held = row["submissions_held"]
        row["submissions_missing"] = None if held is None else max(0, there - held)
    return table_of(rows, source_kernels.schema)


def fetch_kernel(
    source: Source, home: Home, key: str, kernel_id: int, submission_count: int | None = None
) -> Fetched:
    """Fetch a kernel's pages. Those that it is made of change all at once, when all are there.

    `submission_count` is what the listing of kernels says of it. Raises SourceError where a page is not to be
    had: what came is on record then, and the kernel keeps the pages that it had.
    """
    pages = Pages(home, key, source.tally)
    kernel = {"kernel_key": key, "kernel_id": kernel_id, "submission_count": submission_count}
    try:
        current = source.take_kernel(kernel, pages)
    except SourceError:
        pages.write(pages.current, pages.submission_count)
        raise
    changed = pages.write(current, submission_count)
    size_bytes = sum(row["size_bytes"] for row in current)
    return Fetched(len(current), size_bytes, changed, version_of(current))


def current_pages(home: Home, key: str) -> list[Row]:
    """The rows of the pages that a kernel is made of, in the order in which to read them."""
    return Pages(home, key).current


def longest_ago_first(home: Home, keys: Iterable[str]) -> list[str]:
    """Kernels, those first that were never fetched or not for the longest time.

    So a crawl that ends early, night after night, still comes to all of them.
    """

    def fetched_at(key: str) -> float:
        path = home.part(key, "pages")
        return path.stat().st_mtime if path.exists() else 0.0

    return sorted(keys, key=fetched_at)
