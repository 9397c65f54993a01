"""The ranking policy `ranking-v1`, as one reads it: a small function over one comparison group.

It says what the SQL beside it must arrive at, and is what the tests hold that SQL to; the pipeline
takes only the policy's name from here. What the SQL adds to the policy (the leaderboard's own
order, the groups themselves) has no place here. Changing an outcome here means a new policy.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Literal

POLICY = "ranking-v1"

Profile = Literal["source-native", "strict"]
ReviewReason = Literal["RETRACTED", "SUPERSEDED", "REJECTED", "HELD_FOR_REVIEW"]
Reason = Literal["NOT_PASSED", "NO_PRIMARY_VALUE"] | ReviewReason
Cause = Literal["new_run", "acceptance", "retraction", "supersession", "rejection"]

_CAUSES: dict[ReviewReason, Cause] = {
    "RETRACTED": "retraction",
    "SUPERSEDED": "supersession",
    "REJECTED": "rejection",
}
EVIDENCE_LEVELS = ("replicated", "verified", "reproducible", "reported")  # the strongest first
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Candidate:
    """A run of one comparison group, as far as the policy looks at it.

    `primary_value`, `low` and `high` are in the group's unit; `review` is what people, or the
    flags that wait for people, hold against the run to this day. `accepted_at` is until when it was
    held; `left_at` since when it is retracted, superseded or rejected, and `left_by` which of them,
    which then stands in `review` too.
    """

    run_digest: str
    primary_value: int | None
    low: float | None = None
    high: float | None = None
    evidence_level: str = "reported"
    observed_at: datetime | None = None
    status: str = "passed"
    review: frozenset[Reason] = frozenset()
    accepted_at: datetime | None = None
    left_at: datetime | None = None
    left_by: ReviewReason | None = None


@dataclass(frozen=True)
class Place:
    """A run's place in its comparison group."""

    rank: int
    tied: bool
    display_order: int
    ratio_to_best: float | None


@dataclass(frozen=True)
class Record:
    """That a run holds its group's record from a moment on, who held it until then, and why."""

    run_digest: str
    previous_run_digest: str | None
    taken_at: datetime
    cause: Cause


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
    """List who held the record of one comparison group, in order of time.

    A run takes the record if, when it comes to stand, it is faster than every run that stands; of runs
    that come at one moment the digest says which is first. Where the holder leaves, the record goes to
    the fastest of those left, of equals to the one that came first; where none is left, nobody holds it.
    A run that comes at the moment another leaves comes before. All that is decided for one moment counts
    together.

    A run that nobody knows the time of comes neither before nor after another: it takes no record and
    keeps none from being taken.
    """
    runs = [(start, run) for run in group if (start := _stood_from(run))]
    # Who came first is first, so that of equally fast runs `min` gives that one.
    runs.sort(key=lambda arrival: (arrival[0], arrival[1].run_digest))
    comings = [(start, 0, run) for start, run in runs]
    leavings = [(moment, 1, None) for moment in {run.left_at for _, run in runs if run.left_at}]
    taken: list[Record] = []
    holder: Candidate | None = None
    for moment, _, newcomer in sorted([*comings, *leavings], key=lambda step: step[:2]):
        previous = holder
        if newcomer:
            if holder is None or _value(newcomer) < _value(holder):
                holder = newcomer
        else:
            standing = [run for start, run in runs if start <= moment and not _has_left(run, moment)]
            holder = min(standing, key=_value, default=None)
        if holder and holder is not previous:
            previous_digest = previous.run_digest if previous else None
            taken.append(Record(holder.run_digest, previous_digest, moment, _cause(newcomer, previous)))
    return taken


def as_of(group: Iterable[Candidate], moment: datetime) -> list[Candidate]:
    """Give the runs of a group that there were at a moment, each as it stood then.

    A run that nobody knows the time of is left out: only the warehouse knows when its page came.
    """
    then = []
    for run in group:
        if run.observed_at is None or run.observed_at > moment:
            continue
        review = run.review
        if run.left_by and not _has_left(run, moment):
            review -= {run.left_by}
        if run.accepted_at and moment < run.accepted_at:
            review |= {"HELD_FOR_REVIEW"}
        then.append(replace(run, review=review))
    return then


def _stood_from(run: Candidate) -> datetime | None:
    """Since when a run stood among those that can hold a record; None if it never did."""
    if run.observed_at is None or reasons(run) - {run.left_by}:
        return None
    start = max(run.observed_at, run.accepted_at or run.observed_at)
    return None if _has_left(run, start) else start


def _has_left(run: Candidate, moment: datetime) -> bool:
    return run.left_at is not None and run.left_at <= moment


def _cause(newcomer: Candidate | None, previous: Candidate | None) -> Cause:
    """Why the record changed hands: for a run that came, or because the holder left."""
    if newcomer:
        return "acceptance" if _stood_from(newcomer) != newcomer.observed_at else "new_run"
    assert previous
    assert previous.left_by
    return _CAUSES[previous.left_by]


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
