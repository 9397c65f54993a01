"""A kernel's listing is taken whole, whatever happens while it is gone through."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assets.leaderboard.pages import Pages
from assets.manifests.kernel_manifests import make_manifests
from tests.examples import Row
from tests.leaderboard_server import (
    Fault,
    LeaderboardServer,
    altered,
    deep_json,
    empty_page,
    fine,
    lying_total,
    then,
    truncated_json,
)
from tests.live_crawls import LISTING, TINY, answers, arrive, asked, crawl, fill, ids, paths
from warehouse.home import Home

PAGES = r"/submissions\?"
FIRST = r"/submissions\?kernel_id=1&limit"


def newest_first(count: int) -> list[int]:
    return list(range(count, 0, -1))


def listing_requests(server: LeaderboardServer) -> list[str]:
    return [path for path in paths(server) if path.startswith("/submissions")]


# Until the total is reached.


@pytest.mark.parametrize(
    ("count", "offsets"),
    [(0, [0]), (1, [0]), (49, [0]), (51, [0, 50]), (120, [0, 50, 100])],
)
def test_all_pages_are_taken(
    tiny_server: LeaderboardServer, home: Home, count: int, offsets: list[int]
) -> None:
    fill(tiny_server, count)
    assert not crawl(tiny_server.url, home).failed
    assert ids(home) == newest_first(count)
    again = [asked(tiny_server)] if len(offsets) > 1 else []
    assert listing_requests(tiny_server) == [asked(tiny_server, offset) for offset in offsets] + again


@pytest.mark.parametrize("count", [50, 100])
def test_after_a_full_page_one_more_is_asked_for(
    tiny_server: LeaderboardServer, home: Home, count: int
) -> None:
    fill(tiny_server, count)
    crawl(tiny_server.url, home)
    assert ids(home) == newest_first(count)
    assert asked(tiny_server, count) in paths(tiny_server)


def test_pages_are_named_as_in_every_source(tiny_server: LeaderboardServer, home: Home) -> None:
    fill(tiny_server, 60)
    crawl(tiny_server.url, home)
    assert [row["locator"] for row in Pages(home, TINY).current] == [
        "/kernels/1",
        LISTING,
        f"{LISTING}&offset=50",
    ]


@pytest.mark.parametrize("limit", [1, 7, 20])
def test_a_limit_that_the_server_lowers_costs_no_row(
    tiny_server: LeaderboardServer, home: Home, limit: int
) -> None:
    fill(tiny_server, 22)
    tiny_server.max_limit = limit
    crawl(tiny_server.url, home)
    assert ids(home) == newest_first(22)


def test_a_limit_that_the_server_lowers_without_saying_so_costs_no_row(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    fill(tiny_server, 22)
    tiny_server.max_limit = 10
    tiny_server.misbehave(PAGES, *[altered(lambda data: {**data, "limit": 50})] * 4)
    assert not crawl(tiny_server.url, home).failed
    assert ids(home) == newest_first(22)


# Rows that come and go meanwhile.


def test_a_row_that_arrives_meanwhile_is_there_and_none_is_there_twice(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    fill(tiny_server, 120)
    tiny_server.misbehave(PAGES, then(lambda: arrive(tiny_server)))
    assert not crawl(tiny_server.url, home).failed
    assert ids(home) == newest_first(121)


def test_a_row_that_vanishes_meanwhile_takes_no_other_with_it(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    fill(tiny_server, 120)
    tiny_server.misbehave(PAGES, then(lambda: tiny_server.remove(100)))
    assert not crawl(tiny_server.url, home).failed
    assert ids(home) == [number for number in newest_first(120) if number != 100]


def test_a_row_that_slips_behind_an_equal_total_is_found(tiny_server: LeaderboardServer, home: Home) -> None:
    fill(tiny_server, 120)
    rows = tiny_server.submissions[1]

    def shift() -> None:
        """One of the first page goes, an old one becomes public: as many as before, and one slips."""
        tiny_server.remove(100)
        rows.append({**rows[0], "id": 0})

    tiny_server.misbehave(PAGES, then(shift))
    assert not crawl(tiny_server.url, home).failed
    assert ids(home) == [number for number in range(120, -1, -1) if number != 100]


def test_a_row_that_changes_meanwhile_is_taken_as_it_is_now(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    fill(tiny_server, 60)
    tiny_server.misbehave(FIRST, then(lambda: tiny_server.change(60, is_disqualified=True)))
    crawl(tiny_server.url, home)
    first = Pages(home, TINY).current[1]
    assert Pages(home, TINY).read(first).body.count(b'"is_disqualified": true') == 1


def test_pages_that_did_not_shift_are_not_sent_again(tiny_server: LeaderboardServer, home: Home) -> None:
    fill(tiny_server, 120)
    tiny_server.misbehave(FIRST, then(lambda: tiny_server.change(120, is_disqualified=True)))
    crawl(tiny_server.url, home)
    second = [row["status"] for row in answers(home) if row["locator"] == f"{LISTING}&offset=50"]
    assert second == [200, 304]


# Rows that stand twice for good.


def test_a_row_that_stands_twice_for_good_costs_no_kernel(tiny_server: LeaderboardServer, home: Home) -> None:
    fill(tiny_server, 120)
    tiny_server.submissions[1].insert(70, tiny_server.submissions[1][10])
    tiny_server.count_submissions()
    assert not crawl(tiny_server.url, home).failed
    assert sorted(ids(home)) == list(range(1, 121))


def test_ids_of_true_and_1_are_two(tiny_server: LeaderboardServer, home: Home) -> None:
    tiny_server.submissions[1].append({**tiny_server.submissions[1][0], "id": True})
    tiny_server.count_submissions()
    assert not crawl(tiny_server.url, home).failed
    assert make_manifests(home, TINY, 1).rows["runs"] == 3


# What can't be made consistent.


def never_twice_the_same(server: LeaderboardServer) -> Fault:
    return then(lambda: arrive(server))


def with_rows(rows: Callable[[list[Row]], list[Row]], total: int) -> Fault:
    return altered(lambda data: {**data, "submissions": rows(data["submissions"]), "total": total})


def without_total(data: Row) -> Row:
    return {name: value for name, value in data.items() if name != "total"}


NEVER: dict[str, tuple[Callable[[LeaderboardServer], Fault], str]] = {
    "shifting": (never_twice_the_same, "its total went from"),
    "total too high": (lambda _: lying_total(500), "its total is 500, but 120 submissions are on it"),
    "total too low": (lambda _: lying_total(110), "its total is 110, but 120 submissions are on it"),
    "empty": (lambda _: empty_page(), "its total is 120, but 0 submissions are on it"),
    "nothing": (lambda _: with_rows(lambda rows: [], 0), "it lists nothing, where /kernels promises 120"),
    "twice": (lambda _: with_rows(lambda rows: rows[:1] * 2, 120), "a submission stands on it twice"),
    "cut off": (lambda _: truncated_json, "the page is no JSON"),
    "deep": (lambda _: deep_json(100_000), "the page is nested too deep"),
    "no total": (lambda _: altered(without_total), "total: Field required"),
}


@pytest.mark.parametrize(("fault", "why"), NEVER.values(), ids=NEVER)
def test_a_listing_that_is_never_consistent_fails_in_words_and_the_kernel_keeps_what_it_had(
    tiny_server: LeaderboardServer, home: Home, fault: Callable[[LeaderboardServer], Fault], why: str
) -> None:
    fill(tiny_server, 120)
    crawl(tiny_server.url, home)
    before = Pages(home, TINY).current
    tiny_server.change(1, is_disqualified=True)
    tiny_server.misbehave(PAGES, *[fault(tiny_server)] * 40)
    (problem,) = crawl(tiny_server.url, home).failed.values()
    assert f"{LISTING}: the listing was gone through 3 times and was never consistent" in problem
    assert why in problem
    assert "run again later" in problem
    assert Pages(home, TINY).current == before


def test_no_more_is_asked_of_a_listing_than_three_passes(tiny_server: LeaderboardServer, home: Home) -> None:
    fill(tiny_server, 120)
    tiny_server.misbehave(PAGES, *[never_twice_the_same(tiny_server)] * 40)
    crawl(tiny_server.url, home)
    assert len(listing_requests(tiny_server)) == 6


@pytest.mark.parametrize(
    "fault",
    [lying_total(500), lying_total(110), lying_total(0), empty_page(), truncated_json, deep_json(100_000)],
    ids=["total too high", "total too low", "total of nothing", "empty", "cut off", "deep"],
)
@pytest.mark.parametrize("page", [0, 1, 2])
def test_a_slip_is_made_good(tiny_server: LeaderboardServer, home: Home, page: int, fault: Fault) -> None:
    fill(tiny_server, 120)
    tiny_server.misbehave(PAGES, *[fine] * page, fault)
    assert not crawl(tiny_server.url, home).failed
    assert ids(home) == newest_first(120)


def test_an_empty_page_in_the_middle_is_asked_for_once_more(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    fill(tiny_server, 120)
    tiny_server.misbehave(PAGES, fine, empty_page())
    crawl(tiny_server.url, home)
    offsets = [0, 50, 50, 100, 0]
    assert listing_requests(tiny_server) == [asked(tiny_server, offset) for offset in offsets]


def test_a_listing_that_never_ends_ends(tiny_server: LeaderboardServer, home: Home) -> None:
    fill(tiny_server, 60)
    numbers = iter(range(10**6))

    def endless(data: dict[str, object]) -> dict[str, object]:
        rows = [{**tiny_server.submissions[1][0], "id": next(numbers)} for _ in range(50)]
        return {**data, "submissions": rows, "total": 10**9}

    tiny_server.misbehave(PAGES, *[altered(endless)] * 100)
    result = crawl(tiny_server.url, home, max_requests=40)
    assert "made all its 40 requests" in result.stopped


def test_pages_of_a_kernel_that_failed_are_kept_as_evidence(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    tiny_server.misbehave(PAGES, *[truncated_json] * 3)
    crawl(tiny_server.url, home)
    pages = Pages(home, TINY)
    assert pages.current == []
    assert [row["status"] for row in answers(home)] == [200, 200, 200, 200]
    assert Path(home.part(TINY, "pages")).exists()
    assert all(pages.is_stored(row) for row in answers(home))
