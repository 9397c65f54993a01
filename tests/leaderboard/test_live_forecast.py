"""What a crawl will come to, said before it makes a request."""

import pytest

from assets.leaderboard.forecast import Forecast, forecast
from tests.leaderboard_server import LeaderboardServer, then
from tests.live_crawls import arrive, crawl, fill
from warehouse.home import Home


def foreseen(server: LeaderboardServer, home: Home, *, incremental: bool = False) -> Forecast:
    requests = len(server.requests)
    ahead = forecast(home, server.url, incremental=incremental, request_interval_s=1.0)
    assert len(server.requests) == requests
    return ahead


def made(server: LeaderboardServer, home: Home, *, incremental: bool = False) -> int:
    before = len(server.requests)
    crawl(server.url, home, incremental=incremental)
    return len(server.requests) - before


def test_a_home_that_knows_nothing_goes_by_what_the_leaderboard_was(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    ahead = foreseen(tiny_server, home)
    assert (ahead.kernels, ahead.known) == (235, False)
    assert 60_000 / 50 < ahead.least < 2000 < ahead.most
    assert not home.directory.exists()


@pytest.mark.parametrize("incremental", [False, True])
def test_where_nothing_changed_the_least_is_what_it_makes(
    sample_server: LeaderboardServer, home: Home, incremental: bool
) -> None:
    crawl(sample_server.url, home)
    ahead = foreseen(sample_server, home, incremental=incremental)
    assert (ahead.kernels, ahead.known, ahead.done) == (24, True, 0)
    assert ahead.least == made(sample_server, home, incremental=incremental)


@pytest.mark.parametrize("incremental", [False, True])
def test_what_it_makes_lies_between_the_least_and_the_most(
    tiny_server: LeaderboardServer, home: Home, incremental: bool
) -> None:
    fill(tiny_server, 120)
    crawl(tiny_server.url, home)
    for _ in range(60):
        arrive(tiny_server)
    tiny_server.misbehave("/submissions", then(lambda: arrive(tiny_server)))
    # The listing of kernels comes first: it shows how many submissions there are now.
    crawl(tiny_server.url, home, [])
    ahead = foreseen(tiny_server, home, incremental=incremental)
    assert ahead.least <= made(tiny_server, home, incremental=incremental) <= ahead.most


def test_a_crawl_that_is_not_over_costs_what_is_left_of_it(
    sample_server: LeaderboardServer, home: Home
) -> None:
    crawl(sample_server.url, home, max_requests=21)
    ahead = foreseen(sample_server, home)
    assert (ahead.kernels, ahead.done) == (24, 10)
    assert ahead.least == made(sample_server, home) == 49 - 21


def test_a_request_takes_the_pause_and_what_it_took_before(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    assert foreseen(tiny_server, home).request_s == 1.3
    crawl(tiny_server.url, home)
    assert 1.0 < foreseen(tiny_server, home).request_s < 1.3


def test_a_listing_of_another_server_foretells_nothing(
    tiny_server: LeaderboardServer, sample_server: LeaderboardServer, home: Home
) -> None:
    crawl(sample_server.url, home)
    assert not foreseen(tiny_server, home).known
