"""Decisions: how the file is read, which are refused, and what those that count do to ranks and records."""

import random
import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.rankings import policy
from assets.rankings.decisions import read_decisions
from assets.rankings.entries import EntryError
from assets.rankings.policy import Candidate, Reason, Record
from tests.rankings.boards import (
    AUGUST,
    NOVEMBER,
    Row,
    decide,
    decision,
    judged,
    made,
    queried,
)

# Kernel 1's only bound: what is faster than 1 ms is held.
BOUND = [{"kernel_id": 1, "position": 0, "axes": "{}", "baseline_latency_ms": 9.0, "sol_ms": 1.0}]


def run(external_id: int, latency_ms: float, day: int, **more: object) -> Row:
    """A run of submission so-and-so, observed at noon of a day of August."""
    return {
        "external_id": str(external_id),
        "run_digest": f"sha256:{external_id:064x}",
        "latency_ms": latency_ms,
        "primary_value": round(latency_ms * 1e6),
        "observed_at": august(day) + timedelta(hours=12),
        **more,
    }


def august(day: int) -> datetime:
    return AUGUST + timedelta(days=day - 1)


def records(runs: list[Row], entries: list[Row]) -> list[tuple[str, str, datetime]]:
    """Who took the record (by submission), why and when, under these decisions."""
    query = "from record_events join runs using (run_digest) order by event_number"
    with judged(runs, entries, BOUND) as connection:
        rows = queried(connection, query)
    return sorted(
        ((row["external_id"], row["cause"], row["taken_at"]) for row in rows), key=lambda row: row[2]
    )


def ranks_and_reasons(runs: list[Row], entries: list[Row]) -> dict[str, int | list[str]]:
    """Each submission's rank, or why it has none."""
    query = (
        "select external_id, any_value(rank) as rank, list(reason order by reason) as reasons from runs "
        "left join rankings using (run_digest) left join exclusions using (run_digest) group by external_id"
    )
    with judged(runs, entries, BOUND) as connection:
        rows = queried(connection, query)
    return {row["external_id"]: row["rank"] or row["reasons"] for row in rows}


def set_aside(runs: list[Row], entries: list[Row]) -> dict[int, str]:
    """Why decisions can't be applied, by their place in the file."""
    with judged(runs, [], BOUND) as connection:
        return {place.entry: problem for place, problem in decide(connection, entries).items()}


def wrong(path: Path) -> dict[str, str]:
    """The entries of a file that are wrong in themselves."""
    return {str(place): problem for place, problem in read_decisions(path, now=NOVEMBER)[1].items()}


def saved(directory: Path, text: str) -> Path:
    path = directory / "decisions.yaml"
    path.write_text(text, "utf-8")
    return path


# Reading the file.


def test_the_file_that_ships_decides_nothing_and_shows_how() -> None:
    assert read_decisions() == ({}, {})


def test_the_examples_in_the_files_comment_can_be_read(tmp_path: Path) -> None:
    text = (Path(policy.__file__).with_name("decisions.yaml")).read_text("utf-8")
    examples = text.split("# For example:")[1]
    lines = [line.removeprefix("#").removeprefix(" ") for line in examples.splitlines()]
    path = saved(tmp_path, "\n".join(lines).replace("[]", ""))
    assert list(map(str, read_decisions(path, now=NOVEMBER)[0])) == [
        "decisions.yaml, entry 1 (retract 36347)",
        "decisions.yaml, entry 2 (supersede sha256:551680b35f31)",
    ]


WHOLE = """\
- decision: retract
  run: 3268
  date: 2026-08-20
  who: no
  why: "it reads: the answer"
  link: https://example.org/12
"""


def test_values_are_text_whatever_yaml_makes_of_them(tmp_path: Path) -> None:
    (retraction,) = read_decisions(saved(tmp_path, WHOLE), now=NOVEMBER)[0].values()
    assert (retraction.run, retraction.who, retraction.date) == ("3268", "no", august(20))


@pytest.mark.parametrize("name", ["run", "date", "who", "why", "link"])
def test_a_field_that_is_missing_is_named_with_its_entry(tmp_path: Path, name: str) -> None:
    lines = [line for line in WHOLE.splitlines(keepends=True) if f"  {name}:" not in line]
    ((place, problem),) = wrong(saved(tmp_path, WHOLE + "".join(lines))).items()
    assert place == f"decisions.yaml, entry 2 ({'retract' if name == 'run' else 'retract 3268'})"
    assert problem == f"retract.{name}: Field required"


@pytest.mark.parametrize(
    ("mistake", "right", "problem"),
    [
        ("  whom: Bo\n  why", "  why", "whom: Extra inputs are not permitted"),
        ("retract", "decision: reject\n  by: 12", "by: Extra inputs are not permitted"),
        ("decision: delete", "decision: retract", "'delete'"),
        ("run: ../3268", "run: 3268", "run: String should match pattern"),
        ("run: [3268]", "run: 3268", "run: Input should be a valid string"),
        ("who: ' '", "who: no", "who: String should have at least 1 character"),
        ("date: 20.8.2026", "date: 2026-08-20", "date: .*should be a day, as 2026-09-01"),
        ("date: 0001-01-01T00:00:00+10:00", "date: 2026-08-20", "date: .*should be a day"),
        ("date: 2027-08-20", "date: 2026-08-20", "is dated 2027-08-20 00:00 UTC, which is still to come"),
        ("link: javascript:alert(1)", "link: https://example.org/12", "link: String should match pattern"),
        ("link: sha256:0a", "link: https://example.org/12", "link: String should match pattern"),
        ("  who: no\n  who: Bo", "  who: no", "says 'who' twice"),
    ],
)
def test_a_mistake_costs_its_entry_alone(tmp_path: Path, mistake: str, right: str, problem: str) -> None:
    text = WHOLE.replace(right, mistake) if right in WHOLE else WHOLE.replace("decision: retract", right)
    path = saved(tmp_path, text + WHOLE)
    (found,) = wrong(path).values()
    assert re.search(problem, found)
    assert [place.entry for place in read_decisions(path, now=NOVEMBER)[0]] == [2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no list of entries; write \\[\\] where there are none"),
        ("decisions: []", "holds no list of entries"),
        ("- {decision", "can't be read: while parsing a flow mapping .* line 1"),
        ("\0", "can't be read"),
        ("[" * 3_000, "^decisions.yaml can't be read: it is nested too deep$"),
    ],
)
def test_a_file_that_is_no_list_of_entries_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(EntryError, match=problem):
        read_decisions(saved(tmp_path, text), now=NOVEMBER)


@pytest.mark.parametrize("item", ["retract 3268", "[[retract]]", "", "{run: {run: 3268}}"])
def test_an_item_that_is_no_entry_is_set_aside(tmp_path: Path, item: str) -> None:
    path = saved(tmp_path, f"- {item}\n{WHOLE}")
    assert list(wrong(path)) == ["decisions.yaml, entry 1"]
    assert len(read_decisions(path, now=NOVEMBER)[0]) == 1


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EntryError, match=r"decisions.yaml can't be read: .*No such file"):
        read_decisions(tmp_path / "decisions.yaml")


# What can't be applied.

TWO = [run(1, 3.0, day=1), run(2, 2.0, day=2)]
ELSEWHERE = run(3, 2.0, day=2, comparison_key="sha256:07")


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([decision("retract", 99, august(20))], "^there is no submission 99$"),
        ([decision("retract", "sha256:ff", august(20))], "no run whose digest is, or starts with, sha256:ff"),
        ([decision("retract", "sha256:0", august(20))], "sha256:0 is the start of more than one run"),
        ([decision("supersede", 1, august(20), by="99")], "there is no submission 99"),
        ([decision("supersede", 1, august(20), by="3")], "submission 3 is in another comparison group"),
        ([decision("supersede", 1, august(20), by="4")], "submission 4, .*, is no run .INCORRECT."),
        ([decision("supersede", 1, august(20), by="1")], "supersedes in a circle: 1 by 1"),
        (
            [decision("supersede", 1, august(20), by="2"), decision("supersede", 2, august(20), by="1")],
            "supersedes in a circle: [12] by [12] by",
        ),
        (
            [decision("retract", 2, august(2))],
            "^it is dated 2026-08-02 00:00 UTC, but submission 2 was",
        ),
        ([decision("supersede", 1, august(2), by="2")], "but submission 2 was measured later"),
        ([decision("accept", 1, august(20))], "^nothing flags the run of submission 1: take the entry out"),
        ([decision("reject", 1, august(20))], "^nothing flags the run of submission 1: take the entry out"),
        (
            [decision("retract", 1, august(20)), decision("retract", f"sha256:{1:064x}", august(21))],
            r"entry 1 \(retract 1\) and decisions.yaml, entry 2 \(retract sha256:0+1\) contradict",
        ),
        (
            [decision("retract", 1, august(20)), decision("supersede", 1, august(20), by="2")],
            "contradict each other",
        ),
        (
            [decision("accept", 5, august(20)), decision("reject", 5, august(21))],
            "contradict each other",
        ),
        (
            [decision("accept", 5, august(21)), decision("retract", 5, august(20))],
            "contradict each other",
        ),
    ],
)
def test_a_decision_that_can_not_be_applied_is_set_aside_and_all_is_ranked(
    entries: list[Row], problem: str
) -> None:
    runs = [*TWO, ELSEWHERE, run(4, 2.0, day=1, outcome="INCORRECT", there=False), run(5, 0.5, day=1)]
    found = set_aside(runs, entries)
    assert list(found) == list(range(1, len(entries) + 1))
    assert all(re.search(problem, why) for why in found.values())
    assert ranks_and_reasons(runs, entries) == ranks_and_reasons(runs, [])


def test_a_decision_that_can_not_be_applied_stops_no_other() -> None:
    runs = [run(1, 4.0, day=1), run(2, 3.0, day=2), run(3, 2.0, day=3)]
    entries = [
        decision("retract", 3, august(20)),
        decision("supersede", 1, august(20), by="99"),
        # The second of two that contradict each other would be, if it were not set aside itself.
        decision("retract", 2, august(20)),
        decision("retract", 2, august(1)),
    ]
    assert list(set_aside(runs, entries)) == [2, 4]
    assert ranks_and_reasons(runs, entries) == {"1": 1, "2": ["RETRACTED"], "3": ["RETRACTED"]}


def test_a_successor_that_is_disqualified_gives_the_place_back_until_it_is_a_run_again() -> None:
    entries = [decision("supersede", 1, august(20), by="2")]
    one, two = TWO
    gone = {**two, "outcome": "DISQUALIFIED", "there": False}
    assert ranks_and_reasons([one, two], entries)["1"] == ["SUPERSEDED"]
    assert ranks_and_reasons([one, gone], entries)["1"] == 1
    assert set_aside([one, gone], entries) == {
        1: "submission 2, which is to take its place, is no run (DISQUALIFIED)"
    }


def test_longer_circles_are_set_aside_and_chains_are_not() -> None:
    runs = [run(number, 2.0, day=1) for number in range(1, 5)]
    chain = [decision("supersede", number, august(20), by=str(number + 1)) for number in range(1, 4)]
    assert ranks_and_reasons(runs, chain)["4"] == 1
    circle = [*chain, decision("supersede", 4, august(20), by="2")]
    assert set_aside(runs, circle)[3] == "it supersedes in a circle: 3 by 4 by 2 by 3; take one entry out"
    # Who leads into it without being part of it is superseded.
    assert ranks_and_reasons(runs, circle) == {"1": ["SUPERSEDED"], "2": 1, "3": 1, "4": 1}


def test_a_decision_of_a_submission_that_is_no_run_now_waits_for_it() -> None:
    no_run = run(4, 1.5, day=1, outcome="DISQUALIFIED", there=False)
    with judged([*TWO, no_run], [decision("retract", 4, august(20))], BOUND) as connection:
        (row,) = queried(connection, "from decisions")
        assert (row["external_id"], row["run_digest"]) == ("4", None)
        assert queried(connection, "from review") == []
    is_run = run(4, 1.5, day=1)
    assert ranks_and_reasons([*TWO, is_run], [decision("retract", 4, august(20))])["4"] == ["RETRACTED"]


# What decisions do.


def test_each_decision_takes_a_run_out_of_the_ranking_or_lets_it_in() -> None:
    runs = [
        run(1, 5.0, day=1),
        run(2, 4.0, day=2),
        run(3, 3.0, day=3),
        run(4, 0.5, day=4),
        run(5, 0.6, day=5),
    ]
    assert ranks_and_reasons(runs, []) == {
        "1": 3,
        "2": 2,
        "3": 1,
        "4": ["HELD_FOR_REVIEW"],
        "5": ["HELD_FOR_REVIEW"],
    }
    entries = [
        decision("retract", 1, august(20)),
        decision("supersede", 2, august(20), by="3"),
        decision("accept", 4, august(20)),
        decision("reject", 5, august(20)),
    ]
    assert ranks_and_reasons(runs, entries) == {
        "1": ["RETRACTED"],
        "2": ["SUPERSEDED"],
        "3": 2,
        "4": 1,
        "5": ["REJECTED"],
    }


def test_a_run_that_is_flagged_but_not_held_can_be_accepted_for_the_record_or_rejected() -> None:
    workloads = [
        {"kernel_id": 1, "position": place, "axes": "{}", "sol_ms": sol_ms}
        for place, sol_ms in enumerate((1.0, 9.0))  # 3 ms is their geometric mean
    ]
    runs = [run(1, 2.0, day=1), run(2, 4.0, day=2)]
    for entries, ranked in (
        ([], ["1", "2"]),
        ([decision("accept", 1, august(20))], ["1", "2"]),
        ([decision("reject", 1, august(20))], ["2"]),
    ):
        with judged(runs, entries, workloads) as connection:
            query = "select external_id from rankings join runs using (run_digest) order by rank"
            assert [row["external_id"] for row in queried(connection, query)] == ranked


def test_a_run_that_held_the_record_and_is_retracted_lost_it_then() -> None:
    runs = [run(1, 5.0, day=1), run(2, 3.0, day=2), run(3, 4.0, day=3)]
    assert records(runs, [decision("retract", 2, august(20))]) == [
        ("1", "new_run", runs[0]["observed_at"]),
        ("2", "new_run", runs[1]["observed_at"]),
        ("3", "retraction", august(20)),  # It never took the record: a faster one was there before it.
    ]


def test_what_happens_after_a_retraction_counts_from_there() -> None:
    runs = [run(1, 5.0, day=1), run(2, 3.0, day=2), run(3, 4.0, day=25), run(4, 4.5, day=26)]
    assert records(runs, [decision("retract", 2, august(20))]) == [
        ("1", "new_run", runs[0]["observed_at"]),
        ("2", "new_run", runs[1]["observed_at"]),
        ("1", "retraction", august(20)),
        ("3", "new_run", runs[2]["observed_at"]),
    ]


def test_who_never_led_leaves_without_an_event() -> None:
    runs = [run(1, 5.0, day=1), run(2, 6.0, day=2)]
    assert records(runs, [decision("retract", 2, august(20))]) == [("1", "new_run", runs[0]["observed_at"])]


def test_where_none_is_left_nobody_holds_the_record_until_the_next_run() -> None:
    runs = [run(1, 5.0, day=1), run(2, 6.0, day=25)]
    with judged(runs, [decision("retract", 1, august(20))], BOUND) as connection:
        events = queried(connection, "from record_events order by event_number")
    assert [(event["run_digest"], event["previous_run_digest"]) for event in events] == [
        (runs[0]["run_digest"], None),
        (runs[1]["run_digest"], None),
    ]


def test_an_accepted_run_takes_the_record_when_it_is_accepted() -> None:
    runs = [run(1, 5.0, day=1), run(2, 0.5, day=2), run(3, 4.0, day=3)]
    assert records(runs, [decision("accept", 2, "2026-08-20T15:00:00Z")]) == [
        ("1", "new_run", runs[0]["observed_at"]),
        ("3", "new_run", runs[2]["observed_at"]),
        ("2", "acceptance", august(20) + timedelta(hours=15)),
    ]


def test_a_superseded_record_goes_to_the_fastest_that_is_left() -> None:
    runs = [run(1, 4.0, day=1), run(2, 3.0, day=2), run(3, 5.0, day=3)]
    assert records(runs, [decision("supersede", 2, august(20), by="3")])[-1] == (
        "1",
        "supersession",
        august(20),
    )


def test_what_is_decided_for_one_moment_counts_together() -> None:
    runs = [run(1, 5.0, day=1), run(2, 4.0, day=2), run(3, 3.0, day=3)]
    entries = [decision("retract", 3, august(20)), decision("retract", 2, august(20))]
    assert records(runs, entries)[-1] == ("1", "retraction", august(20))  # 2 never held it in between.


# Properties, over generated runs and decisions.


def some_runs(rng: random.Random) -> list[Row]:
    """Runs of a few groups, some of them below the bound and so held."""
    numbers = iter(range(1, 100))
    return [
        run(
            next(numbers),
            rng.choice((0.5, 0.6, 1.5, 2.0, 2.0, 2.5, 3.0, 4.0)),
            day=rng.randint(1, 6),
            comparison_key=f"sha256:{group:02x}",
        )
        for group in range(rng.randint(1, 8))
        for _ in range(rng.randint(2, 9))
    ]


def some_decisions(rng: random.Random, runs: list[Row]) -> list[Row]:
    """Decisions about them that don't contradict each other; several can be of one moment."""
    entries = []
    for place, one in enumerate(runs):
        flagged = one["latency_ms"] < 1
        later = [other for other in runs[place + 1 :] if other["comparison_key"] == one["comparison_key"]]
        kinds = ["retract", *(["supersede"] if later else [])]
        if flagged and rng.random() < 0.5:
            accepted = one["observed_at"] + timedelta(hours=rng.choice((12, 36)))
            entries.append(decision("accept", one["external_id"], accepted))
        elif flagged:
            kinds.append("reject")
        if rng.random() < 0.4:
            kind = rng.choice(kinds)
            by = rng.choice(later) if kind == "supersede" else one
            date = max(one["observed_at"], by["observed_at"]) + timedelta(hours=rng.choice((48, 60, 240)))
            more = {"by": by["external_id"]} if kind == "supersede" else {}
            entries.append(decision(kind, rng.choice((one["external_id"], one["run_digest"])), date, **more))
    return entries


def candidates(runs: list[Row], entries: Iterable[Row]) -> dict[str, list[Candidate]]:
    """The same runs for the policy in Python, by group: what decisions mean, said a second time."""
    reasons: dict[str, policy.ReviewReason] = {
        "retract": "RETRACTED",
        "supersede": "SUPERSEDED",
        "reject": "REJECTED",
    }
    groups = defaultdict(list)
    for one in runs:
        mine = [entry for entry in entries if entry["run"] in (one["external_id"], one["run_digest"])]
        date = {entry["decision"]: datetime.fromisoformat(entry["date"]) for entry in mine}
        held = one["latency_ms"] < 1
        decided = date.get("accept") or date.get("reject")
        review: set[Reason] = {"HELD_FOR_REVIEW"} if held and not decided else set()
        leaving = next((kind for kind in reasons if kind in date), None)
        groups[one["comparison_key"]].append(
            Candidate(
                one["run_digest"],
                one["primary_value"],
                observed_at=one["observed_at"],
                review=frozenset(review | ({reasons[leaving]} if leaving else set())),
                accepted_at=decided if held else None,
                left_at=date[leaving] if leaving else None,
                left_by=reasons[leaving] if leaving else None,
            )
        )
    return groups


@settings(deadline=None, max_examples=8)
@given(rng=st.randoms())
def test_ranks_reasons_and_records_under_decisions_are_those_of_the_policy(rng: random.Random) -> None:
    runs = some_runs(rng)
    entries = some_decisions(rng, runs)
    with judged(runs, entries, BOUND) as connection:
        tables = made(connection)
    for comparison_key, group in candidates(runs, entries).items():
        digests = {one.run_digest for one in group}
        ranked, excluded, events = (
            [row for row in tables[table] if row["run_digest"] in digests]
            for table in ("rankings", "exclusions", "record_events")
        )
        assert {row["run_digest"]: row["rank"] for row in ranked} == {
            run_digest: place.rank for run_digest, place in policy.places(group, "source-native").items()
        }
        assert {(row["run_digest"], row["reason"]) for row in excluded} == {
            (one.run_digest, reason) for one in group for reason in policy.reasons(one)
        }
        assert {row["comparison_key"] for row in events} <= {comparison_key}
        assert [
            Record(row["run_digest"], row["previous_run_digest"], row["taken_at"], row["cause"])
            for row in events
        ] == policy.records(group)


@settings(deadline=None, max_examples=4)
@given(rng=st.randoms())
def test_decisions_count_once_in_any_order_and_are_undone_when_taken_out(rng: random.Random) -> None:
    runs = some_runs(rng)
    entries = some_decisions(rng, runs)
    with judged(runs, [], BOUND) as connection:
        undecided = made(connection)
        decide(connection, entries)
        decided = made(connection)
        shuffled = rng.sample(entries, len(entries))
        decide(connection, shuffled)
        assert made(connection) == decided
        kept = shuffled[: len(shuffled) // 2]
        decide(connection, kept)
        with judged(runs, kept, BOUND) as another:
            assert made(connection) == made(another)
        decide(connection, [])
        assert made(connection) == undecided


@settings(deadline=None, max_examples=8)
@given(rng=st.randoms())
def test_history_is_appended_to_and_never_changed_before_a_decision(rng: random.Random) -> None:
    runs = some_runs(rng)
    entries = sorted(some_decisions(rng, runs), key=lambda entry: entry["date"])
    kept = entries[: rng.randint(0, len(entries))]
    with judged(runs, kept, BOUND) as connection:
        before = made(connection)["record_events"]
        decide(connection, entries)
        after = made(connection)["record_events"]
    if added := entries[len(kept) :]:
        first = datetime.fromisoformat(added[0]["date"])
        assert [event for event in after if event["taken_at"] < first] == [
            event for event in before if event["taken_at"] < first
        ]
