"""History: rankings as they stood at any moment, and how long each record did."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.rankings import policy
from assets.rankings.policy import Place
from tests.rankings.boards import (
    ANY_RUN,
    AUGUST,
    NOVEMBER,
    Leaderboard,
    Row,
    add_views,
    leaderboard,
    published,
    queried,
    ranked,
    rows_of,
)
from warehouse.home import Home

KNOWN = [{"page_digest": ANY_RUN["page_digest"], "fetched_at": AUGUST + timedelta(days=30)}]


@pytest.fixture(scope="module")
def warehouse(sample_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with published(sample_home) as connection:
        yield connection


def as_of(connection: duckdb.DuckDBPyConnection, moment: datetime) -> list[Row]:
    found = connection.execute("from rankings_as_of($1) order by all", [moment])
    columns = [column[0] for column in found.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


def source_native(rng: random.Random, sizes: list[int]) -> Leaderboard:
    """A leaderboard as this source's are: intervals are unknown to the warehouse."""
    return {key: ("source-native", group) for key, (_, group) in leaderboard(rng, sizes).items()}


@settings(deadline=None, max_examples=5)
@given(rng=st.randoms(), sizes=st.lists(st.integers(1, 12), min_size=1, max_size=12))
def test_as_of_now_the_rankings_are_those_of_now(rng: random.Random, sizes: list[int]) -> None:
    board = source_native(rng, sizes)
    with ranked(rows_of(board)) as connection:
        add_views(connection, KNOWN)  # So that runs without a time are known by their page.
        assert as_of(connection, NOVEMBER) == queried(connection, "from rankings order by all")


@settings(deadline=None, max_examples=5)
@given(rng=st.randoms(), sizes=st.lists(st.integers(1, 12), min_size=1, max_size=12))
def test_as_of_any_moment_the_rankings_are_what_the_policy_made_of_what_there_was(
    rng: random.Random, sizes: list[int]
) -> None:
    board = source_native(rng, sizes)
    with ranked(rows_of(board)) as connection:
        add_views(connection)
        runs = [run for _, group in board.values() for run in group]
        decided = {run.run_digest for run in runs if run.left_at or run.accepted_at}
        seen: set[str] = set()
        for hours in range(-12, 160, 12):
            moment = AUGUST + timedelta(hours=hours)
            rows = as_of(connection, moment)
            expected: dict[str, Place] = {}
            for profile, group in board.values():
                expected |= policy.places(policy.as_of(group, moment), profile)
            assert {
                row["run_digest"]: Place(row["rank"], row["tied"], row["display_order"], row["ratio_to_best"])
                for row in rows
            } == expected
            # Runs only ever come; who leaves, leaves by a decision or was held.
            there = {row["run_digest"] for row in rows}
            assert seen <= there | decided
            seen = there


def test_a_run_without_a_time_is_known_since_its_page_came() -> None:
    with ranked([{"run_digest": "sha256:0a", "primary_value": 1000}]) as connection:
        add_views(connection, KNOWN)
        (page,) = KNOWN
        before = page["fetched_at"] - timedelta(microseconds=1)
        assert as_of(connection, before) == []
        assert [row["rank"] for row in as_of(connection, page["fetched_at"])] == [1]


def test_a_run_on_a_single_case_has_no_source_rank_then_either() -> None:
    of_case = {"kind": "case", "workload_digest": "sha256:ca", "sol_score": 0.9, "observed_at": AUGUST}
    with ranked([{"run_digest": "sha256:0a", "primary_value": 1000, **of_case}]) as connection:
        add_views(connection)
        assert as_of(connection, NOVEMBER) == queried(connection, "from rankings")


def test_a_moment_can_be_written_as_text(warehouse: duckdb.DuckDBPyConnection) -> None:
    query = (
        "select external_id, rank from rankings_as_of('2026-08-12T00:00:00Z') "
        "join runs using (comparison_key, run_digest) "
        "where comparison_key = (select comparison_key from runs where external_id = '36231') order by rank"
    )
    assert queried(warehouse, query) == [
        {"external_id": "36176", "rank": 1},
        {"external_id": "35749", "rank": 2},
    ]


def test_the_sample_as_of_now_and_as_of_before_it_began(warehouse: duckdb.DuckDBPyConnection) -> None:
    assert as_of(warehouse, NOVEMBER) == queried(warehouse, "from rankings order by all")
    assert as_of(warehouse, datetime(2026, 1, 1, tzinfo=UTC)) == []


def test_how_long_each_record_of_a_group_stood(warehouse: duckdb.DuckDBPyConnection) -> None:
    rows = queried(
        warehouse,
        "select external_id, project, cause, lost_to, round(days_held, 2) as days_held from record_history "
        "where kernel = '001_attention_softmax_dropout_value_matmul_backward' order by event_number",
    )
    assert [tuple(row.values()) for row in rows] == [
        ("35749", "xuanzhengdu", "new_run", "Isaac Sun (AES)", 2.32),
        ("36176", "Isaac Sun (AES)", "new_run", "RIAC as well", 0.37),
        ("36231", "RIAC as well", "new_run", None, None),
    ]


def test_each_group_of_the_sample_has_one_holder_who_is_its_head(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    odd = "from records join comparison_groups using (comparison_key) where run_digest <> head_run_digest"
    assert queried(warehouse, odd) == []
    assert queried(warehouse, "select count(*) as held from records") == [{"held": 31}]


def test_a_record_that_was_left_to_nobody_is_lost_and_held_by_none() -> None:
    names = {
        "operations": "insert into operations by name select 'sha256:0c' as operation_digest, 'gemm' as name",
        "protocols": "insert into protocols by name select 'sha256:29' as protocol_digest, 'v1.0' as version",
        "environments": "insert into environments by name select 'sha256:52' as environment_digest",
        "projects": "insert into projects by name select unnest(['Ada', 'Bo']) as name, name project_digest",
    }
    left = {"left_by": "RETRACTED", "review": ("RETRACTED",), "left_at": AUGUST + timedelta(days=4)}
    runs = [
        {"run_digest": "sha256:0a", "primary_value": 9, "observed_at": AUGUST, "user": "Ada", **left},
        {
            "run_digest": "sha256:0b",
            "primary_value": 10,
            "observed_at": AUGUST + timedelta(days=6),
            "user": "Bo",
        },
    ]
    for given_runs, expected in ((runs[:1], []), (runs, ["Bo"])):
        with ranked(given_runs) as connection:
            add_views(connection)
            for statement in names.values():
                connection.execute(statement)
            history = queried(connection, "select project, lost_to, days_held from record_history")
            assert history[0] == {"project": "Ada", "lost_to": None, "days_held": 4.0}
            assert [row["project"] for row in queried(connection, "from records")] == expected
