"""Standings: per project, over groups; and how far the two orders of a group disagree."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import combinations
from math import sqrt

import duckdb
import pytest

from tests.rankings.boards import AUGUST, Row, add_views, judged, published, queried, tabled
from warehouse.home import Home
from warehouse.tables import ENVIRONMENTS, OPERATIONS, PROJECTS, PROTOCOLS, Table

# Two kernels, of two families, with 1 ms as bound and 9 ms as baseline, and two stacks.
NAMES: dict[Table, list[Row]] = {
    OPERATIONS: [
        {"operation_digest": "gemm", "name": "004_gemm", "family": "gemm", "kernel_id": 1},
        {"operation_digest": "norm", "name": "021_norm", "family": "normalization", "kernel_id": 2},
    ],
    PROTOCOLS: [{"protocol_digest": f"p{version}", "version": version} for version in ("v1.0", "v1.1")],
    ENVIRONMENTS: [{"environment_digest": "e", "product": "NVIDIA B200"}],
}
WORKLOADS = [
    {"kernel_id": 1, "position": 0, "axes": "{}", "sol_ms": 1.0, "baseline_latency_ms": 9.0},
    {"kernel_id": 2, "position": 0, "axes": "{}", "sol_ms": 0.0, "baseline_latency_ms": 9.0},  # no bound
]
KERNELS: list[Row] = [
    {"kernel_id": 1, "kernel_name": "004_gemm", "tags": ["gemm", "L1"]},
    {"kernel_id": 2, "kernel_name": "021_norm", "tags": ["normalization"]},
]
NEAR_NAMES = ("Proud Wren @ NVIDIA", "Proud Wren @NVIDIA", "Proud Wren @ Nvidia")


def run(number: int, user: str, latency_ms: float, day: int, group: str = "gemm v1.1", **more: object) -> Row:
    operation, version = group.split()
    return {
        "external_id": str(number),
        "run_digest": f"sha256:{number:02x}",
        "user": user,
        "latency_ms": latency_ms,
        "primary_value": round(latency_ms * 1e6),
        "observed_at": AUGUST + timedelta(days=day - 1),
        "operation_digest": operation,
        "protocol_digest": f"p{version}",
        "environment_digest": "e",
        "comparison_key": group,
        "kernel_id": {"gemm": 1, "norm": 2}[operation],
        **more,
    }


def rows(
    runs: list[Row], query: str, names: dict[Table, list[Row]] | None = None
) -> list[tuple[object, ...]]:
    """A query's rows over the warehouse of these runs; `names` are tables that others than NAMES stand in."""
    users = {run["user"] for run in runs}
    named_rows = {
        **NAMES,
        PROJECTS: [{"project_digest": user, "name": user} for user in users],
        **(names or {}),
    }
    with judged(runs, [], WORKLOADS, KERNELS) as connection:
        for table, of_table in named_rows.items():
            named = tabled(of_table, table.schema)  # noqa: F841  # DuckDB reads it
            connection.execute(f"create table {table.name} as from named")
        for table_name in (
            "runs", "implementations", "workloads", "source_kernels", "source_submissions", "decisions",
        ):  # fmt: skip
            # Views last longer than what a connection only borrows.
            connection.execute(f"create table kept as from {table_name}")
            connection.unregister(table_name)
            connection.execute(f"alter table kept rename to {table_name}")
        add_views(connection)
        return connection.sql(query).fetchall()


def test_a_projects_places_are_those_of_its_best_run_in_each_group() -> None:
    runs = [
        run(1, "Ada", 3.0, day=1),
        run(2, "Ada", 5.0, day=2),  # not her best
        run(3, "Bo", 4.0, day=3),
        run(4, "Ada", 2.0, day=4, group="norm v1.1"),
        run(5, "Cy", 1.5, day=5, group="norm v1.1"),
        run(6, "Bo", 1.0, day=6, group="gemm v1.0"),
    ]
    query = (
        "select stack, project, groups, firsts, podiums, median_rank, mean_share_of_gap_closed "
        "from standings_by_stack"
    )
    ada = pytest.approx((9 - 3) / (9 - 1))  # the other kernel has no bound
    assert rows(runs, query) == [
        ("v1.0", "Bo", 1, 1, 1, 1.0, 1.0),
        ("v1.1", "Ada", 2, 1, 2, 1.5, ada),
        ("v1.1", "Cy", 1, 1, 1, 1.0, None),
        ("v1.1", "Bo", 1, 0, 1, 2.0, pytest.approx((9 - 4) / 8)),
    ]
    by_family = "select family, project, groups, firsts, median_rank from standings_by_family"
    assert rows(runs, by_family) == [
        ("gemm", "Ada", 1, 1, 1.0),
        ("gemm", "Bo", 1, 0, 2.0),
        ("normalization", "Cy", 1, 1, 1.0),
        ("normalization", "Ada", 1, 0, 2.0),
    ]


def test_standings_are_of_the_newest_stack_and_add_no_two_up() -> None:
    runs = [
        run(1, "Ada", 3.0, day=9),
        run(2, "Bo", 1.0, day=1, group="gemm v1.0"),
        run(3, "Bo", 1.0, day=2, group="norm v1.0"),
        run(4, "Bo", 4.0, day=3),
    ]
    query = "select project, stack, groups, firsts from standings"
    assert rows(runs, query) == [("Ada", "v1.1", 1, 1), ("Bo", "v1.1", 1, 0)]
    assert rows(runs, query.replace("standings", "standings_by_family")) == rows(runs, query)
    assert rows(runs, "select stack, is_newest, groups, runs from stacks") == [
        ("v1.1", True, 1, 2),
        ("v1.0", False, 2, 2),
    ]


@pytest.mark.parametrize(
    ("older", "newer"), [("v1.9", "v1.10"), ("v2", "v2.1"), ("beta", "v0.1"), ("alpha", "beta")]
)
def test_the_newest_stack_is_that_of_the_highest_version(older: str, newer: str) -> None:
    versions = {older: "v1.0", newer: "v1.1"}
    runs = [
        run(1, "Ada", 3.0, day=9, group=f"gemm {older}"),
        run(2, "Bo", 3.0, day=1, group=f"gemm {newer}"),
    ]
    names = {PROTOCOLS: [{"protocol_digest": f"p{version}", "version": version} for version in versions]}
    assert rows(runs, "select stack from stacks where is_newest", names) == [(newer,)]


def test_firsts_are_contested_where_another_project_is_ranked_too() -> None:
    runs = [
        run(1, "Ada", 3.0, day=1),
        run(2, "Bo", 4.0, day=2),
        run(3, "Ada", 3.0, day=1, group="norm v1.1"),
        run(4, "Ada", 4.0, day=2, group="norm v1.1"),  # no rival of hers
        run(5, "Cy", 5.0, day=2, group="norm v1.1", status="failed"),  # not ranked
    ]
    query = "select project, firsts, contested_firsts, uncontested_firsts from standings where groups > 0"
    assert rows(runs, query) == [("Ada", 2, 1, 1), ("Bo", 0, 0, 0)]
    rivals = "select kernel, project, rivals from project_groups order by all"
    assert rows(runs, rivals) == [
        ("004_gemm", "Ada", 1),
        ("004_gemm", "Bo", 1),
        ("021_norm", "Ada", 0),
        ("021_norm", "Cy", 1),
    ]


def test_a_kernel_has_a_row_for_each_stack_also_where_nobody_is_ranked() -> None:
    runs = [run(1, "Ada", 3.0, day=1), run(2, "Bo", 3.0, day=2, group="norm v1.0")]
    query = "select kernel, stack, family, runs, projects, is_open, sol_bound_ms from kernel_stacks"
    one = pytest.approx(1.0)
    assert rows(runs, query) == [
        ("004_gemm", "v1.1", "gemm", 1, 1, False, one),
        ("004_gemm", "v1.0", "gemm", 0, 0, True, one),
        ("021_norm", "v1.1", "normalization", 0, 0, True, None),
        ("021_norm", "v1.0", "normalization", 1, 1, False, None),
    ]
    assert [(row[0], row[1], row[5]) for row in rows([], query)] == [
        ("004_gemm", None, True),
        ("021_norm", None, True),
    ]


def test_the_leaderboard_says_how_far_each_run_is_from_its_bound() -> None:
    runs = [run(1, "Ada", 3.0, day=1), run(2, "Ada", 2.0, day=4, group="norm v1.1")]
    query = "select kernel, sol_bound_ms, baseline_ms, ratio_to_bound, share_of_gap_closed from leaderboard"
    nine = pytest.approx(9.0)
    assert rows(runs, query) == [
        ("004_gemm", pytest.approx(1.0), nine, pytest.approx(3.0), pytest.approx((9 - 3) / (9 - 1))),
        ("021_norm", None, nine, None, None),
    ]


def test_two_runs_of_one_project_that_share_the_first_place_are_one_first() -> None:
    runs = [run(1, "Ada", 3.0, day=1), run(2, "Ada", 3.0, day=2)]
    assert rows(runs, "select groups, firsts, podiums from standings") == [(1, 1, 1)]


def test_a_project_without_a_ranked_run_has_a_row_too() -> None:
    runs = [run(1, "Ada", 3.0, day=1, status="failed")]
    assert rows(runs, "select project, groups, firsts, median_rank, records_held from standings") == [
        ("Ada", 0, 0, None, 0)
    ]


def test_records_are_held_now_and_lost_to_others_lately() -> None:
    runs = [
        run(1, "Ada", 5.0, day=1),
        run(2, "Bo", 4.0, day=2),  # Ada loses it, long ago
        run(3, "Bo", 3.0, day=35),  # to oneself is no loss
        run(4, "Cy", 2.0, day=40),  # Bo loses it
        run(5, "Ada", 3.0, day=1, group="norm v1.1"),
    ]
    query = "select project, records_held, records_lost_lately from standings order by project"
    assert rows(runs, query) == [("Ada", 1, 0), ("Bo", 0, 1), ("Cy", 1, 0)]


def test_runs_on_single_cases_count_for_no_standing() -> None:
    of_case = {"kind": "case", "workload_digest": "sha256:ca", "comparison_key": "a case's"}
    runs = [run(1, "Ada", 3.0, day=1), run(2, "Bo", 2.0, day=2) | of_case]
    query = "select project, groups, records_held from standings"
    assert rows(runs, query) == [("Ada", 1, 1)]
    assert rows(runs, "select count(*) from order_disagreement") == [(0,)]


def test_three_accounts_with_near_equal_names_are_three_rows() -> None:
    runs = [run(number, name, number + 1, day=number) for number, name in enumerate(NEAR_NAMES, start=1)]
    for view in ("standings", "standings_by_family", "standings_by_stack"):
        query = f"select project, median_rank from {view} order by median_rank"
        assert rows(runs, query) == [(name, place) for place, name in enumerate(NEAR_NAMES, start=1)]


def sign(number: float) -> int:
    return (number > 0) - (number < 0)


@pytest.mark.parametrize(
    "scores", [(0.9, 0.8, 0.7, 0.6), (0.6, 0.7, 0.8, 0.9), (0.6, 0.9, 0.9, 0.1), (0.5, 0.5, 0.5, 0.5)]
)
def test_how_far_the_two_orders_disagree_is_kendalls_tau(scores: tuple[float, ...]) -> None:
    latencies = (2.0, 3.0, 3.0, 4.0)
    runs = [
        run(number, f"user {number}", latency_ms, day=1, sol_score=score)
        for number, (latency_ms, score) in enumerate(zip(latencies, scores, strict=True), start=1)
    ]
    signs = [
        (sign(latencies[other] - latencies[one]), sign(scores[one] - scores[other]))
        for one, other in combinations(range(4), 2)
    ]
    concordant = sum(one * other > 0 for one, other in signs)
    discordant = sum(one * other < 0 for one, other in signs)
    untied = sqrt(sum(one != 0 for one, _ in signs) * sum(other != 0 for _, other in signs))
    tau = pytest.approx((concordant - discordant) / untied) if untied else None
    query = "select runs_in_both, concordant_pairs, discordant_pairs, kendall_tau from order_disagreement"
    assert rows(runs, query) == [(4, concordant, discordant, tau)]


def test_only_runs_that_have_both_ranks_are_compared() -> None:
    runs = [
        run(1, "Ada", 3.0, day=1, sol_score=0.5),
        run(2, "Ada", 2.0, day=2, sol_score=0.4),  # not her best by score
        run(3, "Bo", 4.0, day=3),  # no score
    ]
    query = "select runs_in_both, discordant_pairs, kendall_tau from order_disagreement"
    assert rows(runs, query) == [(1, 0, None)]


@pytest.fixture(scope="module")
def warehouse(sample_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with published(sample_home) as connection:
        yield connection


def test_the_samples_standings_add_up(warehouse: duckdb.DuckDBPyConnection) -> None:
    for view in ("standings", "standings_by_family"):
        added = f"select sum(firsts), sum(contested_firsts), sum(records_held) from {view}"
        assert warehouse.sql(added).fetchall() == [(23, 22, 23)]
    by_stack = (
        "select stack, sum(firsts), sum(records_held) from standings_by_stack group by stack order by stack"
    )
    assert warehouse.sql(by_stack).fetchall() == [("v1.0", 8, 8), ("v1.1", 23, 23)]
    accounts = (
        "select count(distinct project_digest), (select count(*) from projects) from standings_by_stack"
    )
    assert len(set(warehouse.sql(accounts).fetchall()[0])) == 1


def test_the_sample_has_groups_in_which_the_orders_disagree(warehouse: duckdb.DuckDBPyConnection) -> None:
    rows = queried(warehouse, "from order_disagreement where discordant_pairs > 0")
    assert [(row["kernel"][:3], row["stack"], row["discordant_pairs"]) for row in rows] == [
        ("010", "v1.0", 1),
        ("011", "v1.1", 1),
        ("021", "v1.1", 1),
        ("058", "v1.0", 1),
    ]
