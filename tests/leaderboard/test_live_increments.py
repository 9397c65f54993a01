"""What is asked for a second time: no more than it takes, and what did not change is not sent again."""

from pathlib import Path

import pytest

from assets.leaderboard.pages import Pages
from assets.leaderboard.records import read_kernel
from assets.leaderboard.snapshots import Snapshots
from assets.manifests.kernel_manifests import make_manifests
from tests.leaderboard_server import Handler, LeaderboardServer, Reply, html, status, then
from tests.live_crawls import LISTING, TINY, answers, arrive, asked, crawl, fill, ids, paths
from warehouse.home import Home

KERNEL = "/kernels/1"


def second(server: LeaderboardServer, home: Home, *, incremental: bool) -> list[str]:
    """What a crawl asks for, the kernel having been crawled before."""
    server.requests.clear()
    assert not crawl(server.url, home, incremental=incremental).failed
    return paths(server)


def disqualified(home: Home) -> list[int]:
    """The submissions that are, as they are read."""
    pages = Pages(home, TINY)
    rows = read_kernel(1, map(pages.read, pages.current)).submissions
    return sorted(row["submission_id"] for row in rows if row["is_disqualified"])


def without_validators(handler: Handler, reply: Reply) -> None:
    """The right answer, always whole: no ETag, no Last-Modified."""
    handler.wfile.write(reply.wire())


@pytest.fixture
def crawled(tiny_server: LeaderboardServer, home: Home) -> LeaderboardServer:
    """A server of 120 submissions, all of which the home has."""
    fill(tiny_server, 120)
    crawl(tiny_server.url, home)
    return tiny_server


# An unchanged page costs a 304.


def test_an_unchanged_page_costs_a_304_a_row_and_no_snapshot(crawled: LeaderboardServer, home: Home) -> None:
    kept = list(Snapshots(home.snapshots))
    current = Pages(home, TINY).current
    before = len(answers(home))
    second(crawled, home, incremental=False)
    new = answers(home)[before:]
    assert [(row["status"], row["size_bytes"]) for row in new] == [(304, 0)] * 4
    assert [row["page_digest"] for row in new] == [row["page_digest"] for row in current]
    assert list(Snapshots(home.snapshots)) == kept
    assert Pages(home, TINY).current == current


def test_a_second_crawl_asks_for_every_page_once(crawled: LeaderboardServer, home: Home) -> None:
    assert second(crawled, home, incremental=False) == [
        "/kernels",
        KERNEL,
        *(asked(crawled, offset) for offset in (0, 50, 100)),
    ]


def test_validators_are_sent_back_as_they_came(crawled: LeaderboardServer, home: Home) -> None:
    second(crawled, home, incremental=False)
    by_locator = {row["locator"]: row for row in answers(home) if row["status"] == 200}
    listing = next(request for request in crawled.requests if request.path == asked(crawled))
    assert listing.headers["if-none-match"] == by_locator[LISTING]["etag"]
    assert listing.headers["if-modified-since"] == by_locator[LISTING]["last_modified"]


def test_the_validators_of_a_page_that_was_no_good_are_never_sent(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    tiny_server.misbehave(KERNEL, html())
    crawl(tiny_server.url, home)
    second(tiny_server, home, incremental=False)
    assert not [path for path in tiny_server.requests if "if-none-match" in path.headers][1:]


def test_the_validators_of_another_server_are_never_sent(
    crawled: LeaderboardServer, sample_server: LeaderboardServer, home: Home
) -> None:
    crawl(sample_server.url, home)
    conditional = [request for request in sample_server.requests if "if-none-match" in request.headers]
    assert not [request for request in conditional if request.path in ("/kernels", KERNEL)]


def test_a_page_whose_bytes_are_lost_is_fetched_whole(crawled: LeaderboardServer, home: Home) -> None:
    (definition, *_) = Pages(home, TINY).current
    Snapshots(home.snapshots).path(definition["page_digest"]).unlink()
    second(crawled, home, incremental=False)
    assert Pages(home, TINY).is_stored(definition)


def test_a_server_that_knows_no_validators_changes_nothing(crawled: LeaderboardServer, home: Home) -> None:
    current = Pages(home, TINY).current
    crawled.misbehave("", *[without_validators] * 10)
    assert len(second(crawled, home, incremental=False)) == 5
    assert [row["status"] for row in answers(home)[-4:]] == [200] * 4
    assert Pages(home, TINY).current == current


# Increments.


def test_nothing_changed_costs_one_request(crawled: LeaderboardServer, home: Home) -> None:
    assert second(crawled, home, incremental=True) == ["/kernels"]


def test_a_new_submission_costs_one_page(crawled: LeaderboardServer, home: Home) -> None:
    arrive(crawled)
    assert second(crawled, home, incremental=True) == ["/kernels", asked(crawled)]
    assert sorted(ids(home)) == list(range(1, 122))


def test_as_many_pages_are_asked_for_as_it_takes(crawled: LeaderboardServer, home: Home) -> None:
    for _ in range(60):
        arrive(crawled)
    offsets = [0, 50, 0]
    assert second(crawled, home, incremental=True)[1:] == [asked(crawled, offset) for offset in offsets]
    assert sorted(ids(home)) == list(range(1, 181))


def test_paging_goes_on_behind_a_page_that_brings_a_change(crawled: LeaderboardServer, home: Home) -> None:
    crawled.change(80, is_disqualified=True)
    arrive(crawled)
    crawled.change(100, is_disqualified=True)
    second(crawled, home, incremental=True)
    assert asked(crawled, 50) in paths(crawled)
    assert disqualified(home) == [80, 100]


def test_a_row_that_comes_twice_is_right_as_it_came_last(crawled: LeaderboardServer, home: Home) -> None:
    arrive(crawled)
    crawled.change(120, is_disqualified=True)
    second(crawled, home, incremental=True)
    assert disqualified(home) == [120]


@pytest.mark.parametrize("status", ["PENDING", "RUNNING", "PENDING_RESULT"])
@pytest.mark.parametrize("submission_id", [118, 60, 1], ids=["first page", "second page", "last page"])
def test_what_was_not_over_is_seen_when_it_is(
    crawled: LeaderboardServer, home: Home, status: str, submission_id: int
) -> None:
    crawled.change(submission_id, status=status, finished_at=None)
    second(crawled, home, incremental=False)
    crawled.change(submission_id, status="COMPLETED", latency_ms=0.25, finished_at="2026-08-14T05:38:44")
    second(crawled, home, incremental=True)
    rows = read_kernel(1, map(Pages(home, TINY).read, Pages(home, TINY).current)).submissions
    (row,) = [row for row in rows if row["submission_id"] == submission_id]
    assert (row["status"], row["latency_ms"]) == ("COMPLETED", 0.25)
    assert second(crawled, home, incremental=True) == ["/kernels"]


def test_what_is_not_over_yet_costs_the_pages_up_to_it(crawled: LeaderboardServer, home: Home) -> None:
    crawled.change(60, status="RUNNING")
    second(crawled, home, incremental=False)
    pages = Pages(home, TINY).current
    assert second(crawled, home, incremental=True)[1:] == [asked(crawled, offset) for offset in (0, 50, 0)]
    assert Pages(home, TINY).current == pages


def test_a_submission_that_failed_is_over(crawled: LeaderboardServer, home: Home) -> None:
    crawled.change(60, status="FAILED", finished_at="2026-08-14T05:38:44")
    second(crawled, home, incremental=False)
    assert second(crawled, home, incremental=True) == ["/kernels"]


def test_a_kernel_whose_bytes_are_lost_is_fetched_whole_by_an_increment_too(
    crawled: LeaderboardServer, home: Home
) -> None:
    row = Pages(home, TINY).current[2]
    Snapshots(home.snapshots).path(row["page_digest"]).unlink()
    second(crawled, home, incremental=True)
    assert Pages(home, TINY).is_stored(row)


def test_a_full_crawl_finds_an_old_row_that_changed_and_tidies_up(
    crawled: LeaderboardServer, home: Home
) -> None:
    arrive(crawled)
    crawled.change(1, is_disqualified=True)
    second(crawled, home, incremental=True)
    assert disqualified(home) == []
    assert len(Pages(home, TINY).current) == 5
    second(crawled, home, incremental=False)
    assert disqualified(home) == [1]
    assert len(Pages(home, TINY).current) == 4


def test_rows_in_no_order_are_gone_through(tiny_server: LeaderboardServer, home: Home) -> None:
    fill(tiny_server, 120)
    tiny_server.submissions[1].reverse()
    crawl(tiny_server.url, home)
    tiny_server.submissions[1].append({**tiny_server.submissions[1][0], "id": 121})
    tiny_server.count_submissions()
    second(tiny_server, home, incremental=True)
    assert sorted(ids(home)) == list(range(1, 122))


def test_rows_that_shift_meanwhile_cost_no_news(crawled: LeaderboardServer, home: Home) -> None:
    for _ in range(60):
        arrive(crawled)
    crawled.misbehave(r"/submissions", then(lambda: arrive(crawled)))
    second(crawled, home, incremental=True)
    assert sorted(ids(home)) == list(range(1, 182))


def test_a_kernel_that_was_never_fetched_is_fetched_whole(tiny_server: LeaderboardServer, home: Home) -> None:
    fill(tiny_server, 60)
    assert second(tiny_server, home, incremental=True)[1] == KERNEL
    assert len(ids(home)) == 60


def test_a_kernel_that_failed_is_not_taken_for_unchanged(crawled: LeaderboardServer, home: Home) -> None:
    arrive(crawled)
    crawled.misbehave("/submissions", status(404))
    assert crawl(crawled.url, home, incremental=True).failed
    assert asked(crawled) in second(crawled, home, incremental=True)
    assert 121 in ids(home)


def test_a_kernel_of_which_the_listing_counts_nothing_is_looked_at(
    crawled: LeaderboardServer, home: Home
) -> None:
    crawled.pages["/kernels"] = crawled.pages["/kernels"].replace(b'"submission_count"', b'"count"')
    assert second(crawled, home, incremental=True) == ["/kernels", asked(crawled)]


# How many requests that makes: docs/fetching.md has these numbers of the archive.


def requests_made(server: LeaderboardServer, home: Home) -> list[int]:
    """By a first crawl, a second one, an increment with nothing new, and one with ten new submissions."""
    counts = [len(second(server, home, incremental=incremental)) for incremental in (False, False, True)]
    for kernel_id in sorted(server.submissions)[:10]:
        arrive(server, kernel_id, id=10**6 + kernel_id)
    return [*counts, len(second(server, home, incremental=True))]


def test_a_crawl_of_the_sample_makes_as_few_requests_as_it_can(
    sample_server: LeaderboardServer, home: Home
) -> None:
    assert requests_made(sample_server, home) == [1 + 24 * 2, 1 + 24 * 2, 1, 1 + 10]


def test_a_crawl_of_the_archive_makes_as_few_requests_as_it_can(archive: Path, home: Home) -> None:
    with LeaderboardServer(archive) as server:
        assert requests_made(server, home) == [1 + 235 * 2, 1 + 235 * 2, 1, 1 + 10]


def test_a_page_that_comes_to_count_twice_is_read_all_the_same(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    """A submission goes away and comes back, and with it what stands at the head of the second page."""
    fill(tiny_server, 160)
    crawl(tiny_server.url, home)
    newest = dict(tiny_server.submissions[1][0])
    tiny_server.remove(160)
    for submission_id in (110, 155):
        tiny_server.change(submission_id, is_disqualified=True)
    second(tiny_server, home, incremental=True)
    tiny_server.submissions[1].insert(0, newest)
    tiny_server.count_submissions()
    for submission_id in (110, 155):
        tiny_server.change(submission_id, is_disqualified=False)
    second(tiny_server, home, incremental=True)
    locators = [row["locator"] for row in Pages(home, TINY).current]
    assert len(locators) > len(set(locators))

    made = make_manifests(home, TINY, 1)

    assert made.rows["source_submissions"] == 160
