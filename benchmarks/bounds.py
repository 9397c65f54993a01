"""What the same work costs at best: on the same bytes, in this process, with the fastest that is at hand."""

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import duckdb
import orjson

from assets.leaderboard.records import read_kernel
from assets.leaderboard.snapshots import digest_of
from assets.leaderboard.sources import DirectorySource
from assets.manifests.normalise import normalise
from warehouse.build import create_table
from warehouse.tables import DIGESTS, TABLES

RANKED_BY_VALUE = """
create table ranked_by_value as
select run_digest, comparison_key, rank() over (partition by comparison_key order by primary_value) as rank
from published.runs
"""


def bounds_s(source: Path, warehouse: Path, aside: Path) -> dict[str, float]:
    """Seconds of what stages can't do without, by what that is.

    `source` is a directory of saved answers, `warehouse` what was made of it, `aside` where to write.
    """
    files = sorted(source.rglob("*.json"))
    bodies: list[bytes] = []
    with duckdb.connect(aside) as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute(f"attach '{warehouse}' as published (read_only)")

        def write() -> None:
            for table in TABLES.values():
                connection.execute(create_table(table))
                connection.execute(f"insert into {table.name} from published.{table.name}")

        def hash_manifests() -> None:
            for name in DIGESTS:
                connection.execute(f"select manifest::varchar from published.{name}")
                while texts := connection.fetchmany(10_000):
                    deque((digest_of(orjson.dumps(orjson.loads(text))) for (text,) in texts), maxlen=0)

        stages: dict[str, Callable[[], object]] = {
            "reading the bytes": lambda: bodies.extend(path.read_bytes() for path in files),
            "hashing them": lambda: deque(map(digest_of, bodies), maxlen=0),
            "parsing them": lambda: deque(map(orjson.loads, bodies), maxlen=0),
            "DuckDB writing the tables": write,
            "parsing, writing and hashing the manifests": hash_manifests,
            "DuckDB ranking by value alone": lambda: connection.execute(RANKED_BY_VALUE),
        }
        return {name: _timed_s(stage) for name, stage in stages.items()}


def normalising_s(source: Path) -> dict[str, float]:
    """Seconds of parsing all kernels' pages, and of reading and normalising them, in this process alone."""
    directory = DirectorySource(source)
    (listing,) = directory.kernel_listing()
    ids = [kernel["id"] for kernel in orjson.loads(listing.body)["data"]["kernels"]]
    seconds = dict.fromkeys(("parsing", "reading", "normalising"), 0.0)
    for id_ in ids:
        pages = list(directory.kernel(id_))
        begun = time.perf_counter()
        for page in pages:
            orjson.loads(page.body)
        parsed = time.perf_counter()
        records = read_kernel(id_, pages)
        read = time.perf_counter()
        normalise(records, pages)
        seconds["parsing"] += parsed - begun
        seconds["reading"] += read - parsed
        seconds["normalising"] += time.perf_counter() - read
    return seconds


def _timed_s(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
