"""Comparing two runs: within a group, by numbers; across groups, not at all."""

from collections.abc import Iterator

import duckdb
import pytest

from assets.rankings.compare import NotComparable, compare
from assets.rankings.run_names import UnknownRun
from tests.rankings.boards import Row, judged, published
from warehouse.home import Home


@pytest.fixture(scope="module")
def warehouse(sample_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with published(sample_home) as connection:
        yield connection


def test_a_run_is_compared_with_the_head_of_its_group(warehouse: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(warehouse, "26346")
    assert (comparison.run.project, comparison.run.rank) == ("Gilded Quail", 3)
    assert (comparison.other.external_id, comparison.other.rank) == ("28584", 1)
    assert comparison.latency_ratio == 485_961 / 343_753
    assert comparison.sol_score_difference == pytest.approx(0.554246 - 0.672823)
    assert comparison.newer == "other"


def test_any_two_runs_of_a_group_are_compared_by_whatever_name(warehouse: duckdb.DuckDBPyConnection) -> None:
    there = compare(warehouse, "28584", "sha256:381f22e4759e66ec")
    back = compare(warehouse, "26346", "28584")
    assert (there.run, there.other) == (back.other, back.run)
    assert there.latency_ratio == 343_753 / 485_961
    assert (there.newer, back.newer) == ("run", "other")


def test_the_head_is_compared_with_the_next_best(warehouse: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(warehouse, "28584")
    assert (comparison.run.rank, comparison.other.external_id, comparison.other.rank) == (1, "19945", 2)


def test_flags_of_both_are_named(warehouse: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(warehouse, "36565")  # the head, of the six below their suite's bound
    assert comparison.run.flags == ("BELOW_SUITE_BOUND",)


def test_runs_of_other_stacks_are_refused_by_the_names_of_what_differs(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(NotComparable) as refused:
        compare(warehouse, "14902", "26346")
    assert str(refused.value) == (
        "submissions 14902 and 26346 are in different comparison groups: they differ in "
        "protocol (SOL-ExecBench evaluation stack v1.0; SOL-ExecBench evaluation stack v1.1) and "
        "environment (SOL-ExecBench NVIDIA B200, stack v1.0; SOL-ExecBench NVIDIA B200, stack v1.1)"
    )


def test_runs_of_other_kernels_are_refused(warehouse: duckdb.DuckDBPyConnection) -> None:
    differing = (
        r"they differ in operation \(014_audio.*; 003_grouped.*\) and workload \(014_audio.* 16 cases;"
    )
    with pytest.raises(NotComparable, match=differing):
        compare(warehouse, "3268", "14902")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("999999", "there is no submission 999999"),
        ("'; drop table runs; --", "there is no submission"),
        ("sha256:", "is the start of more than one run"),
        ("sha256:381f22e4759e66ec0", "no run whose digest is, or starts with"),
    ],
)
def test_a_name_that_leads_to_no_run_is_an_error(
    warehouse: duckdb.DuckDBPyConnection, name: str, problem: str
) -> None:
    with pytest.raises(UnknownRun, match=problem):
        compare(warehouse, name)


HELD = {"run_digest": "sha256:0a", "latency_ms": 0.5, "primary_value": 500_000}
BOUND = [{"kernel_id": 1, "position": 0, "axes": "{}", "sol_ms": 1.0}]


@pytest.mark.parametrize("run", [HELD, {"run_digest": "sha256:0a"}], ids=["held", "ranked"])
def test_where_no_other_run_is_ranked_there_is_none_to_compare_with(run: Row) -> None:
    with (
        judged([run], [], BOUND) as connection,
        pytest.raises(NotComparable, match="no other run of submission 3268's comparison group is ranked"),
    ):
        compare(connection, "3268")


def test_a_submission_that_is_no_run_is_named_with_its_outcome() -> None:
    incorrect = {"run_digest": "sha256:0a", "there": False, "outcome": "INCORRECT"}
    with (
        judged([incorrect], [], BOUND) as connection,
        pytest.raises(UnknownRun, match=r"submission 3268 is no run \(INCORRECT\)"),
    ):
        compare(connection, "3268")
