"""The policy by example: ties and the order shown, each case in Python and in SQL."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from datetime import UTC, datetime

import pytest

from assets.rankings import policy
from assets.rankings.policy import Candidate, Place, Profile, Reason, reasons
from tests.rankings.boards import rank_runs

PlaceRuns = Callable[[Iterable[Candidate], Profile], dict[str, Place]]

AUGUST_11 = datetime(2026, 8, 11, 17, 40, 50, 405_000, tzinfo=UTC)
AUGUST_12 = datetime(2026, 8, 12, 2, 40, 23, 566_000, tzinfo=UTC)


@pytest.fixture(params=["in Python", "in SQL"])
def places(request: pytest.FixtureRequest) -> PlaceRuns:
    """Give the policy as a function, once as Python has it and once as SQL has it."""

    def places_in_sql(group: Iterable[Candidate], profile: Profile) -> dict[str, Place]:
        rankings = rank_runs(asdict(run) | {"profile": profile} for run in group)["rankings"]
        columns = [field.name for field in fields(Place)]
        return {row["run_digest"]: Place(*(row[name] for name in columns)) for row in rankings}

    return policy.places if request.param == "in Python" else places_in_sql


def ranks(placed: dict[str, Place]) -> dict[str, int]:
    return {run_digest: place.rank for run_digest, place in placed.items()}


def shown(placed: dict[str, Place]) -> list[str]:
    return sorted(placed, key=lambda run_digest: placed[run_digest].display_order)


def test_faster_runs_rank_first_and_ranks_are_dense(places: PlaceRuns) -> None:
    # Kernel 1 of the leaderboard, and a fourth run as fast as the second.
    group = [
        Candidate("sha256:35", 269_660),
        Candidate("sha256:36", 267_348),
        Candidate("sha256:2c", 238_721),
        Candidate("sha256:0b", 267_348),
    ]
    assert places(group, "source-native") == {
        "sha256:2c": Place(rank=1, tied=False, display_order=1, ratio_to_best=1.0),
        "sha256:0b": Place(rank=2, tied=True, display_order=2, ratio_to_best=267_348 / 238_721),
        "sha256:36": Place(rank=2, tied=True, display_order=3, ratio_to_best=267_348 / 238_721),
        "sha256:35": Place(rank=3, tied=False, display_order=4, ratio_to_best=269_660 / 238_721),
    }


def test_one_run_is_first_and_not_tied(places: PlaceRuns) -> None:
    placed = places([Candidate("sha256:2c", 238_721)], "strict")
    assert placed == {"sha256:2c": Place(1, tied=False, display_order=1, ratio_to_best=1.0)}


def test_a_tie_is_shown_by_evidence_then_newer_then_digest(places: PlaceRuns) -> None:
    group = [
        Candidate("sha256:0a", 238_721),
        Candidate("sha256:0b", 238_721, observed_at=AUGUST_11),
        Candidate("sha256:0c", 238_721, observed_at=AUGUST_12),
        Candidate("sha256:0d", 238_721, observed_at=AUGUST_12),
        Candidate("sha256:0e", 238_721, evidence_level="reproducible"),
        Candidate("sha256:0f", 238_721, evidence_level="verified"),
        Candidate("sha256:10", 238_721, evidence_level="replicated"),
    ]
    placed = places(group, "source-native")
    assert shown(placed) == [f"sha256:{end}" for end in ("10", "0f", "0e", "0c", "0d", "0b", "0a")]
    assert set(ranks(placed).values()) == {1}


def test_evidence_never_outranks_a_faster_run(places: PlaceRuns) -> None:
    group = [
        Candidate("sha256:0a", 238_722, evidence_level="replicated"),
        Candidate("sha256:0b", 238_721),
    ]
    assert shown(places(group, "source-native")) == ["sha256:0b", "sha256:0a"]


def test_source_native_groups_pass_over_intervals(places: PlaceRuns) -> None:
    group = [
        Candidate("sha256:0a", 1000, low=990, high=1010),
        Candidate("sha256:0b", 1005, low=995, high=1015),
    ]
    assert ranks(places(group, "source-native")) == {"sha256:0a": 1, "sha256:0b": 2}


def test_strict_groups_tie_where_intervals_touch(places: PlaceRuns) -> None:
    group = [
        Candidate("sha256:0a", 1000, low=990, high=1010),
        Candidate("sha256:0b", 1020, low=1010, high=1030),
    ]
    placed = places(group, "strict")
    assert placed["sha256:0b"] == Place(1, tied=True, display_order=2, ratio_to_best=1.02)


def test_a_chain_of_overlaps_is_cut_where_a_run_misses_one_member(places: PlaceRuns) -> None:
    group = [
        Candidate("sha256:0a", 1000, low=980, high=1020),
        Candidate("sha256:0b", 1030, low=1010, high=1050),
        Candidate("sha256:0c", 1060, low=1040, high=1080),  # overlaps b, not a
        Candidate("sha256:0d", 1090, low=1070, high=1110),  # overlaps c
    ]
    assert ranks(places(group, "strict")) == {
        "sha256:0a": 1,
        "sha256:0b": 1,
        "sha256:0c": 2,
        "sha256:0d": 2,
    }


def test_every_member_bounds_a_tie_from_below_too(places: PlaceRuns) -> None:
    group = [
        Candidate("sha256:0a", 1000, low=1005, high=1100),
        Candidate("sha256:0b", 1001, low=900, high=1100),
        Candidate("sha256:0c", 1002, low=900, high=1004),  # overlaps b, not a
    ]
    assert ranks(places(group, "strict")) == {"sha256:0a": 1, "sha256:0b": 1, "sha256:0c": 2}


def test_without_both_ends_of_an_interval_only_equal_values_tie(places: PlaceRuns) -> None:
    group = [
        Candidate("sha256:0a", 1000, low=900, high=1100),
        Candidate("sha256:0b", 1001, low=900),
        Candidate("sha256:0c", 1001),
    ]
    assert ranks(places(group, "strict")) == {"sha256:0a": 1, "sha256:0b": 2, "sha256:0c": 2}


@pytest.mark.parametrize("digests", [("sha256:0b", "sha256:0c"), ("sha256:0c", "sha256:0b")])
def test_equal_values_join_a_tie_together_whatever_their_digests(
    places: PlaceRuns, digests: tuple[str, str]
) -> None:
    with_interval, without = digests
    group = [
        Candidate("sha256:0a", 1000, low=990, high=1010),
        Candidate(with_interval, 1005, low=995, high=1015),
        Candidate(without, 1005),
    ]
    assert ranks(places(group, "strict")) == {"sha256:0a": 1, with_interval: 2, without: 2}


def test_runs_that_may_not_rank_leave_no_gap_and_are_no_best(places: PlaceRuns) -> None:
    group = [
        Candidate("sha256:0a", 100, review=frozenset({"HELD_FOR_REVIEW"})),
        Candidate("sha256:0b", 200, status="failed"),
        Candidate("sha256:0c", None),
        Candidate("sha256:0d", 300),
    ]
    assert places(group, "source-native") == {"sha256:0d": Place(1, False, 1, 1.0)}


def test_beside_a_value_of_0_there_is_no_ratio(places: PlaceRuns) -> None:
    placed = places([Candidate("sha256:0a", 0), Candidate("sha256:0b", 3)], "source-native")
    assert [place.ratio_to_best for place in placed.values()] == [None, None]


def test_all_reasons_are_named() -> None:
    review: frozenset[Reason] = frozenset({"RETRACTED", "SUPERSEDED"})
    run = Candidate("sha256:0a", None, status="failed", review=review)
    assert reasons(run) == {"NOT_PASSED", "NO_PRIMARY_VALUE", "RETRACTED", "SUPERSEDED"}
