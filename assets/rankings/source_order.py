"""The leaderboard's own ranking, as its `/leaderboard/kernel/{id}/{gpu}` serves it, held against ours.

`source_rank` is made from submissions (in `ranks.sql`), not read from there: here is where the two meet.
Fetching that page belongs in `assets.leaderboard`.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired
from urllib.parse import parse_qs, unquote, urlsplit

import duckdb
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from assets.leaderboard.records import Count, Real, Text, Time, Unreadable, in_words, read_answer
from assets.leaderboard.snapshots import Page

_OURS = """
select username, source_rank, count(*) over (partition by source_rank) as sharing, runs.sol_score
from rankings
join runs using (comparison_key, run_digest)
join source_submissions on external_id = source_submissions.submission_id::varchar
where source_rank is not null
and kernel_id = $1
and gpu_type = $2
and evaluation_stack_version = $3
"""

_strict = with_config(ConfigDict(strict=True, extra="forbid"))


@_strict
class _Row(TypedDict):
    """One row of `rankings`: a user's best submission; without a rank, what all are measured against."""

    rank: Annotated[int, Field(ge=1)] | None
    username: Text
    sol_score: NotRequired[Real | None]
    latency_ms: NotRequired[Real | None]
    fast_1_count: NotRequired[Count | None]
    fast_1_total: NotRequired[Count | None]
    avg_speedup: NotRequired[Real | None]
    submitted_at: NotRequired[Time | None]


@_strict
class _Ranking(TypedDict):
    rankings: list[_Row]


_RANKING = TypeAdapter(_Ranking)


@dataclass(frozen=True)
class SourceRanking:
    """The leaderboard's ranking of one kernel, GPU and evaluation stack.

    `users` are the rows by account; `references` the latencies, in milliseconds, of the rows that have no
    rank: the bound, the scoring baseline, the reference implementation.
    """

    kernel_id: int
    gpu_type: str
    evaluation_stack_version: str
    users: dict[str, dict[str, Any]]
    references: dict[str, float | None]


@dataclass(frozen=True)
class Difference:
    """Where the leaderboard's ranking and ours say different things of an account, and what."""

    username: str
    source_says: tuple[int | None, float | None]
    we_say: tuple[int | None, float | None]
    problem: str


def read_source_ranking(page: Page) -> SourceRanking:
    """Read a ranking page, strictly. Raises Unreadable, in words, where it is none."""
    url = urlsplit(page.locator)
    of = re.fullmatch(r"/leaderboard/kernel/([0-9]+)/([^/]+)", url.path)
    (stack,) = parse_qs(url.query).get("evaluation_stack_version", [""])[:1]
    if not of or not stack:
        raise Unreadable(f"{page.locator} is no ranking of one kernel, GPU and evaluation stack")
    try:
        rows = _RANKING.validate_python(read_answer(page)["data"])["rankings"]
    except ValidationError as error:
        raise Unreadable(in_words(error)) from error
    users = {row["username"]: dict(row) for row in rows if row["rank"] is not None}
    references = {row["username"]: row.get("latency_ms") for row in rows if row["rank"] is None}
    if len(users) + len(references) < len(rows):
        raise Unreadable("an account is ranked twice, where each has one best submission")
    return SourceRanking(int(of[1]), unquote(of[2]), stack, users, references)


def differences(connection: duckdb.DuckDBPyConnection, ranking: SourceRanking) -> list[Difference]:
    """Say where our `source_rank` is not the leaderboard's; nothing, where both are equal.

    The connection has the relations `rankings`, `runs` and `source_submissions`. Where we let accounts of
    one score share a place, the leaderboard may number them in any order.
    """
    of = [ranking.kernel_id, ranking.gpu_type, ranking.evaluation_stack_version]
    ours = {username: row for username, *row in connection.execute(_OURS, of).fetchall()}
    found = []
    for username in sorted(ours.keys() | ranking.users.keys()):
        theirs = ranking.users.get(username, {})
        rank, score = theirs.get("rank"), theirs.get("sol_score")
        our_rank, sharing, our_score = ours.get(username, (None, 0, None))
        if our_rank is None:
            problem = "ranked there; here its best run is not there, or not ranked"
        elif rank is None:
            problem = "ranked here, not there"
        elif score != our_score:
            problem = "another score there: of another submission, or scored anew"
        elif not our_rank <= rank < our_rank + sharing:
            problem = "another place there"
        else:
            continue
        found.append(Difference(username, (rank, score), (our_rank, our_score), problem))
    return found
