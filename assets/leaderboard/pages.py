"""The pages of one kernel, or of the listing of kernels: every answer that came, and those that count.

All of it is one part, so that what counts changes in one step. Which pages to ask for belongs in `sources`
and `live`; what they say, in `records`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from assets.leaderboard.client import Answer
from assets.leaderboard.records import PARSER_VERSION, Row
from assets.leaderboard.snapshots import Page, Snapshots, digest_of
from warehouse.home import Home
from warehouse.parquet import rows_of, table_of
from warehouse.parts import locked_parts, read_tables, write_part
from warehouse.tables import PAGES, QUARANTINE

# An edition: the pages that counted at one time, in the order in which to read them, each by its place among
# all answers. The last one counts now.
EDITIONS = pa.schema([("pages", pa.list_(pa.int64()))])

# How many submissions the listing of kernels promised when the pages that count were fetched.
PROMISED = pa.schema([("submission_count", pa.int64())])

_SERVED = ("locator", "fetched_at", "resolved_locator", "status", "media_type", "etag", "last_modified")


@dataclass
class Tally:
    """What asking for pages came to: requests, and answers by what they brought."""

    requests: int = 0
    retries: int = 0
    size_bytes: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(**{name: count + getattr(other, name) for name, count in vars(self).items()})

    def since(self, before: "Tally") -> "Tally":
        """What came on top of an earlier state of this tally."""
        return Tally(**{name: count - getattr(before, name) for name, count in vars(self).items()})

    def copy(self) -> "Tally":
        """Its state now, to count from."""
        return replace(self)


class Pages:
    """The pages of one kernel, by its key; of the listing of kernels, where that is None.

    `current` are the rows of the pages that count, in the order in which to read them; `submission_count` is
    what the listing of kernels promised then. `quarantine` are rows of that table: what of the answers of now
    can't be used. Nothing is written until `write`, but for the bytes of pages.
    """

    def __init__(self, home: Home, key: str | None, tally: Tally | None = None) -> None:
        self._home = home
        self.path: Path = home.kernel_listing if key is None else home.part(key, "pages")
        self.tally = tally or Tally()
        self.quarantine: list[Row] = []
        self._snapshots = Snapshots(home.snapshots)
        self._tables = read_tables(self.path)
        self._rows: list[Row] = []
        self._places: dict[object, int] = {}
        self._good: dict[str, list[Row]] = {}
        for row in self._kept("pages"):
            self.add(row)
        self._known = len(self._rows)
        self._editions: list[list[int]] = [row["pages"] for row in self._kept("editions")]
        self.submission_count: int | None = next(
            (row["submission_count"] for row in self._kept("promised")), None
        )

    def _kept(self, table: str) -> list[Row]:
        return rows_of(self._tables[table]) if table in self._tables else []

    def _place(self, row: Row) -> int:
        return self._places[_key(row)]

    @property
    def answers(self) -> list[Row]:
        """The rows of all answers that ever came, the oldest first."""
        return self._rows

    @property
    def editions(self) -> list[list[Row]]:
        """The rows of the pages of each edition, the oldest first."""
        return [[self._rows[place] for place in edition] for edition in self._editions]

    @property
    def current(self) -> list[Row]:
        """The rows of the pages that count."""
        return [self._rows[place] for place in self._editions[-1]] if self._editions else []

    def keep(self, answer: Page | Answer, *, requests: int = 0, confirms: Row | None = None) -> Row:
        """Store what came, before anything reads it, and return its row.

        `requests` were made for it. A 304 `confirms` the page of another row.
        """
        page = answer if isinstance(answer, Page) else answer.page
        page_digest = self._snapshots.put(page.body) if page else None
        return self._recorded(answer, page, page_digest, requests, confirms)

    def keep_all(self, pages: Sequence[Page]) -> list[Row]:
        """`keep` many pages that are there already."""
        digests = self._snapshots.put_all(page.body for page in pages)
        return [
            self._recorded(page, page, page_digest, requests=0, confirms=None)
            for page, page_digest in zip(pages, digests, strict=True)
        ]

    def _recorded(
        self,
        answer: Page | Answer,
        page: Page | None,
        page_digest: str | None,
        requests: int,
        confirms: Row | None,
    ) -> Row:
        row: Row = {
            "page_digest": page_digest,
            **{name: getattr(answer, name) for name in _SERVED},
            "size_bytes": len(page.body) if page else 0,
            "parser_version": PARSER_VERSION,
        }
        if isinstance(answer, Answer):
            row |= {
                "tries": answer.tries,
                "duration_ms": round(answer.duration_s * 1000, 3),
                "problem": answer.problem,
            }
        if confirms and row["status"] == 304:
            row["page_digest"] = confirms["page_digest"]
        self._count(row, requests)
        self.add(row)
        return row

    def _count(self, row: Row, requests: int) -> None:
        before = self._good.get(row["locator"])
        self.tally.requests += requests
        self.tally.retries += (row.get("tries") or 1) - 1
        self.tally.size_bytes += row["size_bytes"]
        if row.get("problem"):
            self.tally.failed += 1
        elif not before:
            self.tally.new += 1
        elif row["page_digest"] == before[-1]["page_digest"]:
            self.tally.unchanged += 1
        else:
            self.tally.changed += 1

    def add(self, row: Row) -> None:
        """Put an answer on record whose bytes are stored already; once, however often it is added."""
        place = len(self._rows)
        if self._places.setdefault(_key(row), place) == place:
            self._rows.append(row)
            if row["status"] == 200 and not row.get("problem"):
                self._good.setdefault(row["locator"], []).append(row)

    def set_aside(self, row: Row, problem: str) -> None:
        """Quarantine a page because of which its kernel is not to be had."""
        self.quarantine.append(
            {
                "locator": row["locator"],
                "item": "page",
                "problem": problem,
                "page_digest": row["page_digest"],
                "first_seen_at": row["fetched_at"],
            }
        )

    def read(self, row: Row) -> Page:
        """A page with its bytes. Raises SnapshotError where the bytes are not there."""
        return page_of(row, self._snapshots)

    def is_stored(self, row: Row) -> bool:
        """Whether the bytes of a page are there."""
        return self._snapshots.holds(row["page_digest"])

    def brought(self, locator: str, page_digest: str) -> Row | None:
        """The row of the last answer that brought these bytes; None where none did."""
        good = reversed(self._good.get(locator, []))
        return next((row for row in good if row["page_digest"] == page_digest), None)

    def write(
        self,
        current: list[Row],
        submission_count: int | None,
        tables: Mapping[str, pa.Table] | None = None,
    ) -> bool:
        """Let these pages count from now on, in one step; False where they say what those before them said.

        `tables` are kept in the same file; those that it holds already stay unless they are given.
        """
        changed = bool(current) and version_of(current) != version_of(self.current)
        if changed:
            self._editions.append([self._place(row) for row in current])
        if (
            changed
            or len(self._rows) > self._known
            or submission_count != self.submission_count
            or self.quarantine != self._kept("quarantine")
        ):
            promised: list[Row] = [{"submission_count": submission_count}]
            written = {
                **self._tables,
                "pages": table_of(self._rows, PAGES.schema),
                "editions": table_of([{"pages": places} for places in self._editions], EDITIONS),
                "promised": table_of(promised, PROMISED),
                "quarantine": table_of(self.quarantine, QUARANTINE.schema),
                **(tables or {}),
            }
            with locked_parts(self._home):
                write_part(self.path, written, f"{version_of(self.current)}, edition {len(self._editions)}")
        return changed


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in PAGES.key)


def page_of(row: Row, snapshots: Snapshots) -> Page:
    """A page with its bytes, from its row. Raises SnapshotError where the bytes are not there."""
    served: dict[str, Any] = {name: row[name] for name in _SERVED}
    return Page(body=snapshots.get(row["page_digest"]), **served)


def version_of(rows: Iterable[Row]) -> str:
    """Digest of what pages say: of their locators and their bytes, in order."""
    return digest_of("\n".join(f"{row['locator']} {row['page_digest']}" for row in rows).encode())
