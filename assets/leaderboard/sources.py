"""Where pages come from: the recorded sample, or a directory of saved answers.

Every source hands over the same thing, pages, and knows no more of them than where they are. The live
leaderboard is a source too: it belongs in `client`. What pages say belongs in `records`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pyarrow.parquet as pq

from assets.leaderboard.snapshots import Page

RECORDED = Path(__file__).with_name("recorded.parquet")


class SourceError(Exception):
    """A source that can't give a page; says which and what to do."""


class Source(Protocol):
    """Gives the leaderboard's pages. Both raise SourceError where a page is not to be had."""

    def kernel_listing(self) -> Iterator[Page]:
        """The page of `/kernels`."""

    def kernel(self, kernel_id: int) -> Iterator[Page]:
        """A kernel's pages: `/kernels/{id}`, then all of `/submissions?kernel_id={id}`, in order.

        A page is asked for only once the one before it is stored.
        """


class DirectorySource:
    """A directory of saved answers: `kernels.json`, `kernels/<id>.json`, `submissions/<id>.json`.

    Where a kernel's submissions span pages, those after the first are `submissions/<id>.<offset>.json`.
    A page's time of fetching is that of the file.
    """

    def __init__(self, directory: Path) -> None:
        if not (directory / "kernels.json").is_file():
            raise SourceError(
                f"{directory} holds no saved answers: there is no kernels.json in it; "
                "give a directory with kernels.json, kernels/<id>.json and submissions/<id>.json"
            )
        self.directory = directory

    def kernel_listing(self) -> Iterator[Page]:
        """See Source."""
        yield self._page("/kernels", Path("kernels.json"))

    def kernel(self, kernel_id: int) -> Iterator[Page]:
        """See Source."""
        yield self._page(f"/kernels/{kernel_id}", Path(f"kernels/{kernel_id}.json"))
        first = f"/submissions?kernel_id={kernel_id}"
        yield self._page(first, Path(f"submissions/{kernel_id}.json"))
        pages = self.directory.glob(f"submissions/{kernel_id}.*.json")
        offsets = {path.name.split(".")[1]: path for path in pages}
        for offset in sorted(filter(str.isdecimal, offsets), key=int):
            yield self._page(f"{first}&offset={offset}", offsets[offset].relative_to(self.directory))

    def _page(self, locator: str, file: Path) -> Page:
        path = self.directory / file
        try:
            body = path.read_bytes()
            modified = path.stat().st_mtime_ns // 1000
        except OSError as error:
            raise SourceError(f"{locator}: {path} can't be read ({error.strerror})") from error
        fetched_at = datetime.fromtimestamp(modified // 10**6, UTC).replace(microsecond=modified % 10**6)
        return Page(locator, body, fetched_at, resolved_locator=path.resolve().as_uri())


class RecordedSource:
    """The sample that ships with the project: one Parquet file, a row a page, its provenance with it."""

    def __init__(self, file: Path = RECORDED) -> None:
        table = pq.read_table(file)
        self.provenance = (table.schema.metadata or {}).get(b"provenance", b"").decode()
        self._pages = {row["locator"]: Page(**row) for row in table.to_pylist()}

    def kernel_listing(self) -> Iterator[Page]:
        """See Source."""
        yield self._page("/kernels")

    def kernel(self, kernel_id: int) -> Iterator[Page]:
        """See Source."""
        yield self._page(f"/kernels/{kernel_id}")
        first = f"/submissions?kernel_id={kernel_id}"
        yield self._page(first)
        yield from (page for locator, page in self._pages.items() if locator.startswith(f"{first}&"))

    def _page(self, locator: str) -> Page:
        if locator not in self._pages:
            raise SourceError(f"{locator}: not among the recorded pages")
        return self._pages[locator]
