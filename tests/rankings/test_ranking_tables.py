"""The four tables: that they say what the policy says of any group, and what they say beyond it."""

import random
from collections import defaultdict
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.rankings import policy
from assets.rankings.policy import POLICY, Place, Reason, Record, reasons
from assets.rankings.rank import rank
from tests.rankings.boards import AUGUST, Leaderboard, Row, leaderboard, rank_runs, ranked, rows_of, tabled
from warehouse.tables import REVIEW


def assert_tables_follow_policy(board: Leaderboard) -> None:
    """Rank a leaderboard in SQL; hold each group's rows against the policy in Python."""
    tables = rank_runs(rows_of(board))
    excluded: dict[str, set[Reason]] = defaultdict(set)
    for row in tables["exclusions"]:
        excluded[row["run_digest"]].add(row["reason"])
    for comparison_key, (profile, group) in board.items():
        ranked, taken, [group_row] = (
            [row for row in tables[table] if row["comparison_key"] == comparison_key]
            for table in ("rankings", "record_events", "comparison_groups")
        )
        expected = policy.places(group, profile)
        assert {row["run_digest"]: place_in(row) for row in ranked} == expected
        assert [record_in(row) for row in taken] == policy.records(group)
        assert [row["event_number"] for row in taken] == list(range(1, len(taken) + 1))
        assert [excluded[run.run_digest] for run in group] == [reasons(run) for run in group]
        assert group_row["profile"] == profile
        assert group_row["run_count"] == len(group)
        assert group_row["eligible_count"] == len(expected)
        assert group_row["head_run_digest"] == next(iter(expected), None)


def place_in(row: Row) -> Place:
    return Place(row["rank"], row["tied"], row["display_order"], row["ratio_to_best"])


def record_in(row: Row) -> Record:
    return Record(row["run_digest"], row["previous_run_digest"], row["taken_at"], row["cause"])


@settings(deadline=None, max_examples=18)
@given(rng=st.randoms(), sizes=st.lists(st.integers(1, 12), min_size=1, max_size=20))
def test_sql_follows_the_policy_on_groups_of_any_shape(rng: random.Random, sizes: list[int]) -> None:
    assert_tables_follow_policy(leaderboard(rng, sizes))


def test_sql_follows_the_policy_on_large_groups() -> None:
    # Beyond DuckDB's vectors (2,048 rows), where a walk up a group meets its own edges.
    board = leaderboard(random.Random(1), [3000, 1, 5000, 2, 4000, 2500])
    assert {profile for profile, _ in board.values()} == {"source-native", "strict"}
    assert_tables_follow_policy(board)


def test_a_group_is_source_native_only_if_all_its_runs_are() -> None:
    tables = rank_runs(
        [
            {"run_digest": "sha256:0a", "primary_value": 1000},
            {"run_digest": "sha256:0b", "primary_value": 1001, "profile": "strict"},
        ]
    )
    assert [row["profile"] for row in tables["comparison_groups"]] == ["strict"]


def test_a_group_says_what_its_runs_have_in_common() -> None:
    tables = rank_runs(
        [
            {"run_digest": "sha256:0a", "primary_value": 267_348},
            {"run_digest": "sha256:0b", "primary_value": 238_721},
            {"run_digest": "sha256:0c", "primary_value": 1, "review": ("HELD_FOR_REVIEW",)},
        ]
    )
    assert tables["comparison_groups"] == [
        {
            "comparison_key": "sha256:06",
            "operation_digest": "sha256:0c",
            "workload_digest": "sha256:3f",
            "protocol_digest": "sha256:29",
            "environment_digest": "sha256:52",
            "correctness_key": "sha256:d2",
            "metric_key": "latency:mean:ns",
            "profile": "source-native",
            "run_count": 3,
            "eligible_count": 2,
            "head_run_digest": "sha256:0b",
        }
    ]


def test_every_row_names_the_policy() -> None:
    tables = rank_runs(
        [
            {"run_digest": "sha256:0a", "primary_value": 1000, "observed_at": AUGUST},
            {"run_digest": "sha256:0b"},
        ]
    )
    for table in ("rankings", "exclusions", "record_events"):
        assert [row["policy"] for row in tables[table]] == [POLICY], table


def test_what_is_held_against_runs_that_are_not_there_is_passed_over() -> None:
    tables = rank_runs(
        [
            {"run_digest": "sha256:0a", "primary_value": 1000},
            {"run_digest": "sha256:0b", "there": False, "review": ("RETRACTED",)},
        ]
    )
    assert tables["exclusions"] == []


def test_a_reason_that_nobody_knows_is_an_error() -> None:
    review = tabled([{"run_digest": "sha256:0a", "reason": "DISLIKED"}], REVIEW.schema)
    with ranked([]) as connection, pytest.raises(ValueError, match=r"\['DISLIKED'\]; known are RETRACTED"):
        rank(connection, review)


def test_without_runs_the_tables_are_empty() -> None:
    assert not any(rank_runs([]).values())


def source_ranks(runs: Iterable[Row]) -> dict[str, int | None]:
    return {row["run_digest"]: row["source_rank"] for row in rank_runs(runs)["rankings"]}


def test_the_leaderboards_own_order_is_by_sol_score() -> None:
    # A faster run can have a lower score: the score is a mean over workloads.
    runs = [
        {"run_digest": "sha256:0a", "primary_value": 1000, "user": "Ada", "sol_score": 0.71},
        {"run_digest": "sha256:0b", "primary_value": 1001, "user": "Bo", "sol_score": 0.78},
    ]
    assert source_ranks(runs) == {"sha256:0a": 2, "sha256:0b": 1}


def test_the_leaderboard_lists_only_each_users_best() -> None:
    near_names = ("Proud Wren @ NVIDIA", "Proud Wren @NVIDIA")  # two accounts
    runs = [
        {"run_digest": "sha256:0a", "primary_value": 3, "user": near_names[0], "sol_score": 0.6},
        {"run_digest": "sha256:0b", "primary_value": 2, "user": near_names[0], "sol_score": 0.7},
        {"run_digest": "sha256:0c", "primary_value": 4, "user": near_names[1], "sol_score": 0.5},
    ]
    assert source_ranks(runs) == {"sha256:0a": None, "sha256:0b": 1, "sha256:0c": 2}


def test_equal_scores_share_a_source_rank_and_skip_the_next() -> None:
    scores = {"sha256:0a": 0.9, "sha256:0b": 0.8, "sha256:0c": 0.8, "sha256:0d": 0.7}
    runs = [
        {"run_digest": run, "primary_value": 1000, "user": f"user of {run}", "sol_score": score}
        for run, score in scores.items()
    ]
    assert list(source_ranks(runs).values()) == [1, 2, 2, 4]


def test_a_run_that_did_not_pass_has_no_place_on_the_leaderboard() -> None:
    runs = [
        {"run_digest": "sha256:0a", "primary_value": 1, "sol_score": 0.99, "status": "failed"},
        {"run_digest": "sha256:0b", "primary_value": 2, "sol_score": 0.9},
    ]
    assert source_ranks(runs) == {"sha256:0b": 1}


def test_a_run_that_is_held_keeps_its_place_on_the_leaderboard() -> None:
    held = ("HELD_FOR_REVIEW",)
    runs = [
        {"run_digest": "sha256:0a", "primary_value": 1, "sol_score": 0.99, "review": held},
        {"run_digest": "sha256:0b", "primary_value": 2, "sol_score": 0.9},  # the same user
        {"run_digest": "sha256:0c", "primary_value": 3, "sol_score": 0.8, "user": "Bo"},
        {"run_digest": "sha256:0d", "primary_value": 4, "user": "Cy"},
    ]
    assert source_ranks(runs) == {
        "sha256:0b": None,
        "sha256:0c": 2,
        "sha256:0d": None,
    }


def test_a_run_on_a_single_case_has_no_place_on_the_leaderboard() -> None:
    of_case = {"kind": "case", "workload_digest": "sha256:ca", "comparison_key": "sha256:ce"}
    runs = [
        {"run_digest": "sha256:0a", "primary_value": 1, "sol_score": 0.99, **of_case},
        {"run_digest": "sha256:0b", "primary_value": 2, "sol_score": 0.9},
    ]
    assert source_ranks(runs) == {"sha256:0a": None, "sha256:0b": 1}
