"""A crawl that ends early, however it ends, is gone on with by the next run."""

import random
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from assets.leaderboard import cycle
from assets.leaderboard.cycle import Cycle
from assets.leaderboard.pages import Pages
from assets.leaderboard.sources import SourceError
from tests.examples import make_tables
from tests.leaderboard_server import LeaderboardServer, fine, status, truncated_json
from tests.live_crawls import (
    LISTING,
    TINY,
    answers,
    arrive,
    asked,
    crawl,
    crawl_killed_after,
    fill,
    ids,
    live_source,
    paths,
    tables_without,
)
from warehouse.home import Home

# What no two crawls have in common: when things came, and how long that took.
TIMES = {"*": {"fetched_at", "duration_ms", "first_seen_at", "last_seen_at", "valid_from", "valid_to"}}

KILLS = 20


@pytest.fixture
def alone(tmp_path: Path) -> Home:
    """A home for a crawl that is left alone."""
    return Home(tmp_path / "alone")


def killed_and_resumed(server: LeaderboardServer, home: Home, most_requests: int, seed: int) -> None:
    """Crawl, killed again and again after a random number of requests and a random time; then to its end."""
    chance = random.Random(seed)
    for _ in range(KILLS):
        crawl_killed_after(server, home, chance.randint(1, most_requests), chance.uniform(0, 0.02))
    assert not crawl(server.url, home).failed


def test_a_crawl_killed_at_20_points_and_resumed_ends_in_the_same_tables(
    sample_server: LeaderboardServer, home: Home, alone: Home
) -> None:
    killed_and_resumed(sample_server, home, 3, seed=3)
    requests = len(sample_server.requests)
    crawl(sample_server.url, alone)
    for each in (home, alone):
        make_tables(each)
    assert tables_without(home, TIMES) == tables_without(alone, TIMES)
    # No page that was stored was asked for again: only those under way when the crawl was killed were.
    assert requests <= 1 + 24 * 2 + KILLS
    assert not home.crawl.exists()


def test_the_archive_crawled_killed_at_20_points_and_resumed_ends_in_the_same_tables(
    archive: Path, home: Home, alone: Home
) -> None:
    with LeaderboardServer(archive) as server:
        killed_and_resumed(server, home, 40, seed=5)
        assert len(server.requests) <= 1 + 235 * 2 + KILLS
        crawl(server.url, alone)
    for each in (home, alone):
        make_tables(each)
    assert tables_without(home, TIMES) == tables_without(alone, TIMES)


@pytest.mark.parametrize("requests", [1, 2, 3, 4, 5])
def test_no_page_that_was_stored_is_fetched_again(
    tiny_server: LeaderboardServer, home: Home, requests: int
) -> None:
    fill(tiny_server, 120)
    result = crawl(tiny_server.url, home, max_requests=requests) if requests > 1 else None
    assert result is None or "made all its" in result.stopped
    crawl(tiny_server.url, home)
    # All once, but for the first page of the listing, which is looked at again in the end.
    assert Counter(paths(tiny_server)) == {
        "/kernels": 1,
        "/kernels/1": 1,
        asked(tiny_server): 2,
        asked(tiny_server, 50): 1,
        asked(tiny_server, 100): 1,
    }
    assert len(ids(home)) == 120


def test_a_kernel_that_is_done_is_left_alone(sample_server: LeaderboardServer, home: Home) -> None:
    crawl(sample_server.url, home, max_requests=21)
    done = set(paths(sample_server))
    sample_server.requests.clear()
    crawl(sample_server.url, home)
    assert not done.intersection(paths(sample_server))
    assert len(paths(sample_server)) == 49 - 21


def test_a_kernel_s_pages_count_all_at_once_or_not_at_all(tiny_server: LeaderboardServer, home: Home) -> None:
    fill(tiny_server, 120)
    crawl(tiny_server.url, home)
    before = Pages(home, TINY).current
    for _ in range(60):
        arrive(tiny_server)
    # Listing, definition, and two of four pages.
    crawl(tiny_server.url, home, max_requests=4)
    assert Pages(home, TINY).current == before
    crawl(tiny_server.url, home)
    assert ids(home) == list(range(180, 0, -1))


def test_rows_that_shift_while_a_crawl_is_interrupted_cost_nothing(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    fill(tiny_server, 120)
    crawl(tiny_server.url, home, max_requests=4)
    arrive(tiny_server)
    tiny_server.remove(60)
    crawl(tiny_server.url, home)
    assert ids(home) == [number for number in range(121, 0, -1) if number != 60]


def test_a_page_that_failed_is_asked_for_again_and_the_others_are_not(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    fill(tiny_server, 120)
    tiny_server.misbehave("offset=50", *[status(500)] * 2)
    assert crawl(tiny_server.url, home).failed
    tiny_server.requests.clear()
    assert not crawl(tiny_server.url, home).failed
    assert paths(tiny_server) == [asked(tiny_server, offset) for offset in (50, 100, 0)]


def test_a_listing_that_was_never_consistent_is_taken_anew(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    tiny_server.misbehave("/submissions", *[truncated_json] * 3)
    assert crawl(tiny_server.url, home).failed
    assert not crawl(tiny_server.url, home).failed
    assert ids(home) == [3, 2, 1]


def test_a_crawl_that_is_over_is_begun_anew(tiny_server: LeaderboardServer, home: Home) -> None:
    crawl(tiny_server.url, home)
    tiny_server.requests.clear()
    crawl(tiny_server.url, home)
    assert len(tiny_server.requests) == 3


def test_one_kernel_crawled_on_its_own_is_a_crawl_of_its_own(
    sample_server: LeaderboardServer, home: Home
) -> None:
    (key, *_) = sorted(crawled_keys(sample_server, home))
    for _ in range(2):
        sample_server.requests.clear()
        crawl(sample_server.url, home, [key])
        assert len(sample_server.requests) == 3


def crawled_keys(server: LeaderboardServer, home: Home) -> list[str]:
    crawl(server.url, home)
    return [path.parent.name for path in home.parts("pages")]


def test_a_crawl_is_not_over_while_one_of_its_kernels_is_missing(
    sample_server: LeaderboardServer, home: Home
) -> None:
    keys = crawled_keys(sample_server, home)
    crawl(sample_server.url, home, max_requests=21)
    crawl(sample_server.url, home, keys[:1])
    assert home.crawl.exists()
    sample_server.requests.clear()
    crawl(sample_server.url, home)
    assert len(sample_server.requests) < 49 - 20


# The journal.


def interrupted(server: LeaderboardServer, home: Home, **settings: Any) -> None:
    """Crawl the listing of kernels, the kernel, and the first of three pages."""
    fill(server, 120)
    crawl(server.url, home, max_requests=3, **settings)
    server.requests.clear()


TORN = [b'{"key": "001_tiny", "answer": {"loc', b'{"key": "x", "anew": true}', b"\x00" * 50, b"\x00\n{}\n"]


@pytest.mark.parametrize("torn", TORN)
def test_a_last_line_that_is_torn_was_never_written(
    tiny_server: LeaderboardServer, home: Home, torn: bytes
) -> None:
    interrupted(tiny_server, home)
    with home.crawl.open("ab") as journal:
        journal.write(torn)
    crawl(tiny_server.url, home, max_requests=1)
    assert paths(tiny_server) == [asked(tiny_server, 50)]
    crawl(tiny_server.url, home)
    assert len(ids(home)) == 120


@pytest.mark.parametrize("journal", [b"", b"\x00" * 50, b"{"])
def test_a_journal_that_says_nothing_is_none(
    tiny_server: LeaderboardServer, home: Home, journal: bytes
) -> None:
    home.crawl.parent.mkdir(parents=True)
    home.crawl.write_bytes(journal)
    assert not crawl(tiny_server.url, home).failed
    assert ids(home) == [3, 2, 1]


def test_every_line_is_on_disk_before_the_next_request(tiny_server: LeaderboardServer, home: Home) -> None:
    seen: list[int] = []
    fill(tiny_server, 120)

    def look(handler: object, reply: object) -> None:
        seen.append(home.crawl.read_bytes().count(b'"answer"'))
        fine(handler, reply)  # type: ignore[arg-type]

    tiny_server.misbehave("", *[look] * 6)
    crawl(tiny_server.url, home)
    assert seen == [0, 1, 2, 3, 4, 5]


def test_a_crawl_that_is_too_old_is_begun_anew_and_its_answers_stay_on_record(
    tiny_server: LeaderboardServer, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tiny_server, 120)
    crawl_killed_after(tiny_server, home, 3, 0.2)
    tiny_server.requests.clear()
    monkeypatch.setattr(cycle, "STALE_AFTER", timedelta(0))
    crawl(tiny_server.url, home)
    assert paths(tiny_server)[:3] == ["/kernels", "/kernels/1", asked(tiny_server)]
    assert Counter(row["locator"] for row in answers(home))["/kernels/1"] == 2
    assert Counter(row["locator"] for row in answers(home, None))["/kernels"] == 2


def test_a_crawl_of_another_server_is_begun_anew(
    tiny_server: LeaderboardServer, sample_server: LeaderboardServer, home: Home
) -> None:
    interrupted(tiny_server, home)
    crawl(sample_server.url, home, [])
    assert paths(sample_server) == ["/kernels"]
    assert [row["locator"] for row in answers(home)] == ["/kernels/1", LISTING]


def test_an_incremental_crawl_goes_on_with_a_full_one(tiny_server: LeaderboardServer, home: Home) -> None:
    interrupted(tiny_server, home)
    crawl(tiny_server.url, home, incremental=True)
    assert paths(tiny_server) == [asked(tiny_server, offset) for offset in (50, 100, 0)]


def test_a_full_crawl_does_not_go_on_with_an_incremental_one(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    interrupted(tiny_server, home, incremental=True)
    crawl(tiny_server.url, home)
    assert paths(tiny_server)[0] == "/kernels"


def test_bytes_that_the_journal_names_and_nobody_has_are_fetched_again(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    interrupted(tiny_server, home)
    for path in home.snapshots.rglob("*.zst"):
        path.unlink()
    assert not crawl(tiny_server.url, home).failed
    assert len(ids(home)) == 120


def test_the_pause_between_requests_is_kept_from_one_run_to_the_next(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawl(tiny_server.url, home, max_requests=2)
    crawl(tiny_server.url, home, max_requests=1, request_interval_s=0.3)
    _, last, first = (request.at for request in tiny_server.requests)
    assert first - last >= 0.3


def test_two_runs_never_fetch_at_once(tiny_server: LeaderboardServer, home: Home) -> None:
    with live_source(tiny_server.url, home), pytest.raises(SourceError, match="another run is fetching"):
        crawl(tiny_server.url, home)
    assert not tiny_server.requests
    assert not crawl(tiny_server.url, home).failed


def test_the_journal_says_what_it_is_in_lines_of_json(tiny_server: LeaderboardServer, home: Home) -> None:
    interrupted(tiny_server, home)
    first, *lines = map(orjson.loads, home.crawl.read_bytes().splitlines())
    assert first["base_url"] == tiny_server.url
    assert [line.get("answer", {}).get("locator") for line in lines] == [
        "/kernels",
        None,
        "/kernels/1",
        LISTING,
    ]
    found = Cycle.found(home.crawl)
    assert found is not None
    assert found.wanted == {TINY}
