"""How the recorded sample is made: `python -m assets.leaderboard.recorded DIRECTORY NAMES`.

DIRECTORY holds saved answers, NAMES is a file with a kernel's name a line. The pages are kept as they are,
but for the listing of kernels, which is cut down to those named.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from assets.leaderboard.snapshots import Page
from assets.leaderboard.sources import RECORDED, DirectorySource, RecordedSource

PROVENANCE = """\
24 kernels of NVIDIA SOL-ExecBench and 75 of their public submissions, in the shape of the leaderboard's own
JSON API. The facts are real; the answers were put back together from what two public sources recorded of
them: KernelIndex's public catalog export of 2026-08-16 (names, axes, shapes, dtypes, tags; the best few
submissions of each kernel) and the leaderboard's kernel details as served on 2026-08-11 (ids, workloads,
baseline and speed-of-light latencies). Fields that neither recorded are absent or null. The listing of
kernels is cut down to these 24. Test and demo data; not for republishing."""

_KERNELS_SERVED = datetime(2026, 8, 11, tzinfo=UTC)
_SUBMISSIONS_SERVED = datetime(2026, 8, 16, tzinfo=UTC)


def recorded_pages(directory: Path, names: set[str]) -> Iterator[Page]:
    """The listing of the named kernels and all their pages, with the times at which they were served."""
    source = DirectorySource(directory)
    (listing,) = source.kernel_listing()
    kernels = [item for item in orjson.loads(listing.body)["data"]["kernels"] if item["name"] in names]
    body = orjson.dumps({"data": {"kernels": kernels}})
    yield Page("/kernels", body, _SUBMISSIONS_SERVED, "recorded:/kernels")
    for kernel in kernels:
        for page in source.kernel(kernel["id"]):
            served = _KERNELS_SERVED if page.locator.startswith("/kernels") else _SUBMISSIONS_SERVED
            yield Page(page.locator, page.body, served, f"recorded:{page.locator}")


def recorded_directory(directory: Path) -> None:
    """Write the sample out as a directory of saved answers, as DirectorySource reads it."""
    source = RecordedSource()
    (listing,) = source.kernel_listing()
    pages = {"kernels.json": listing.body}
    for kernel in orjson.loads(listing.body)["data"]["kernels"]:
        definition, submissions = source.kernel(kernel["id"])
        pages[f"kernels/{kernel['id']}.json"] = definition.body
        pages[f"submissions/{kernel['id']}.json"] = submissions.body
    for name, body in pages.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)


def main(directory: str, names: str) -> None:
    """Write the sample beside this module."""
    wanted = set(Path(names).read_text().split())
    columns = Page.__dataclass_fields__
    rows = [
        {name: getattr(page, name) for name in columns} for page in recorded_pages(Path(directory), wanted)
    ]
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"provenance": PROVENANCE})
    pq.write_table(table, RECORDED, compression="zstd")


if __name__ == "__main__":
    main(*sys.argv[1:])
