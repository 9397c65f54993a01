"""What changes upstream: fields that come and go, and submissions that become others."""

import json
from typing import Any

import pytest

from assets.leaderboard.drift import confirmed
from assets.manifests import kernel_manifests
from assets.manifests.kernel_manifests import MANIFEST_TABLES, SOURCE_TABLES, make_manifests
from tests.examples import Row
from tests.leaderboard_server import LeaderboardServer
from tests.live_crawls import LISTING, TINY, answers, arrive, crawl, fill
from warehouse.home import Home
from warehouse.parquet import collect, rows_of
from warehouse.tables import (
    DRIFT,
    PAGES,
    QUARANTINE,
    RUNS,
    SOURCE_SUBMISSIONS,
    SUBMISSION_HISTORY,
    Table,
)

CARBON = "data.submissions[].carbon_g"
SCORE = "data.submissions[].sol_score"


def crawled(server: LeaderboardServer, home: Home, **settings: Any) -> None:
    """Crawl, and read what came."""
    assert not crawl(server.url, home, **settings).failed
    make_manifests(home, TINY, 1)


def made(home: Home, table: Table) -> list[Row]:
    return rows_of(collect(home, table, ["manifests"]))


def drift(home: Home) -> list[Row]:
    rows = collect(home, DRIFT, ["listing", "manifests"])
    return rows_of(confirmed(rows, collect(home, PAGES, ["listing", "pages"])))


def came_at(home: Home, locator: str) -> list[Any]:
    """When the source answered for a page, time after time."""
    key = None if locator == "/kernels" else TINY
    return [row["fetched_at"] for row in answers(home, key) if row["locator"] == locator]


def set_on_all(server: LeaderboardServer, **fields: Any) -> None:
    for row in server.submissions[1]:
        server.change(row["id"], **fields)


def remove_from_all(server: LeaderboardServer, field: str) -> None:
    for row in server.submissions[1]:
        del row[field]
    server.count_submissions()


# Drift.


def test_pages_that_are_as_they_are_known_are_no_drift(tiny_server: LeaderboardServer, home: Home) -> None:
    crawled(tiny_server, home)
    assert drift(home) == []


def test_a_field_that_appears_is_noted_with_its_first_and_last_sight(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    set_on_all(tiny_server, carbon_g=7)
    crawled(tiny_server, home)
    set_on_all(tiny_server, carbon_g=8)
    crawled(tiny_server, home)
    (row,) = drift(home)
    assert (row["locator"], row["field"], row["change"]) == (LISTING, CARBON, "appeared")
    _, first, last = came_at(home, LISTING)
    assert (row["first_seen_at"], row["last_seen_at"]) == (first, last)


def test_a_page_that_is_confirmed_shows_its_fields_again(tiny_server: LeaderboardServer, home: Home) -> None:
    set_on_all(tiny_server, carbon_g=7)
    crawled(tiny_server, home)
    crawled(tiny_server, home)
    (row,) = drift(home)
    assert [row["first_seen_at"], row["last_seen_at"]] == came_at(home, LISTING)


def test_a_field_that_disappears_is_noted_until_it_is_there_again(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    remove_from_all(tiny_server, "sol_score")
    crawled(tiny_server, home)
    arrive(tiny_server)
    crawled(tiny_server, home)
    set_on_all(tiny_server, sol_score=0.5)
    crawled(tiny_server, home)
    (row,) = drift(home)
    assert (row["locator"], row["field"], row["change"]) == (LISTING, SCORE, "missing")
    _, first, last, _ = came_at(home, LISTING)
    assert (row["first_seen_at"], row["last_seen_at"]) == (first, last)


def test_an_unknown_field_that_goes_again_keeps_its_sights(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    set_on_all(tiny_server, carbon_g=7)
    crawled(tiny_server, home)
    remove_from_all(tiny_server, "carbon_g")
    crawled(tiny_server, home)
    first, second = came_at(home, LISTING)
    names = ("change", "first_seen_at", "last_seen_at")
    assert [tuple(row[name] for name in names) for row in drift(home)] == [
        ("appeared", first, first),
        ("missing", second, second),
    ]


def test_a_field_that_only_some_rows_have_comes_and_goes_without_notice(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    tiny_server.change(2, error_log="out of memory")
    crawled(tiny_server, home)
    tiny_server.remove(2)
    crawled(tiny_server, home)
    assert drift(home) == []


def test_a_field_of_the_definition_that_goes_is_noted(tiny_server: LeaderboardServer, home: Home) -> None:
    crawled(tiny_server, home)
    definition = json.loads(tiny_server.pages["/kernels/1"])
    del definition["data"]["title"], definition["data"]["workloads"][0]["sol_ms"]
    tiny_server.pages["/kernels/1"] = json.dumps(definition).encode()
    crawled(tiny_server, home)
    assert [(row["locator"], row["field"], row["change"]) for row in drift(home)] == [
        ("/kernels/1", "data.title", "missing"),
        ("/kernels/1", "data.workloads[].sol_ms", "missing"),
    ]


def test_fields_of_the_listing_of_kernels_come_and_go_too(tiny_server: LeaderboardServer, home: Home) -> None:
    crawled(tiny_server, home)
    listing = json.loads(tiny_server.pages["/kernels"])
    (kernel,) = listing["data"]["kernels"]
    kernel["colour"] = kernel.pop("tags")
    tiny_server.pages["/kernels"] = json.dumps(listing).encode()
    crawled(tiny_server, home)
    crawled(tiny_server, home)
    _, first, last = came_at(home, "/kernels")
    names = ("field", "change", "first_seen_at", "last_seen_at")
    assert [tuple(row[name] for name in names) for row in drift(home)] == [
        ("data.kernels[].colour", "appeared", first, last),
        ("data.kernels[].tags", "missing", first, last),
    ]


# Known rows that can't be read any more, and submissions that are withdrawn.


def test_a_submission_that_can_t_be_read_any_more_stays_what_it_was(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    runs, history = {row["run_digest"] for row in made(home, RUNS)}, made(home, SUBMISSION_HISTORY)
    tiny_server.change(3, sol_score="high")
    crawled(tiny_server, home)
    (row,) = [row for row in made(home, SOURCE_SUBMISSIONS) if row["unread_page_digest"]]
    assert (row["submission_id"], row["outcome"], row["sol_score"]) == (3, "run", 0.3)
    assert {row["run_digest"] for row in made(home, RUNS)} == runs
    assert made(home, SUBMISSION_HISTORY) == history
    (problem,) = made(home, QUARANTINE)
    assert problem["page_digest"] == row["unread_page_digest"]
    assert problem["problem"].endswith("; what could be read last stays")
    tiny_server.change(3, sol_score=0.4)
    crawled(tiny_server, home)
    assert [row["sol_score"] for row in versions(home, 3)] == [0.3, 0.4]
    assert not any(row["unread_page_digest"] for row in made(home, SOURCE_SUBMISSIONS))


def test_a_submission_that_is_disqualified_ends_its_run_though_its_numbers_can_t_be_read(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    tiny_server.change(3, is_disqualified=True, latency_ms="none")
    crawled(tiny_server, home)
    assert [row["outcome"] for row in versions(home, 3)] == ["run", "DISQUALIFIED"]


def test_of_a_submission_that_turns_private_nothing_is_told_but_that_it_was_there(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    tiny_server.change(3, username="Ada", submission_mode="release")
    crawled(tiny_server, home)
    tiny_server.change(3, submission_mode="private")
    crawled(tiny_server, home)
    history = versions(home, 3)
    assert [(row["version"], row["outcome"]) for row in history] == [(1, "run"), (2, "NOT_PUBLIC")]
    assert history[0]["valid_to"] == history[1]["valid_from"]
    for table in (*SOURCE_TABLES, *MANIFEST_TABLES):
        assert "Ada" not in str(made(home, table))
    told = {"submission_id", "version", "kernel_id", "outcome", "valid_from", "valid_to", "page_digest"}
    assert {name for row in history for name, value in row.items() if value is not None} == told
    (row,) = [row for row in made(home, SOURCE_SUBMISSIONS) if row["submission_id"] == 3]
    assert {name for name, value in row.items() if value is not None} == {
        "submission_id",
        "kernel_id",
        "outcome",
        "page_digest",
    }
    tiny_server.change(3, submission_mode="release")
    crawled(tiny_server, home)
    assert [row["username"] for row in versions(home, 3)] == [None, None, "Ada"]


# The history of submissions.


def versions(home: Home, submission_id: int) -> list[Row]:
    return [row for row in made(home, SUBMISSION_HISTORY) if row["submission_id"] == submission_id]


def test_a_submission_has_one_version_to_begin_with(tiny_server: LeaderboardServer, home: Home) -> None:
    crawled(tiny_server, home)
    runs = {int(row["external_id"]): row["run_digest"] for row in made(home, RUNS)}
    history = made(home, SUBMISSION_HISTORY)
    assert {row["submission_id"]: row["run_digest"] for row in history} == runs
    assert {(row["version"], row["outcome"], row["valid_to"]) for row in history} == {(1, "run", None)}
    assert {row["valid_from"] for row in history} == set(came_at(home, LISTING))


def test_a_submission_that_is_disqualified_keeps_its_history(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    (before,) = versions(home, 2)
    tiny_server.change(2, is_disqualified=True)
    crawled(tiny_server, home)
    first, second = versions(home, 2)
    seen_at = came_at(home, LISTING)[-1]
    assert first == {**before, "valid_to": seen_at}
    assert (second["version"], second["outcome"], second["run_digest"]) == (2, "DISQUALIFIED", None)
    assert (second["valid_from"], second["valid_to"]) == (seen_at, None)
    assert second["is_disqualified"]


def test_the_run_follows_the_latest_version_and_the_one_before_stays_on_record(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    tiny_server.change(2, latency_ms=0.125, sol_score=0.9)
    crawled(tiny_server, home)
    first, second = versions(home, 2)
    (run,) = [row for row in made(home, RUNS) if row["external_id"] == "2"]
    assert run["run_digest"] == second["run_digest"] != first["run_digest"]
    assert run["latency_ms"] == second["latency_ms"] == 0.125
    assert first["run_digest"] is not None
    assert first["latency_ms"] == 0.5


def test_a_submission_that_is_requalified_has_three_versions_and_its_old_run(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    for disqualified in (False, True, False):
        tiny_server.change(2, is_disqualified=disqualified)
        crawled(tiny_server, home)
    first, second, third = versions(home, 2)
    assert first["run_digest"] == third["run_digest"]
    assert first["valid_to"] == second["valid_from"] < second["valid_to"] == third["valid_from"]
    assert third["valid_to"] is None


def test_a_submission_that_only_stands_on_another_page_has_no_other_version(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    fill(tiny_server, 60)
    crawled(tiny_server, home)
    before = made(home, SUBMISSION_HISTORY)
    arrive(tiny_server)
    crawled(tiny_server, home)
    assert [row for row in made(home, SUBMISSION_HISTORY) if row["submission_id"] <= 60] == before


def test_a_change_of_a_field_that_is_not_read_is_no_other_version(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    tiny_server.change(2, run_log="a warning")
    crawled(tiny_server, home)
    assert len(versions(home, 2)) == 1


def test_a_submission_that_vanishes_is_at_its_end_and_stays(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    tiny_server.remove(2)
    crawled(tiny_server, home)
    (row,) = versions(home, 2)
    assert row["valid_to"] == came_at(home, LISTING)[-1]
    assert "2" not in {row["external_id"] for row in made(home, RUNS)}


def test_a_submission_that_comes_back_has_another_version(tiny_server: LeaderboardServer, home: Home) -> None:
    crawled(tiny_server, home)
    rows = list(tiny_server.submissions[1])
    tiny_server.remove(2)
    crawled(tiny_server, home)
    tiny_server.submissions[1] = rows
    tiny_server.count_submissions()
    crawled(tiny_server, home)
    assert [(row["version"], row["valid_to"] is None) for row in versions(home, 2)] == [(1, False), (2, True)]


def test_an_increment_ends_no_submission_that_it_did_not_look_at(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    fill(tiny_server, 120)
    crawled(tiny_server, home)
    arrive(tiny_server)
    crawled(tiny_server, home, incremental=True)
    history = made(home, SUBMISSION_HISTORY)
    assert len(history) == 121
    assert {row["valid_to"] for row in history} == {None}


def test_a_kernel_that_is_defined_anew_makes_other_runs_of_the_same_submissions(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    definition = json.loads(tiny_server.pages["/kernels/1"])
    definition["data"]["workloads"][0]["axes"]["n"] = 16
    tiny_server.pages["/kernels/1"] = json.dumps(definition).encode()
    crawled(tiny_server, home)
    first, second = versions(home, 2)
    assert first["run_digest"] != second["run_digest"]
    assert second["valid_from"] == came_at(home, "/kernels/1")[-1]


def test_a_kernel_that_could_not_be_fetched_ends_nothing(tiny_server: LeaderboardServer, home: Home) -> None:
    crawled(tiny_server, home)
    before = made(home, SUBMISSION_HISTORY)
    tiny_server.pages["/kernels/1"] = b"{}"
    assert crawl(tiny_server.url, home).failed
    make_manifests(home, TINY, 1)
    assert made(home, SUBMISSION_HISTORY) == before


def test_versions_that_nobody_read_in_between_are_there_all_the_same(
    tiny_server: LeaderboardServer, home: Home
) -> None:
    crawled(tiny_server, home)
    for latency_ms in (0.4, 0.3):
        tiny_server.change(2, latency_ms=latency_ms)
        crawl(tiny_server.url, home)
    make_manifests(home, TINY, 1)
    rows = versions(home, 2)
    assert [row["latency_ms"] for row in rows] == [0.5, 0.4, 0.3]
    assert len({row["run_digest"] for row in rows}) == 3


def test_other_code_reads_all_of_it_anew_and_comes_to_the_same(
    tiny_server: LeaderboardServer, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_on_all(tiny_server, carbon_g=7)
    crawled(tiny_server, home)
    tiny_server.change(2, latency_ms=0.4)
    crawled(tiny_server, home)
    remove_from_all(tiny_server, "carbon_g")
    tiny_server.remove(1)
    crawled(tiny_server, home)
    before = made(home, SUBMISSION_HISTORY), drift(home)
    monkeypatch.setattr(kernel_manifests, "CODE_VERSION", "parser of tomorrow")
    assert make_manifests(home, TINY, 1).changed
    assert (made(home, SUBMISSION_HISTORY), drift(home)) == before
