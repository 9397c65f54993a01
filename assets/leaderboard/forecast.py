"""The forecast: how many requests a crawl will make, reckoned from what the home knows. It makes none.

What is asked for and why belongs in `live`.
"""

import statistics
from dataclasses import dataclass

from assets.leaderboard.cycle import LISTING, Cycle
from assets.leaderboard.kernel_pages import kernel_listing
from assets.leaderboard.live import requests_of, rows_from
from assets.leaderboard.pages import Pages
from assets.leaderboard.records import Row
from warehouse.home import Home

# What the leaderboard was in September 2026: stands in where a home knows nothing of it yet.
KERNELS, SUBMISSIONS = 235, 60_000

# How long a request is on the wire, where none was made yet.
WIRE_S = 0.3


@dataclass(frozen=True)
class Forecast:
    """What a crawl will come to: requests at least and at most, and how long one of them takes.

    `known` says whether the home has a listing of kernels from the server; `done`, how many of the kernels an
    unfinished crawl has already.
    """

    kernels: int
    known: bool
    done: int
    least: int
    most: int
    request_s: float


def forecast(home: Home, base_url: str, *, incremental: bool, request_interval_s: float) -> Forecast:
    """The forecast of a crawl that would begin, or go on, now."""
    cycle = Cycle.found(home.crawl)
    if cycle is None or not cycle.serves(base_url, incremental):
        cycle = Cycle(home.crawl, base_url, incremental)
    listing = Pages(home, None)
    known = bool(rows_from(base_url, [*listing.current, *cycle.taken[LISTING].usable]))
    kernels = [row for row in kernel_listing(home) if row["listed"]] if known else _typical()
    pages = [Pages(home, kernel["kernel_key"]) for kernel in kernels]
    costs = [requests_of(kernel, of_it, cycle) for kernel, of_it in zip(kernels, pages, strict=True)]
    first = 0 if cycle.taken[LISTING].usable else 1
    wire_ms = [
        row["duration_ms"] for of_it in (listing, *pages) for row in of_it.answers if row.get("tries") == 1
    ]
    return Forecast(
        kernels=len(kernels),
        known=known,
        done=sum(cycle.taken[kernel["kernel_key"]].made_of is not None for kernel in kernels),
        least=first + sum(least for least, _ in costs),
        most=first + sum(most for _, most in costs),
        request_s=request_interval_s + (statistics.median(wire_ms) / 1000 if wire_ms else WIRE_S),
    )


def _typical() -> list[Row]:
    count = SUBMISSIONS // KERNELS
    return [{"kernel_key": f"kernel {n}", "submission_count": count} for n in range(KERNELS)]
