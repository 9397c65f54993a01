"""Fetching: from a source's pages to snapshots, and to the part that says which pages a kernel is made of.

Every page is stored before anything reads it. What a page says belongs in `records`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from assets.leaderboard.records import PARSER_VERSION, Row, read_kernel_listing
from assets.leaderboard.snapshots import Page, Snapshots, digest_of
from assets.leaderboard.sources import Source
from warehouse.home import Home
from warehouse.parquet import rows_of, table_of
from warehouse.parts import part_version, read_part, write_part
from warehouse.tables import DRIFT, PAGES, QUARANTINE

# Every kernel that was ever listed; those that vanished from the listing stay, with listed = false.
LISTED = pa.schema(
    [
        ("kernel_key", pa.string()),
        ("kernel_id", pa.int64()),
        ("kernel_name", pa.string()),
        ("listed", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class Fetched:
    """What fetching brought: how many pages, how many bytes, and whether any differs from before."""

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
    pages = list(_stored(source.kernel_listing(), home))
    names, records = read_kernel_listing(pages[-1])
    kernels = {row["kernel_id"]: {**row, "listed": False} for row in kernel_listing(home)}
    taken = {row["kernel_key"] for row in kernels.values()}
    for kernel_id, name in sorted(names.items()):
        key = kernel_key(name)
        if kernel_id not in kernels and key in taken:
            key = f"{key}-{kernel_id}"
        taken.add(key)
        row = {"kernel_key": key, "kernel_id": kernel_id, "kernel_name": name}
        kernels[kernel_id] = {**row, **kernels.get(kernel_id, {}), "listed": True}
    rows = sorted(kernels.values(), key=lambda row: row["kernel_id"])
    tables = {
        "listed": table_of(rows, LISTED),
        "quarantine": table_of(records.quarantine, QUARANTINE.schema),
        "drift": table_of(records.drift, DRIFT.schema),
    }
    _write_pages(home.kernel_listing, pages, tables)
    return rows


def kernel_listing(home: Home) -> list[Row]:
    """All kernels that were ever listed, as rows of LISTED; none where no listing was fetched."""
    if not home.kernel_listing.exists():
        return []
    return rows_of(read_part(home.kernel_listing, "listed"))


def fetch_kernel(source: Source, home: Home, key: str, kernel_id: int) -> Fetched:
    """Fetch a kernel's pages. Those that it is made of change all at once, when all are there.

    Raises SourceError where a page is not to be had; the kernel then keeps what it had.
    """
    return _write_pages(home.part(key, "pages"), list(_stored(source.kernel(kernel_id), home)), {})


def current_pages(home: Home, key: str) -> list[Row]:
    """The rows of the pages that a kernel is made of, in the order in which to read them."""
    return rows_of(read_part(home.part(key, "pages"), "current"))


def page_of(row: Row, snapshots: Snapshots) -> Page:
    """A page with its bytes, from its row. Raises SnapshotError where the bytes are not there."""
    names = ("locator", "fetched_at", "resolved_locator", "status", "media_type", "etag", "last_modified")
    return Page(body=snapshots.get(row["page_digest"]), **{name: row[name] for name in names})


def _stored(pages: Iterable[Page], home: Home) -> Iterator[Page]:
    snapshots = Snapshots(home.snapshots)
    for page in pages:
        snapshots.put(page.body)
        yield page


def _write_pages(path: Path, pages: list[Page], tables: dict[str, pa.Table]) -> Fetched:
    """Write the part that says which pages are current, and which there ever were."""
    version = pages_version(pages)
    changed = part_version(path) != version
    current = table_of(map(_row, pages), PAGES.schema)
    known = read_part(path, "pages") if path.exists() else PAGES.schema.empty_table()
    seen = set(zip(known["locator"].to_pylist(), known["fetched_at"].to_pylist(), strict=True))
    new = [row for row in current.to_pylist() if (row["locator"], row["fetched_at"]) not in seen]
    if changed or new:
        every = pa.concat_tables([known, table_of(new, PAGES.schema)])
        write_part(path, {"current": current, "pages": every, **tables}, version)
    return Fetched(len(pages), sum(len(page.body) for page in pages), changed, version)


def pages_version(pages: Iterable[Page]) -> str:
    """Digest of what pages say: of their locators and their bytes, in order."""
    return digest_of("\n".join(f"{page.locator} {page.page_digest}" for page in pages).encode())


def _row(page: Page) -> Row:
    return {
        "page_digest": page.page_digest,
        "locator": page.locator,
        "fetched_at": page.fetched_at,
        "resolved_locator": page.resolved_locator,
        "status": page.status,
        "media_type": page.media_type,
        "size_bytes": len(page.body),
        "etag": page.etag,
        "last_modified": page.last_modified,
        "parser_version": PARSER_VERSION,
    }
