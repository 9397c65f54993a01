"""Crawls of the server on loopback, for tests: in this process, or in one of its own that can be killed."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from assets.leaderboard.client import Client, Limits
from assets.leaderboard.kernel_pages import fetch_kernel, fetch_kernel_listing, kernel_key
from assets.leaderboard.live import LiveSource
from assets.leaderboard.pages import Pages, Tally
from assets.leaderboard.recorded import recorded_directory
from assets.leaderboard.records import read_kernel
from assets.leaderboard.sources import CrawlStopped, SourceError
from tests.examples import Row
from tests.leaderboard_server import Handler, LeaderboardServer, Reply, fine
from warehouse.home import Home
from warehouse.parquet import read_table, rows_of
from warehouse.tables import TABLES

TINY = kernel_key("001_tiny")
LISTING = "/submissions?kernel_id=1"

# Enough to survive one fault, without waiting for it.
QUICK = Limits(tries=2, first_backoff_s=0.001, body_bytes=2_000_000)


@dataclass
class Crawl:
    """What a crawl came to: kernels that failed and why, why it ended early, what was asked for."""

    failed: dict[str, str] = field(default_factory=dict)
    stopped: str = ""
    tally: Tally = field(default_factory=Tally)


def live_source(url: str, home: Home, *, incremental: bool = False, **settings: Any) -> LiveSource:
    defaults: dict[str, Any] = {
        "base_url": url,
        "allowed_hosts": frozenset({"127.0.0.1"}),
        "max_requests": 5000,
        "allow_private_hosts": True,
        "request_interval_s": 0.0,
        "limits": QUICK,
    }
    return LiveSource(Client(**{**defaults, **settings}), home, incremental=incremental)


def crawl(url: str, home: Home, keys: Sequence[str] | None = None, **settings: Any) -> Crawl:
    """Fetch the listing, then the kernels: all of them, or those with these keys."""
    source = live_source(url, home, **settings)
    result = Crawl(tally=source.tally)
    with source:
        kernels = [row for row in fetch_kernel_listing(source, home) if row["listed"]]
        wanted = [row for row in kernels if keys is None or row["kernel_key"] in keys]
        source.begin(row["kernel_key"] for row in wanted)
        for row in wanted:
            key = row["kernel_key"]
            try:
                fetch_kernel(source, home, key, row["kernel_id"], row["submission_count"])
            except CrawlStopped as problem:
                result.stopped = str(problem)
                break
            except SourceError as problem:
                result.failed[key] = str(problem)
    return result


def crawl_killed_after(server: LeaderboardServer, home: Home, requests: int, pause_s: float) -> None:
    """A crawl in a process of its own, killed so long after this many requests were answered.

    No other request is answered meanwhile: how far it comes does not depend on how fast it is.
    """
    processes = get_context("forkserver")
    # Arrow imports pandas when it is first given rows: once is enough.
    processes.set_forkserver_preload([__name__, "pandas"])
    process = processes.Process(target=crawl, args=(server.url, home))

    def fatal(handler: Handler, reply: Reply) -> None:
        with server.lock:
            handler.send(reply)
            handler.pause(pause_s)
            os.kill(process.pid or 0, signal.SIGKILL)

    with server.lock:
        server.misbehave("", *[fine] * (requests - 1), fatal)
        process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def paths(server: LeaderboardServer) -> list[str]:
    """What was asked for, in order."""
    return [request.path for request in server.requests]


def asked(server: LeaderboardServer, offset: int = 0) -> str:
    """The path of a page of the tiny kernel's listing."""
    return f"{LISTING}&offset={offset}&limit=50" if offset else f"{LISTING}&limit=50"


def fill(server: LeaderboardServer, count: int) -> None:
    """Give the tiny kernel this many submissions, the newest first."""
    server.submissions[1] = [{**server.submissions[1][0], "id": number} for number in range(count, 0, -1)]
    server.count_submissions()


def arrive(server: LeaderboardServer, kernel_id: int = 1, **fields: Any) -> None:
    """A submission more of a kernel, like its newest but for its id and these fields."""
    newest = server.submissions[kernel_id][0]
    server.add(**{**newest, "kernel_id": kernel_id, "id": newest["id"] + 1, **fields})


def ids(home: Home, key: str = TINY, kernel_id: int = 1) -> list[int]:
    """The submissions that stand on the pages that count, as often as they are read."""
    pages = Pages(home, key)
    records = read_kernel(kernel_id, map(pages.read, pages.current))
    assert not records.quarantine
    return [row["submission_id"] for row in records.submissions]


def answers(home: Home, key: str | None = TINY) -> list[Row]:
    """The rows of all answers that came."""
    return Pages(home, key).answers


def saved_sample(directory: Path) -> Path:
    """The recorded sample as a directory, for a server to serve."""
    recorded_directory(directory)
    return directory


def tables_without(home: Home, left_out: dict[str, set[str]]) -> dict[str, list[str]]:
    """The rows of all tables, in order, without the columns that are left out: of `*` in every table."""
    return {
        table.name: sorted(
            repr([row[name] for name in row if name not in left_out.get(table.name, set()) | left_out["*"]])
            for row in rows_of(read_table(home, table))
        )
        for table in TABLES.values()
    }
