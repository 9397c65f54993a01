"""Where pages come from: the recorded sample, a directory of saved answers, or (in `live`) the leaderboard.

Every source does the same: it hands over answers to be kept, and says which of them count. What pages say
belongs in `records`.
"""

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import pyarrow.parquet as pq

from assets.leaderboard.pages import Pages, Tally
from assets.leaderboard.records import Row
from assets.leaderboard.snapshots import Page

RECORDED = Path(__file__).with_name("recorded.parquet")


class SourceError(Exception):
    """A source that can't give a page; says which and what to do."""


class CrawlStopped(SourceError):
    """A source that will give no more pages in this run; says why, and what to do."""


class Source(Protocol):
    """Gives the leaderboard's pages, within a `with` block; as often as one likes, one after the other.

    Both `take_...` have each answer kept before they look at it, and return the rows of the pages that count
    from now on, in the order in which to read them. They raise SourceError where those are not to be had:
    then the pages that counted still do.
    """

    tally: Tally

    def __enter__(self) -> Self:
        """Open it. Raises SourceError where it can't be."""

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""

    def begin(self, keys: Iterable[str]) -> None:
        """Say which kernels are going to be asked for, by their keys."""

    def expected_requests(self, kernel: Row) -> int:
        """About how many requests a kernel, a row of LISTED, will take; the more, the longer."""

    def take_listing(self, pages: Pages) -> list[Row]:
        """The page of `/kernels`."""

    def take_kernel(self, kernel: Row, pages: Pages) -> list[Row]:
        """The pages of a kernel, a row of LISTED: `/kernels/{id}`, then all of `/submissions?kernel_id=`."""


class SavedSource(ABC):
    """Pages that lie on this machine: nothing to be asked for, and nothing to be gone on with."""

    def __init__(self) -> None:
        self.tally = Tally()

    @abstractmethod
    def kernel_listing(self) -> Iterator[Page]:
        """The page of `/kernels`."""

    @abstractmethod
    def kernel(self, kernel_id: int) -> Iterator[Page]:
        """A kernel's pages, in order."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    def begin(self, keys: Iterable[str]) -> None:
        """See Source."""
        return None

    def expected_requests(self, kernel: Row) -> int:
        """See Source."""
        return 1

    def take_listing(self, pages: Pages) -> list[Row]:
        """See Source."""
        return [pages.keep(page) for page in self.kernel_listing()]

    def take_kernel(self, kernel: Row, pages: Pages) -> list[Row]:
        """See Source."""
        return pages.keep_all(list(self.kernel(kernel["kernel_id"])))


class DirectorySource(SavedSource):
    """A directory of saved answers: `kernels.json`, `kernels/<id>.json`, `submissions/<id>.json`.

    Where a kernel's submissions span pages, those after the first are `submissions/<id>.<offset>.json`.
    A page's time of fetching is that of the file.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__()
        if not (directory / "kernels.json").is_file():
            raise SourceError(
                f"{directory} holds no saved answers: there is no kernels.json in it; "
                "give a directory with kernels.json, kernels/<id>.json and submissions/<id>.json"
            )
        self.directory = directory.resolve()

    @cached_property
    def _offsets(self) -> dict[int, list[int]]:
        """The offsets of the pages after the first, by kernel."""
        offsets: dict[int, list[int]] = defaultdict(list)
        for file in self.directory.glob("submissions/*.*.json"):
            if name := re.fullmatch(r"([0-9]+)\.([0-9]+)\.json", file.name):
                offsets[int(name[1])].append(int(name[2]))
        return offsets

    def kernel_listing(self) -> Iterator[Page]:
        """See SavedSource."""
        yield self._page("/kernels", Path("kernels.json"))

    def kernel(self, kernel_id: int) -> Iterator[Page]:
        """See SavedSource."""
        yield self._page(f"/kernels/{kernel_id}", Path(f"kernels/{kernel_id}.json"))
        first = f"/submissions?kernel_id={kernel_id}"
        yield self._page(first, Path(f"submissions/{kernel_id}.json"))
        for offset in sorted(self._offsets.get(kernel_id, ())):
            yield self._page(f"{first}&offset={offset}", Path(f"submissions/{kernel_id}.{offset}.json"))

    def _page(self, locator: str, file: Path) -> Page:
        path = self.directory / file
        try:
            body = path.read_bytes()
            modified = path.stat().st_mtime_ns // 1000
        except OSError as error:
            raise SourceError(f"{locator}: {path} can't be read ({error.strerror})") from error
        try:
            fetched_at = datetime.fromtimestamp(modified // 10**6, UTC).replace(microsecond=modified % 10**6)
        except (ValueError, OverflowError, OSError):
            fetched_at = datetime.fromtimestamp(0, UTC)  # A file system can hold times that no calendar has.
        return Page(locator, body, fetched_at, resolved_locator=path.as_uri())


class RecordedSource(SavedSource):
    """The sample that ships with the project: one Parquet file, a row a page, its provenance with it."""

    def __init__(self, file: Path = RECORDED) -> None:
        super().__init__()
        table = pq.read_table(file)
        self.provenance = (table.schema.metadata or {}).get(b"provenance", b"").decode()
        self._pages = {row["locator"]: Page(**row) for row in table.to_pylist()}

    def kernel_listing(self) -> Iterator[Page]:
        """See SavedSource."""
        yield self._page("/kernels")

    def kernel(self, kernel_id: int) -> Iterator[Page]:
        """See SavedSource."""
        yield self._page(f"/kernels/{kernel_id}")
        first = f"/submissions?kernel_id={kernel_id}"
        yield self._page(first)
        yield from (page for locator, page in self._pages.items() if locator.startswith(f"{first}&"))

    def _page(self, locator: str) -> Page:
        if locator not in self._pages:
            raise SourceError(f"{locator}: not among the recorded pages")
        return self._pages[locator]
