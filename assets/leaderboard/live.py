"""The live leaderboard: what to ask for, so that everything is there and little is asked.

Paging, increments, and when a listing counts as whole. How one page is asked for belongs in `client`, what an
unfinished crawl has already in `cycle`, what pages say in `records`.
"""

import fcntl
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from io import TextIOWrapper
from itertools import pairwise
from math import ceil
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from assets.leaderboard.client import Client, RequestBudgetExhausted
from assets.leaderboard.cycle import LISTING, Cycle
from assets.leaderboard.pages import Pages, Tally
from assets.leaderboard.records import (
    Listing,
    Row,
    Unreadable,
    is_over,
    read_kernel_listing,
    read_listing,
    read_page,
)
from assets.leaderboard.snapshots import SnapshotError
from assets.leaderboard.sources import CrawlStopped, SourceError
from warehouse.home import Home

# The most rows that the API gives on a page.
PAGE_ROWS = 50

# How often a listing is gone through, at most, until it is consistent.
PASSES = 3

# How many kernels in a row may get no answer before the crawl ends.
FAILURES_IN_A_ROW = 3


class NoAnswer(SourceError):
    """A page for which the server did not answer, or said that it can't just now."""


class Inconsistent(Exception):
    """A listing that changed while it was gone through, or says of itself what is not so."""


class LiveSource:
    """The leaderboard, asked through a client, for a home that knows what it has already.

    An incremental one leaves alone the kernels that are listed with as many submissions as before, where all
    of those are over; of the others it goes through no more pages than it takes to find what is new.
    """

    def __init__(self, client: Client, home: Home, *, incremental: bool = False) -> None:
        self.tally = Tally()
        self.client = client
        self.home = home
        self.incremental = incremental
        self.cycle: Cycle
        self._begun_at: datetime | None = None
        self._lock: TextIOWrapper
        self._unanswered = 0

    def __enter__(self) -> Self:
        """Go on with the cycle that is not over, or begin one.

        Raises SourceError while another run fetches into the home.
        """
        self._lock = _locked(self.home)
        cycle = Cycle.found(self.home.crawl)
        ours = cycle and cycle.begun_at == self._begun_at
        if cycle and not ours and not cycle.serves(self.client.base_url, self.incremental):
            self._file(cycle)
            cycle = None
        self.cycle = cycle or Cycle.begun(self.home.crawl, self.client.base_url, self.incremental)
        self._begun_at = self.cycle.begun_at
        if self.cycle.last_answer_at:
            self.client.asked_before(self.cycle.last_answer_at)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the cycle if it is over."""
        if exc is None:
            self.cycle.leave()
        self._lock.close()

    def _file(self, cycle: Cycle) -> None:
        """Put the answers of a cycle that nobody goes on with on record, and forget it."""
        for key, taken in cycle.taken.items():
            pages = Pages(self.home, key or None)
            for row in taken.answers:
                pages.add(row)
            pages.write(pages.current, pages.submission_count)
        cycle.end()

    def begin(self, keys: Iterable[str]) -> None:
        """See Source."""
        self.cycle.want(keys)

    def expected_requests(self, kernel: Row) -> int:
        """See Source."""
        pages = Pages(self.home, kernel["kernel_key"])
        return requests_of(kernel, pages, self.cycle)[0]

    def take_listing(self, pages: Pages) -> list[Row]:
        """See Source."""
        asking = _Asking(self, LISTING, pages)
        row = asking.get("/kernels")
        try:
            read_kernel_listing(pages.read(row))
        except Unreadable as problem:
            raise asking.unusable(row, str(problem)) from problem
        return [row]

    def take_kernel(self, kernel: Row, pages: Pages) -> list[Row]:
        """See Source. Raises CrawlStopped where no request is left, or kernel after kernel gets no answer."""
        try:
            current = self._take(kernel, pages)
        except CrawlStopped:
            raise
        except SourceError as problem:
            self.cycle.fail(kernel["kernel_key"])
            self._unanswered = self._unanswered + 1 if isinstance(problem, NoAnswer) else 0
            if self._unanswered < FAILURES_IN_A_ROW:
                raise
            raise CrawlStopped(
                f"{problem}; that makes {self._unanswered} kernels in a row without an answer, "
                "so the crawl ends here: run again later to go on"
            ) from problem
        self._unanswered = 0
        return current

    def _take(self, kernel: Row, pages: Pages) -> list[Row]:
        asking = _Asking(self, kernel["kernel_key"], pages)
        if asking.done is not None:
            return asking.done
        known = asking.known_listing() if self.cycle.incremental else []
        before = _listed_before(pages, known)
        if before is None:
            current = [_definition(asking, kernel), *_consistent(asking, kernel).pages]
        elif before.is_over and _as_many_as_before(kernel, pages):
            current = pages.current
        else:
            current = _front(asking, kernel, known, before)
        self.cycle.finish(kernel["kernel_key"], current)
        return current


class _Asking:
    """Asking for the pages of one kernel, or for the listing: first the cycle's journal, then the server.

    The journal is played back: a run that goes on gets the answers that it got before, in their order.
    `done` are the pages of a kernel that is done.
    """

    def __init__(self, source: LiveSource, key: str, pages: Pages) -> None:
        self.pages = pages
        self._key = key
        self._client = source.client
        self._cycle = source.cycle
        taken = self._cycle.taken[key]
        for row in taken.answers:
            pages.add(row)
        self._played_back = deque(taken.usable)
        # Validators are sent back only to the server that gave them.
        self._known = {row["locator"]: row for row in rows_from(self._client.base_url, pages.current)}
        made_of = [pages.brought(*page) for page in taken.made_of or []]
        self.done = None if None in made_of or taken.made_of is None else [row for row in made_of if row]

    def known_listing(self) -> list[Row]:
        """The rows of the pages of submissions that count, where they are this server's."""
        return [
            row for row in rows_from(self._client.base_url, self.pages.current) if _is_listing(row["locator"])
        ]

    def get(self, locator: str) -> Row:
        """The row of a page: of the one that a 304 confirms, where nothing changed.

        Raises SourceError where the page did not come, CrawlStopped where no request is left.
        """
        row = self._from_journal(locator) or self._from_server(locator)
        known = self._known.get(locator)
        if known and known["page_digest"] == row["page_digest"]:
            return known
        return self.pages.brought(locator, row["page_digest"]) or row

    def get_listing(self, locator: str) -> tuple[Row, Listing]:
        """A page of submissions. Raises Inconsistent where it can't be read."""
        row = self.get(locator)
        try:
            listing = read_listing(self.pages.read(row))
        except Unreadable as problem:
            self.pages.set_aside(row, str(problem))
            raise Inconsistent(f"{locator}: {problem}") from problem
        if listing["submissions"]:
            self._known[locator] = row
        return row, listing

    def unusable(self, row: Row, problem: str) -> SourceError:
        """The error for a page of which nothing can be made; it is quarantined and will be asked for anew."""
        self.pages.set_aside(row, problem)
        return self.given_up(f"{row['locator']}: {problem}")

    def given_up(self, problem: str) -> SourceError:
        """The error for pages of which nothing can be made; they will be asked for anew."""
        self._cycle.give_up(self._key)
        return SourceError(problem)

    def _from_journal(self, locator: str) -> Row | None:
        if self._played_back:
            row = self._played_back.popleft()
            if row["locator"] == locator and self.pages.is_stored(row):
                return row
            self._played_back.clear()
        return None

    def _from_server(self, locator: str) -> Row:
        known = self._known.get(locator)
        if known and not self.pages.is_stored(known):
            known = None
        asked = f"{locator}&limit={PAGE_ROWS}" if _is_listing(locator) else locator
        validators = {name: known[name] for name in ("etag", "last_modified")} if known else {}
        made = self._client.requests_made
        try:
            answer = self._client.get(asked, **validators)
        except RequestBudgetExhausted as end:
            self.pages.tally.requests += self._client.requests_made - made
            raise CrawlStopped(str(end)) from end
        # The page is named as in every source, whatever its size that was asked for.
        page = answer.page and replace(answer.page, locator=locator)
        problem = answer.problem and answer.problem.removeprefix(f"{asked}: ")
        answer = replace(answer, locator=locator, page=page, problem=problem)
        row = self.pages.keep(answer, requests=self._client.requests_made - made, confirms=known)
        self._cycle.add(self._key, row)
        if problem:
            if row["status"] == 200 and row["page_digest"]:
                self.pages.set_aside(row, problem)
            unanswered = row["status"] in (0, 408, 429) or row["status"] >= 500
            raise (NoAnswer if unanswered else SourceError)(f"{locator}: {problem}")
        return row


@dataclass
class _Before:
    """What was listed before: its rows by id, and the ids of those that were not over."""

    rows: dict[object, Any] = field(default_factory=dict)
    unfinished: set[object] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        """Whether nothing that was listed has yet to end."""
        return not self.unfinished


@dataclass
class _Pass:
    """One time through a listing: its pages so far, and whether the end was reached.

    `rows` are what the pages list, by id, and `row_count` how many rows that takes; `before` what was listed
    before, where only news are looked for, and `news` the pages that brought some. The last pass takes
    repeats: a row that stands on two pages then does so for good, and has not slipped from one to the other.
    """

    takes_repeats: bool = False
    before: _Before | None = None
    pages: list[Row] = field(default_factory=list)
    rows: dict[object, Any] = field(default_factory=dict)
    row_count: int = 0
    news: list[Row] = field(default_factory=list)
    total: int = 0
    page_rows: int = PAGE_ROWS
    is_whole: bool = False
    is_enough: bool = False

    def add(self, row: Row, listing: Listing) -> None:
        """Take a page. Raises Inconsistent where it does not go with those before."""
        items = {_identity(item): item for item in listing["submissions"]}
        if self.pages and listing["total"] != self.total:
            raise Inconsistent(f"its total went from {self.total} to {listing['total']}")
        # On one page, which came at once, a row that stands twice has not slipped.
        if self.rows.keys() & items.keys() and not self.takes_repeats:
            raise Inconsistent("a submission stands on two of its pages")
        if not self.pages:
            self.page_rows = _rows_of_a_page(listing)
        self.total = listing["total"]
        self.rows |= items
        self.row_count += len(listing["submissions"])
        if items or not self.pages:
            self.pages.append(row)
        # Whether its total counts repeats, the source need not say.
        if len(self.rows) > self.total or (not items and self.row_count < self.total):
            raise Inconsistent(f"its total is {self.total}, but {len(self.rows)} submissions are on it")
        if self.row_count < self.total and self.row_count >= 2 * len(self.rows) > 0:
            raise Inconsistent("a submission stands on it twice, as most that it lists")
        # Where the last page is full, there may be more than the total says: one page further shows it.
        page_is_full = len(listing["submissions"]) >= self.page_rows
        self.is_whole = not items or (self.row_count >= self.total and not page_is_full)
        if self.before is not None:
            self._compare(row, items, self.before)

    def _compare(self, row: Row, items: dict[object, Any], before: _Before) -> None:
        """Note whether the page brought anything, and whether what follows it can."""
        known = before.rows
        news = [identity for identity, item in items.items() if known.get(identity) != item]
        if news:
            self.news.append(row)
        # Only of rows in order of their ids is it known that those which follow came earlier.
        if items and _descend(self.rows) and before.unfinished <= self.rows.keys():
            changed = any(identity in known for identity in news)
            last = next(reversed(items))
            caught_up = last in known and len(known.keys() | self.rows.keys()) >= self.total
            self.is_enough = not news or (caught_up and not changed)


def requests_of(kernel: Row, pages: Pages, cycle: Cycle) -> tuple[int, int]:
    """How many requests a kernel costs in a cycle, at least and at most; retries are not counted."""
    taken = cycle.taken[kernel["kernel_key"]]
    if taken.made_of is not None:
        return 0, 0
    known = [row for row in rows_from(cycle.base_url, pages.current) if _is_listing(row["locator"])]
    before = _listed_before(pages, known) if cycle.incremental else None
    if before and before.is_over and _as_many_as_before(kernel, pages):
        return 0, 0
    listing = max(1, ceil((kernel["submission_count"] or 0) / PAGE_ROWS))
    # A pass can take one page further, to see that there is none, and the first page again.
    most = PASSES * (listing + 2)
    if before:
        return max(0, 1 - len(taken.usable)), most
    least = 1 + listing + (1 if listing > 1 and not known else 0)
    return max(0, least - len(taken.usable)), 1 + most


def rows_from(base_url: str, rows: Iterable[Row]) -> list[Row]:
    """The rows of answers that came from this server."""
    server = urlsplit(base_url).netloc
    return [row for row in rows if urlsplit(row["resolved_locator"]).netloc == server]


def _definition(asking: _Asking, kernel: Row) -> Row:
    """The page of the kernel itself, which has to be readable: else the one that counts is better."""
    row = asking.get(f"/kernels/{kernel['kernel_id']}")
    for problem in read_page(kernel["kernel_id"], asking.pages.read(row)).quarantine:
        if problem["item"] == "page":
            raise asking.unusable(row, problem["problem"])
    return row


def _listed_before(pages: Pages, known: list[Row]) -> _Before | None:
    """What the pages of a listing say; None where there are none, or one of them can't be read any more."""
    before = _Before()
    try:
        for row in known:
            for item in read_listing(pages.read(row))["submissions"]:
                identity = _identity(item)
                before.rows[identity] = item
                if isinstance(identity, int) and not is_over(item):
                    before.unfinished.add(identity)
                else:
                    before.unfinished.discard(identity)
    except SnapshotError:
        return None
    return before if known else None


def _front(asking: _Asking, kernel: Row, known: list[Row], before: _Before) -> list[Row]:
    """The kernel's pages, and behind them, where the last one is right, those that bring something new.

    Where the whole listing was gone through after all, its pages take the place of those before.
    """
    through = _consistent(asking, kernel, before)
    if not through.is_whole:
        return [*asking.pages.current, *through.news]
    return [row for row in asking.pages.current if row not in known] + through.pages


def _consistent(asking: _Asking, kernel: Row, before: _Before | None = None) -> _Pass:
    """A pass through the kernel's listing in which nothing shifted; SourceError where none succeeds."""
    first = f"/submissions?kernel_id={kernel['kernel_id']}"
    for number in range(PASSES):
        through = _Pass(takes_repeats=number == PASSES - 1, before=before)
        try:
            return _passed(asking, first, through, kernel["submission_count"])
        except Inconsistent as problem:
            why = str(problem)
    raise asking.given_up(
        f"{first}: the listing was gone through {PASSES} times and was never consistent ({why}); "
        "what was known before stays: run again later"
    )


def _passed(asking: _Asking, first: str, through: _Pass, submission_count: int | None) -> _Pass:
    """Go through a listing, page by page. Raises Inconsistent where rows shift or it contradicts itself."""
    known = asking.known_listing()
    while not through.is_whole and not through.is_enough:
        offset = through.row_count
        locator = f"{first}&offset={offset}" if offset else first
        row, listing = asking.get_listing(locator)
        if not listing["submissions"] and offset < listing["total"]:
            # An empty page in the middle: perhaps a slip.
            row, listing = asking.get_listing(locator)
        through.add(row, listing)
        if through.pages == known:
            # All as it was when it was found consistent.
            through.is_whole = True
            return through
    if known and submission_count and not through.rows:
        raise Inconsistent(f"it lists nothing, where /kernels promises {submission_count} submissions")
    if len(through.pages) > 1 and asking.get_listing(first)[0] != through.pages[0]:
        # While the later pages came, the first one changed: rows may have slipped from one to another.
        raise Inconsistent("it changed while it was gone through")
    return through


def _as_many_as_before(kernel: Row, pages: Pages) -> bool:
    count = kernel["submission_count"]
    return count is not None and count == pages.submission_count


def _rows_of_a_page(listing: Listing) -> int:
    """How many rows a page has that is not the last, going by the first one: a server can lower the limit."""
    rows = len(listing["submissions"])
    if 0 < rows < listing["total"]:
        return rows
    limit = listing.get("limit")
    return min(limit, PAGE_ROWS) if type(limit) is int and limit > 0 else PAGE_ROWS


def _identity(item: Any) -> object:
    """What tells a row of a listing from others: its id; one that has none is like no other."""
    identity = item.get("id") if isinstance(item, dict) else None
    return identity if type(identity) is int else object()  # True is an int, and equal to 1.


def _descend(identities: Iterable[object]) -> bool:
    return all(
        isinstance(one, int) and isinstance(next_, int) and one > next_ for one, next_ in pairwise(identities)
    )


def _is_listing(locator: str) -> bool:
    return locator.startswith("/submissions")


def _locked(home: Home) -> TextIOWrapper:
    """The lock of the one run that may fetch, which goes with the process, however that ends."""
    home.crawl_lock.parent.mkdir(parents=True, exist_ok=True)
    lock = home.crawl_lock.open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise SourceError(
            f"another run is fetching live into {home.directory}; the site is asked for one page at a time, "
            "so run again when that has ended"
        ) from None
    return lock
