"""The leaderboard's own ranking, as its endpoint serves it, against ours."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlopen

import duckdb
import pytest

from assets.leaderboard.recorded import recorded_directory
from assets.leaderboard.records import Unreadable
from assets.leaderboard.snapshots import Page
from assets.rankings.source_order import Difference, differences, read_source_ranking
from tests.leaderboard_server import LeaderboardServer
from tests.rankings.boards import Row, published
from warehouse.home import Home

LOCATOR = "/leaderboard/kernel/3/B200?evaluation_stack_version=v1.1"
ROW: Row = {"rank": 1, "username": "Ada", "sol_score": 0.7, "latency_ms": 0.3, "fast_1_count": 16}


@pytest.fixture(scope="module")
def warehouse(sample_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with published(sample_home) as connection:
        yield connection


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LeaderboardServer]:
    recorded_directory(tmp_path)
    with LeaderboardServer(tmp_path) as server:
        yield server


def served(server: LeaderboardServer, locator: str) -> Page:
    with urlopen(server.url + locator) as answer:
        return Page(locator, answer.read(), datetime.now(UTC), server.url + locator)


def page(rows: object, locator: str = LOCATOR, **more: object) -> Page:
    body = json.dumps({"data": {"rankings": rows, **more}}).encode()
    return Page(locator, body, datetime(2026, 8, 16, tzinfo=UTC), "test:")


def groups(warehouse: duckdb.DuckDBPyConnection) -> list[tuple[int, str, str]]:
    return warehouse.sql(
        "select distinct kernel_id, gpu_type, evaluation_stack_version from source_submissions"
    ).fetchall()


def test_ours_equals_what_the_endpoint_serves_in_every_group_of_the_sample(
    warehouse: duckdb.DuckDBPyConnection, server: LeaderboardServer
) -> None:
    of_groups = groups(warehouse)
    assert len(of_groups) == 31
    for kernel_id, gpu, stack in of_groups:
        locator = f"/leaderboard/kernel/{kernel_id}/{gpu}?evaluation_stack_version={stack}"
        ranking = read_source_ranking(served(server, locator))
        assert (ranking.kernel_id, ranking.gpu_type, ranking.evaluation_stack_version) == (
            kernel_id,
            gpu,
            stack,
        )
        assert set(ranking.references) == {"SOL Bound", "Scoring Baseline", "Reference Implementation"}
        assert ranking.users
        assert differences(warehouse, ranking) == []


def test_where_it_is_not_equal_each_account_is_named(
    warehouse: duckdb.DuckDBPyConnection, server: LeaderboardServer
) -> None:
    kernel_id = int(
        warehouse.sql("select kernel_id from source_submissions where submission_id = 26346").fetchall()[0][0]
    )
    locator = f"/leaderboard/kernel/{kernel_id}/B200?evaluation_stack_version=v1.1"
    server.change(28584, is_disqualified=True)  # The first: all others move up.
    server.change(26346, sol_score=0.6)
    found = differences(warehouse, read_source_ranking(served(server, locator)))
    assert found == [
        Difference("Amir M. Mir | SF Tensor", (None, None), (1, 0.672823), "ranked here, not there"),
        Difference(
            "Gilded Quail",
            (2, 0.6),
            (3, 0.554246),
            "another score there: of another submission, or scored anew",
        ),
        Difference("doubleAI", (1, 0.667083), (2, 0.667083), "another place there"),
    ]


def test_an_account_that_only_the_leaderboard_ranks_is_named(warehouse: duckdb.DuckDBPyConnection) -> None:
    ranking = read_source_ranking(page([ROW], "/leaderboard/kernel/999/B200?evaluation_stack_version=v1.1"))
    (difference,) = differences(warehouse, ranking)
    assert difference.username == "Ada"
    assert difference.problem.startswith("ranked there; here its best run is not there")


def test_a_gpu_is_read_from_the_locator_as_it_was_quoted() -> None:
    ranking = read_source_ranking(page([], "/leaderboard/kernel/3/H100%20SXM?evaluation_stack_version=v2"))
    assert (ranking.gpu_type, ranking.evaluation_stack_version) == ("H100 SXM", "v2")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (page([{**ROW, "rank": 0}]), "rankings.0.rank: Input should be greater than or equal to 1"),
        (page([{**ROW, "rank": "1"}]), "rankings.0.rank"),
        (page([{**ROW, "sol_score": "high"}]), "rankings.0.sol_score"),
        (page([{**ROW, "prize": 1}]), "rankings.0.prize: Extra inputs are not permitted"),
        (page([ROW], total=1), "total: Extra inputs are not permitted"),
        (page([{"rank": 1}]), "rankings.0.username: Field required"),
        (page([ROW, ROW]), "an account is ranked twice"),
        (page([], "/leaderboard/kernel/3/B200"), "is no ranking of one kernel, GPU and evaluation stack"),
        (page([], "/submissions?kernel_id=3"), "is no ranking of one kernel"),
    ],
)
def test_a_page_that_is_not_as_it_should_be_is_unreadable(given: Page, problem: str) -> None:
    with pytest.raises(Unreadable, match=problem):
        read_source_ranking(given)
