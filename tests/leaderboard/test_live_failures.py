"""What can't be had costs its kernel alone, and leaves its trace."""

from pathlib import Path

import pytest

from assets.leaderboard.pages import Pages
from assets.leaderboard.records import Unreadable
from assets.leaderboard.snapshots import Snapshots
from assets.leaderboard.sources import SourceError
from tests.examples import Row
from tests.leaderboard_server import (
    Fault,
    LeaderboardServer,
    deep_json,
    dropped,
    fine,
    gzip_bomb,
    html,
    redirect,
    status,
    truncated_json,
    verbatim,
)
from tests.live_crawls import LISTING, TINY, answers, asked, crawl, ids, paths
from warehouse.home import Home
from warehouse.parquet import rows_of
from warehouse.parts import read_part


def quarantined(path: Path) -> list[tuple[str, str, str]]:
    rows: list[Row] = rows_of(read_part(path, "quarantine"))
    return [(row["locator"], row["item"], row["problem"]) for row in rows]


# Alone.


@pytest.mark.parametrize(
    "fault",
    [status(404), status(500), status(429), dropped(), html(), gzip_bomb(3_000_000), redirect("https://elsewhere.test/")],
    ids=["404", "500", "429", "dropped", "web page", "gzip bomb", "redirect to another host"],
)  # fmt: skip
def test_a_kernel_that_fails_fails_alone(sample_server: LeaderboardServer, home: Home, fault: Fault) -> None:
    sample_server.misbehave("kernel_id=213", *[fault] * 2)
    result = crawl(sample_server.url, home)
    assert list(result.failed) == ["004_gemm_n128_k2048"]
    assert LISTING.replace("=1", "=213") in result.failed["004_gemm_n128_k2048"]
    assert sum(bool(Pages(home, path.parent.name).current) for path in home.parts("pages")) == 23


def test_a_kernel_that_failed_is_fetched_by_the_next_run_alone(
    sample_server: LeaderboardServer, home: Home
) -> None:
    sample_server.misbehave("kernel_id=213", status(404))
    crawl(sample_server.url, home)
    sample_server.requests.clear()
    assert not crawl(sample_server.url, home).failed
    assert paths(sample_server) == ["/submissions?kernel_id=213&limit=50"]


def test_a_kernel_that_fails_twice_holds_up_no_new_crawl(
    sample_server: LeaderboardServer, home: Home
) -> None:
    sample_server.misbehave("kernel_id=213", status(404), status(404))
    for _ in range(2):
        assert crawl(sample_server.url, home).failed
    sample_server.requests.clear()
    assert not crawl(sample_server.url, home).failed
    assert len(sample_server.requests) == 49


def test_a_definition_that_can_t_be_read_leaves_the_one_before(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawl(tiny_server.url, home)
    before = Pages(home, TINY).current
    tiny_server.pages["/kernels/1"] = b'{"data": {"id": 1, "name": "another"}}'
    (problem,) = crawl(tiny_server.url, home).failed.values()
    assert problem.startswith("/kernels/1: axes: Field required")
    assert Pages(home, TINY).current == before


# The whole crawl.


def test_three_kernels_in_a_row_without_an_answer_end_the_crawl_in_words(
    sample_server: LeaderboardServer, home: Home
) -> None:
    sample_server.misbehave("/kernels/", *[status(503)] * 20)
    result = crawl(sample_server.url, home)
    assert len(result.failed) == 2
    assert "the server answers with status 503" in result.stopped
    assert "3 kernels in a row without an answer" in result.stopped
    assert "run again later to go on" in result.stopped
    assert len(sample_server.requests) == 1 + 3 * 2


def test_kernels_that_fail_here_and_there_do_not_end_the_crawl(
    sample_server: LeaderboardServer, home: Home
) -> None:
    sample_server.misbehave("/kernels/", *[*[status(503)] * 4, fine] * 8)
    result = crawl(sample_server.url, home)
    assert not result.stopped
    assert len(result.failed) == 16


def test_kernels_that_are_not_there_do_not_end_the_crawl(
    sample_server: LeaderboardServer, home: Home
) -> None:
    sample_server.misbehave("/kernels/", *[status(404)] * 24)
    result = crawl(sample_server.url, home)
    assert (len(result.failed), result.stopped) == (24, "")


def test_no_run_makes_more_requests_than_it_may(sample_server: LeaderboardServer, home: Home) -> None:
    sample_server.misbehave("", status(503))
    result = crawl(sample_server.url, home, max_requests=10)
    assert "the run has made all its 10 requests; run again to go on, or raise max_requests" in result.stopped
    assert len(sample_server.requests) == result.tally.requests == 10


def test_a_listing_of_kernels_that_is_not_to_be_had_leaves_all_as_it_was(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawl(tiny_server.url, home)
    for fault in (html(), truncated_json, verbatim_json(b'{"data": {"kernels": 7}}')):
        tiny_server.misbehave("/kernels$", fault)
        tiny_server.modified = tiny_server.modified.replace(year=2030)
        with pytest.raises((SourceError, Unreadable), match="/kernels: "):
            crawl(tiny_server.url, home)
    assert ids(home) == [3, 2, 1]
    assert not crawl(tiny_server.url, home).failed


def verbatim_json(body: bytes) -> Fault:
    from tests.leaderboard_server import JSON, Reply

    return verbatim(Reply(200, body, JSON))


# Traces.


def test_every_answer_has_a_row(tiny_server: LeaderboardServer, home: Home) -> None:
    tiny_server.misbehave("/kernels/1", status(503))
    tiny_server.misbehave("/submissions", status(404))
    crawl(tiny_server.url, home)
    definition, listing = answers(home)
    assert (definition["status"], definition["tries"], definition["problem"]) == (200, 2, None)
    assert definition["duration_ms"] > 0
    assert definition["size_bytes"] == len(tiny_server.pages["/kernels/1"])
    assert (listing["status"], listing["tries"]) == (404, 1)
    assert listing["problem"] == "the server answers with status 404"
    assert listing["resolved_locator"] == f"{tiny_server.url}{asked(tiny_server)}"


def test_what_never_came_has_a_row_too(tiny_server: LeaderboardServer, home: Home) -> None:
    tiny_server.misbehave("/submissions", *[dropped()] * 2)
    crawl(tiny_server.url, home)
    *_, failure = answers(home)
    assert (failure["page_digest"], failure["status"], failure["tries"]) == (None, 0, 2)
    assert "the connection failed" in failure["problem"]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (html(), "the body is 'text/html' where JSON was asked for"),
        (deep_json(100_000), 'the page is nested too deep; it starts with \'{"data":'),
        (truncated_json, "the page is no JSON; it starts with"),
    ],
    ids=["web page", "deep", "cut off"],
)
@pytest.mark.parametrize("locator", ["/kernels/1", LISTING])
def test_a_page_of_which_nothing_can_be_made_is_kept_as_evidence_and_quarantined(
    tiny_server: LeaderboardServer, home: Home, locator: str, fault: Fault, problem: str
) -> None:
    tiny_server.misbehave(locator.replace("?", r"\?"), *[fault] * 3)
    crawl(tiny_server.url, home)
    where, item, why = quarantined(home.part(TINY, "pages"))[-1]
    assert (where, item) == (locator, "page")
    assert why.startswith(problem)
    evidence = [row for row in answers(home) if row["locator"] == locator][-1]
    assert Snapshots(home.snapshots).get(evidence["page_digest"])[:1] in (b"<", b"{")


def test_what_was_quarantined_is_not_any_more_once_the_kernel_is_there(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    tiny_server.misbehave("/submissions", html())
    crawl(tiny_server.url, home)
    crawl(tiny_server.url, home)
    assert quarantined(home.part(TINY, "pages")) == []
    assert ids(home) == [3, 2, 1]


def test_a_web_page_for_a_listing_of_kernels_is_quarantined(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    tiny_server.misbehave("/kernels", html())
    with pytest.raises(SourceError):
        crawl(tiny_server.url, home)
    assert quarantined(home.kernel_listing) == [
        ("/kernels", "page", "the body is 'text/html' where JSON was asked for")
    ]


def test_the_tally_counts_what_came(tiny_server: LeaderboardServer, home: Home) -> None:
    tiny_server.misbehave("/kernels/1", status(503))
    first = crawl(tiny_server.url, home).tally
    assert (first.requests, first.retries, first.new, first.failed) == (4, 1, 3, 0)
    assert first.size_bytes == sum(row["size_bytes"] for row in answers(home) + answers(home, None))
    tiny_server.change(1, is_disqualified=True)
    second = crawl(tiny_server.url, home).tally
    assert (second.new, second.changed, second.unchanged, second.failed) == (0, 1, 2, 0)
    tiny_server.misbehave("/submissions", status(404))
    third = crawl(tiny_server.url, home).tally
    assert (third.new, third.changed, third.unchanged, third.failed) == (0, 0, 2, 1)


def test_a_page_that_the_last_request_did_not_bring_has_a_row(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    tiny_server.misbehave("/kernels/1", status(503))
    result = crawl(tiny_server.url, home, max_requests=2)
    assert TINY in result.failed
    assert [(row["status"], row["tries"]) for row in answers(home)] == [(503, 1)]
    assert len(tiny_server.requests) == result.tally.requests == 2


def test_the_requests_of_redirects_count(tiny_server: LeaderboardServer, home: Home) -> None:
    tiny_server.misbehave("/kernels/1", redirect("/api/kernels/1"))
    assert crawl(tiny_server.url, home).tally.requests == len(tiny_server.requests) == 4
