"""How long reading and normalising takes, per submission: `python -m benchmarks.normalise [DIRECTORY]`.

The submissions of a directory of saved answers (or of the sample) are repeated under new ids until there are
60,000, on pages of 50; then all is read and normalised in this process, stage by stage. Beside it stands what
the same bytes cost at best: parsing them with the same JSON reader, hashing them.
"""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count, cycle, islice
from pathlib import Path

import orjson

from assets.leaderboard.records import Records, read_kernel
from assets.leaderboard.snapshots import Page, digest_of
from assets.leaderboard.sources import DirectorySource, RecordedSource, SavedSource
from assets.manifests.normalise import normalise

SUBMISSIONS = 60_000
PAGE_LIMIT = 50

Kernels = dict[int, list[Page]]


def many_submissions(source: SavedSource) -> Kernels:
    """The pages of every kernel that has submissions, these repeated to 60,000 in all."""
    (listing,) = source.kernel_listing()
    listed = [kernel["id"] for kernel in orjson.loads(listing.body)["data"]["kernels"]]
    pages = {kernel_id: list(source.kernel(kernel_id)) for kernel_id in listed}
    return {
        kernel_id: [definition, *_repeated(kernel_id, listing, SUBMISSIONS // len(listed), kernel_id * 10**6)]
        for kernel_id, (definition, listing) in pages.items()
        if orjson.loads(listing.body)["data"]["submissions"]
    }


def _repeated(kernel_id: int, listing: Page, total: int, first_id: int) -> list[Page]:
    known = orjson.loads(listing.body)["data"]["submissions"]
    ids = count(first_id)
    rows = [{**row, "id": next(ids)} for row in islice(cycle(known), total)]
    pages = []
    for offset in range(0, total, PAGE_LIMIT):
        data = {"submissions": rows[offset : offset + PAGE_LIMIT], "total": total, "offset": offset}
        locator = f"/submissions?kernel_id={kernel_id}&offset={offset}&limit={PAGE_LIMIT}"
        body = orjson.dumps({"data": data | {"limit": PAGE_LIMIT}})
        pages.append(Page(locator, body, datetime(2026, 11, 30, tzinfo=UTC), locator))
    return pages


def main(directory: str | None = None) -> None:
    """Print microseconds a submission, by stage; each the best of three."""
    kernels = many_submissions(DirectorySource(Path(directory)) if directory else RecordedSource())
    pages = [page for kernel in kernels.values() for page in kernel]
    records: dict[int, Records] = {}
    runs = 0

    def read() -> None:
        records.update({kernel_id: read_kernel(kernel_id, pages) for kernel_id, pages in kernels.items()})

    def make() -> None:
        nonlocal runs
        made = [normalise(records[kernel_id], pages) for kernel_id, pages in kernels.items()]
        runs = sum(len(tables["runs"]) for tables in made)

    stages: dict[str, Callable[[], object]] = {
        "parsing the JSON (at best)": lambda: [orjson.loads(page.body) for page in pages],
        "hashing the pages (at best)": lambda: [digest_of(page.body) for page in pages],
        "reading": read,
        "normalising": make,
    }
    times = {name: min(_timed(stage) for _ in range(3)) for name, stage in stages.items()}
    print(f"{runs} runs on {len(pages)} pages")
    for name, seconds in times.items():
        print(f"{name:<28} {seconds / runs * 1e6:6.1f} µs a submission")
    print(f"{'reading and normalising':<28} {(times['reading'] + times['normalising']) / runs * 1e6:6.1f}")


def _timed(stage: Callable[[], object]) -> float:
    start = time.perf_counter()
    stage()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(*sys.argv[1:])
