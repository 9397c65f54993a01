"""Damage: which files of a home do not hold what was written to them, and what mends each.

What is made of pages is mended by making it anew. Pages, and the record of which came when, are made of
nothing: what they were is found only where they came from, or in a backup.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from assets.leaderboard.saved_text import LARGEST_BYTES
from assets.leaderboard.snapshots import Snapshots
from warehouse.build import built_from, damage_to_warehouse, table_digest
from warehouse.home import Home
from warehouse.parquet import rows_of
from warehouse.parts import PartError, part_version, read_part
from warehouse.tables import TABLES

REBUILD = "`kernelindex rebuild` makes it anew of the pages that are kept"
_FETCH = "`kernelindex ingest` mends it, if the source still has that page; else restore it from a backup"
_RESTORE = (
    "restore it from a backup; or delete it and run `kernelindex ingest`, which fetches the pages that there "
    "are now: what was there before them is then no longer known"
)
_SAVED = "restore it from a backup; or delete it and read the saved page again with `kernelindex read`"


@dataclass(frozen=True)
class Damage:
    """A file that is damaged or missing: what is wrong with it, and what mends it."""

    path: Path
    problem: str
    next_step: str


def damage_to(home: Home) -> Iterator[Damage]:
    """All damage to a home. Every file that is kept is read for it, most of them pages."""
    yield from _parts(home)
    yield from _snapshots(home)
    yield from _tables(home)
    if home.warehouse.exists() and (problem := damage_to_warehouse(home)):
        yield Damage(home.warehouse, problem, REBUILD)


def _parts(home: Home) -> Iterator[Damage]:
    for path in sorted(home.directory.glob("parts/**/*.zip")):
        if part_version(path) is None:
            next_step = {"manifests": REBUILD, "cases": REBUILD, "saved": _SAVED}.get(path.stem, _RESTORE)
            yield Damage(path, "its bytes are not those that were written", next_step)


def _snapshots(home: Home) -> Iterator[Damage]:
    snapshots = Snapshots(home.snapshots)
    wanted = dict(_wanted(home))
    digests = sorted({*snapshots, *wanted})

    def damaged(page_digest: str) -> str | None:
        return None if snapshots.holds(page_digest) else page_digest

    with ThreadPoolExecutor() as readers:  # Decompressing and hashing leave the interpreter to others.
        for start in range(0, len(digests), 1000):
            for digest in filter(None, readers.map(damaged, digests[start : start + 1000])):
                of = wanted.get(digest, "no page that is on record")
                yield Damage(
                    snapshots.path(digest), f"it is missing or holds other bytes; it is of {of}", _FETCH
                )


def _wanted(home: Home) -> Iterator[tuple[str, str]]:
    """The digest of each page that must be there, and what it is of, as far as the parts can be read."""
    for path in [*home.parts("listing"), *home.parts("pages"), *home.parts("saved")]:
        try:
            if path.stem == "saved":
                (details,) = rows_of(read_part(path, "details"))
                files = rows_of(read_part(path, "files"))
                if files[0]["size_bytes"] <= LARGEST_BYTES:  # Larger ones are not kept.
                    yield details["page_digest"], files[0]["name"]
            else:
                pages = read_part(path, "pages").select(["page_digest", "locator"]).drop_null()
                yield from ((row["page_digest"], row["locator"]) for row in rows_of(pages))
        except PartError:
            continue


def _tables(home: Home) -> Iterator[Damage]:
    published = built_from(home)
    for name in TABLES if home.collected.exists() else ():
        path = home.table(name)
        if not path.exists():
            yield Damage(path, "it is missing", REBUILD)
        elif published.get(name, (digest := table_digest(home, name))) != digest:
            problem = "it is not the file that the warehouse was built from: damaged, or not published yet"
            yield Damage(path, problem, REBUILD)
