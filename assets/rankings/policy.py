"""The ranking policy `ranking-v1`, as one reads it: a small function over one comparison group.

It says what the SQL beside it must arrive at, and is what the tests hold that SQL to; the pipeline
takes only the policy's name from here. What the SQL adds to the policy (the leaderboard's own
order, the groups themselves) has no place here. Changing an outcome here means a new policy.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Literal

POLICY = "ranking-v1"

Profile = Literal["source-native", "strict"]
Reason = Literal["NOT_PASSED", "NO_PRIMARY_VALUE", "RETRACTED", "SUPERSEDED", "HELD_FOR_REVIEW"]

EVIDENCE_LEVELS = ("replicated", "verified", "reproducible", "reported")  # the strongest first
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Candidate:
    """A run of one comparison group, as far as the policy looks at it.

    `primary_value`, `low` and `high` are in the group's unit; `review` is what people, or the
    checks that wait for people, hold against the run.
    """

    run_digest: str
    primary_value: int | None
    low: float | None = None
    high: float | None = None
    evidence_level: str = "reported"
    observed_at: datetime | None = None
    status: str = "passed"
    review: frozenset[Reason] = frozenset()


@dataclass(frozen=True)
class Place:
    """A run's place in its comparison group."""

    rank: int
    tied: bool
    display_order: int
    ratio_to_best: float | None


@dataclass(frozen=True)
class Record:
    """That a run took its group's record, and from which run."""

    run_digest: str
    previous_run_digest: str | None
    taken_at: datetime


def reasons(candidate: Candidate) -> set[Reason]:
    """Say why a run has no rank; an eligible run has no such reason."""
    found = set(candidate.review)
    if candidate.status != "passed":
        found.add("NOT_PASSED")
    if candidate.primary_value is None:
        found.add("NO_PRIMARY_VALUE")
    return found


def places(group: Iterable[Candidate], profile: Profile) -> dict[str, Place]:
    """Rank the eligible runs of one comparison group: a place by run digest, in the order shown.

    Dense ranks, ascending by the primary value. The ratio is to the smallest value of the group,
    and is left out where that is 0.
    """
    eligible = [candidate for candidate in group if not reasons(candidate)]
    best = min((_value(candidate) for candidate in eligible), default=0)
    placed: dict[str, Place] = {}
    for rank, tie in enumerate(_ties(eligible, profile), start=1):
        for candidate in _as_shown(tie):
            placed[candidate.run_digest] = Place(
                rank=rank,
                tied=len(tie) > 1,
                display_order=len(placed) + 1,
                ratio_to_best=_value(candidate) / best if best else None,
            )
    return placed


def records(group: Iterable[Candidate]) -> list[Record]:
    """List the records of one comparison group, in order of observation, then digest.

    An eligible run takes the record if it is faster than every run before it. A run that nobody
    knows the time of comes neither before nor after another: it takes no record and keeps none from
    being taken.
    """
    timed = sorted(
        (candidate.observed_at, candidate.run_digest, _value(candidate))
        for candidate in group
        if candidate.observed_at and not reasons(candidate)
    )
    taken: list[Record] = []
    best: int | None = None
    for observed_at, run_digest, value in timed:
        if best is None or value < best:
            previous = taken[-1].run_digest if taken else None
            taken.append(Record(run_digest, previous, observed_at))
            best = value
    return taken


def _ties(eligible: list[Candidate], profile: Profile) -> list[list[Candidate]]:
    """Part eligible runs into ties, the fastest first; a run that ties with none is one of its own.

    A run joins a tie only if it ties with every member, so a chain, where each run overlaps only
    its neighbours, is cut. Runs of equal value join together or not at all: which of them came
    first would otherwise be for the digest to say, and digests decide nothing.
    """
    ties: list[list[Candidate]] = []
    for _, equals in groupby(sorted(eligible, key=_value), key=_value):
        newcomers = list(equals)
        if ties and all(_tie(old, new, profile) for old in ties[-1] for new in newcomers):
            ties[-1].extend(newcomers)
        else:
            ties.append(newcomers)
    return ties


def _tie(one: Candidate, other: Candidate, profile: Profile) -> bool:
    """Say whether two runs tie: equal values do under both profiles.

    In a strict group overlapping intervals (ends included) tie too. Equal values tie there even
    without intervals: nothing measured tells them apart, and the order shown must not become a
    rank.
    """
    if one.primary_value == other.primary_value:
        return True
    if profile == "source-native":
        return False
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low <= other.high and other.low <= one.high


def _as_shown(tie: list[Candidate]) -> list[Candidate]:
    """Put a tie in the order shown: by evidence, then the newer (no time: last), then by digest."""
    by_digest = sorted(tie, key=lambda run: run.run_digest)
    newest_first = sorted(by_digest, key=lambda run: run.observed_at or LONG_AGO, reverse=True)
    return sorted(newest_first, key=lambda run: EVIDENCE_LEVELS.index(run.evidence_level))


def _value(candidate: Candidate) -> int:
    """Give the primary value of an eligible run, which has one."""
    assert candidate.primary_value is not None
    return candidate.primary_value
