"""The inbox: what becomes of files, and which page of a submission counts."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.leaderboard import inbox
from assets.leaderboard.inbox import InboxError, new_files, saved_pages, take_in
from assets.leaderboard.snapshots import Snapshots, digest_of
from assets.manifests import case_runs
from tests.inbox.pages import SUBMISSION, flux, page, prepared, read, saved, seed_text, tables
from warehouse.home import Home

DAY = 86_400
NOON = 1_790_000_000


def states(home: Home) -> dict[str, str]:
    """What became of each page, by the name of its file."""
    return {
        row["locator"].removeprefix("inbox:").partition("@")[0]: row["state"]
        for row in tables(home)["saved_pages"]
    }


def problems(home: Home) -> dict[str, str]:
    return {row["item"]: row["problem"] for row in tables(home)["quarantine"]}


def test_every_file_is_a_snapshot_before_anything_reads_it(home: Home) -> None:
    for content in (page().html(), seed_text("165"), "hello", b"\x00\xff"):
        path = saved(home, content)
        digest = take_in(home, path).page_digest
        assert digest == digest_of(path.read_bytes())
        assert Snapshots(home.snapshots).get(digest) == path.read_bytes()
        assert path.exists()


def test_what_a_file_is_its_content_says_and_never_its_name(home: Home) -> None:
    assert take_in(home, saved(home, page().text(), "run.pdf")).details["kind"] == "submission"
    assert take_in(home, saved(home, seed_text("165"), "submission-1.html")).details["kind"] == "run"
    neither = take_in(home, saved(home, "<html>Bad gateway</html>", "submission-47128.html"))
    assert neither.details["kind"] == "neither"
    assert "neither a submission page of the leaderboard nor a run page" in neither.details["problem"]


def test_a_page_whose_only_line_is_too_long_to_look_at_stops_no_other(home: Home) -> None:
    prepared(home, flux())
    read(home, "Submission #10 " + "x" * 5_000, "a.txt")
    read(home, f"<title>Submission #10 {'x' * 5_000}</title>", "b.html")
    read(home, page().html(), "c.html")
    assert states(home) == {"a.txt": "quarantined", "b.html": "quarantined", "c.html": "counted"}


def fails(*_: object) -> None:
    raise ZeroDivisionError("what stands on the page")


FAULT = r"^the reader failed \(ZeroDivisionError in test_inbox.py, line \d+\): this is a fault of the reader"


def test_whatever_a_reader_raises_costs_its_file_alone(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(home, flux())
    monkeypatch.setattr(inbox, "read_run_page", fails)
    read(home, seed_text("165"), "a.txt")
    read(home, page().html(), "b.html")
    assert states(home) == {"a.txt": "quarantined", "b.html": "counted"}
    assert re.match(FAULT, problems(home)["page"])


def test_whatever_a_matcher_raises_costs_its_page_alone(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(home, flux())
    read(home, page().html(), "a.html")
    read(home, seed_text("165"), "b.txt")
    monkeypatch.setattr(case_runs, "_interval", fails)
    assert states(home) == {"a.html": "quarantined", "b.txt": "counted"}
    assert re.match(FAULT, problems(home)["page"])
    assert not any("/" in run["external_id"] for run in tables(home)["runs"])


def test_a_file_that_is_neither_is_quarantined_with_a_sentence_and_stops_no_other(home: Home) -> None:
    prepared(home, flux())
    read(home, "not a page", "a.txt")
    read(home, b"PK\x03\x04...", "b.html")
    read(home, page().html(), "c.html")
    made = tables(home)
    assert states(home) == {"a.txt": "quarantined", "b.html": "quarantined", "c.html": "counted"}
    found = {row["locator"].partition("@")[0]: row for row in made["quarantine"]}
    assert found.keys() == {"inbox:a.txt", "inbox:b.html"}
    assert "a zip archive, whatever its name says" in found["inbox:b.html"]["problem"]
    assert found["inbox:a.txt"]["page_digest"] == digest_of(b"not a page")
    assert found["inbox:a.txt"]["item"] == "page"


def test_the_same_page_saved_twice_counts_once(home: Home) -> None:
    prepared(home, flux())
    read(home, page().html(), "first.html")
    read(home, page().html(), "again.html", NOON + DAY)
    assert states(home) == {"first.html": "counted"}
    ((one,),) = [saved_pages(home)]
    assert [file["name"] for file in one.files] == ["first.html", "again.html"]


def test_a_newer_save_of_a_submission_supersedes_an_older_one(home: Home) -> None:
    prepared(home, flux())
    read(home, page().html(), "old.html", NOON)
    read(home, page().text(), "new.txt", NOON + DAY)
    made = tables(home)
    assert states(home) == {"new.txt": "counted", "old.html": "superseded"}
    by_state = {row["state"]: row for row in made["saved_pages"]}
    assert by_state["superseded"]["superseded_by"] == by_state["counted"]["page_digest"]
    assert {row["page_digest"] for row in made["page_cases"]} == {by_state["counted"]["page_digest"]}


def test_newer_is_first_by_when_the_evaluation_finished(home: Home) -> None:
    prepared(home, flux())
    again = page().but(evaluation_finished="2026-09-16 09:16:06 UTC+08:00")
    read(home, again.html(), "again.html", NOON)
    read(home, page().html(), "earlier.html", NOON + DAY)
    assert states(home) == {"again.html": "counted", "earlier.html": "superseded"}


def test_a_page_that_shows_less_of_one_evaluation_supersedes_none_that_shows_more(home: Home) -> None:
    prepared(home, flux())
    read(home, page().html(), "whole.html", NOON)
    read(home, page().with_rows(page().rows[:5]).html(), "part.html", NOON + DAY)
    assert states(home) == {"whole.html": "counted", "part.html": "superseded"}


def test_a_page_that_can_not_be_used_supersedes_none(home: Home) -> None:
    prepared(home, flux())
    read(home, page().html(), "good.html", NOON)
    read(home, page().with_rows([]).html(), "loading.html", NOON + DAY)
    assert states(home) == {"good.html": "counted", "loading.html": "quarantined"}


def test_a_file_that_was_saved_over_is_no_longer_held_against_anyone(home: Home) -> None:
    prepared(home, flux())
    read(home, page().with_rows([]).html(), "page.html", NOON)
    assert "had it finished loading?" in problems(home)["page"]
    read(home, page().html(), "page.html", NOON + DAY)
    assert sorted(row["state"] for row in tables(home)["saved_pages"]) == ["counted", "superseded"]
    assert problems(home) == {}


def test_order_of_taking_in_is_nothing(home: Home, tmp_path: Path) -> None:
    contents = [
        (page().html(), "a.html", NOON),
        (page().text(), "b.html", NOON + DAY),
        (page().html_of_divs(), "c.html", NOON - DAY),
        ("junk", "d.html", NOON),
    ]
    other = Home(tmp_path / "other")
    for content in contents:
        read(prepared(home, flux()), *content)
    for content in reversed(contents):
        read(prepared(other, flux()), *content)
    made, same = tables(home), tables(other)
    for name in ("saved_pages", "page_cases", "runs", "run_intervals", "quarantine"):
        assert made[name] == same[name]


def test_a_submission_that_is_not_public_is_read_only_where_one_says_so(home: Home) -> None:
    prepared(home, flux())
    secret = page().but(mode="Private", user="Nobody Else")
    path = saved(home, secret.html(), "secret.html")
    take_in(home, path)
    made = tables(home)
    assert states(home) == {"secret.html": "private"}
    assert f"submission {SUBMISSION} says that its mode is Private" in problems(home)["page"]
    assert "kernelindex read --private" in problems(home)["page"]
    assert not made["page_cases"]
    assert "Nobody Else" not in repr(made)
    assert "Nobody Else" not in repr(saved_pages(home))

    take_in(home, path, may_be_private=True)
    assert states(home) == {"secret.html": "counted"}
    assert [row["is_private"] for row in tables(home)["saved_pages"]] == [True]
    take_in(home, path)
    assert states(home) == {"secret.html": "counted"}


def test_a_page_that_does_not_say_that_it_is_public_is_held_too(home: Home) -> None:
    read(home, page().but(mode="").html())
    assert states(home) == {"page.html": "private"}
    assert "does not say that it is public" in problems(home)["page"]


def test_files_of_the_folder_are_new_once(home: Home) -> None:
    assert new_files(home) == []
    one, other = saved(home, page().html(), "one.html"), saved(home, "junk", "other.html")
    (home.inbox / "one_files").mkdir()
    (home.inbox / "one_files" / "style.css").write_text("td { }")
    saved(home, "half", ".one.html.crdownload")
    (home.inbox / "link.html").symlink_to(one)
    assert new_files(home) == [one, other]
    for path in new_files(home):
        take_in(home, path)
    assert new_files(home) == []

    saved(home, page().text(), "one.html", NOON + 1)
    saved(home, page().html(), "copy.html")
    assert new_files(home) == [home.inbox / "copy.html", one]
    for path in new_files(home):
        take_in(home, path)
    assert new_files(home) == []


def test_what_is_no_file_or_can_not_be_read_is_said_so(home: Home, tmp_path: Path) -> None:
    with pytest.raises(InboxError, match="No such file"):
        take_in(home, tmp_path / "none.html")
    with pytest.raises(InboxError, match="is no file"):
        take_in(home, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InboxError, match="is no file"):
        take_in(home, tmp_path / "pipe")
    assert not home.snapshots.exists()


def test_a_file_that_is_too_large_is_named_by_its_digest_and_not_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "LARGEST_BYTES", 1000)
    path = saved(home, "a" * 1001)
    taken = take_in(home, path)
    assert taken.page_digest == digest_of(path.read_bytes())
    assert "too much to keep" in taken.details["problem"]
    assert not home.snapshots.exists()
    assert new_files(home) == []


def test_names_of_files_hold_anything(home: Home) -> None:
    for name in (
        "a\nb.html",
        "';drop table runs;--.html",
        "<b>&amp;.html",
        "x" * 200,
        "日本.html",
        "a|b.html",
    ):
        read(home, f"junk {name}", name)
    made = tables(home)
    for row in (*made["saved_pages"], *made["quarantine"]):
        assert row["locator"].replace("_", "").replace("@", "").replace(":", "").isprintable()
        assert not set(row["locator"]) & set("\n'\"<>&|;/\\")
        assert len(row["locator"]) < 150
    assert len({row["locator"] for row in made["saved_pages"]}) == 6


def test_a_time_that_no_calendar_has_is_none(home: Home) -> None:
    path = saved(home, page().html())
    os.utime(path, (-(2**40), -(2**40)))
    assert take_in(home, path).saved_at <= datetime(1970, 1, 1, tzinfo=UTC)
    assert new_files(home) == []


def test_pages_that_an_older_reader_read_are_read_anew(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(home, flux())
    read(home, page().html())
    before = tables(home)
    monkeypatch.setattr(inbox, "READER_VERSION", "later")
    (one,) = saved_pages(home)
    assert len(one.cases) == 16
    assert tables(home) == before

    Snapshots(home.snapshots).path(one.page_digest).unlink()
    monkeypatch.setattr(inbox, "READER_VERSION", "later still")
    (one,) = saved_pages(home)
    assert "can't be read" in one.details["problem"]
