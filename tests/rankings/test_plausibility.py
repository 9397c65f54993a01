"""Flags: what raises each, what raises none, and what holds a run."""

import math
import random

import pytest

from tests.rankings.boards import Row, judged, queried

MS = 0.000001  # The last digit of a latency as the source serves it: a nanosecond.


def workload(sol_ms: float | None, baseline_ms: float | None = None, **more: object) -> Row:
    return {"axes": "{}", "sol_ms": sol_ms, "baseline_latency_ms": baseline_ms, **more}


def flags(
    latency_ms: float | None,
    workloads: list[Row],
    avg_speedup: float | None = None,
    sol_is_dummy: bool | None = False,
) -> dict[str, object]:
    """What a run is flagged for: what was observed and the bound, in milliseconds, by flag."""
    run = {
        "run_digest": "sha256:0a",
        "primary_value": None if latency_ms is None else round(latency_ms * 1e6),
        "latency_ms": latency_ms,
        "avg_speedup": avg_speedup,
    }
    kernel = {"kernel_id": 1, "kernel_name": "021_rmsnorm_h128", "sol_is_dummy": sol_is_dummy}
    listed = [{"kernel_id": 1, "position": place, **row} for place, row in enumerate(workloads)]
    with judged([run], [], listed, [kernel]) as connection:
        rows = queried(connection, "from flags")
    return {row["flag"]: (row["observed_ms"], row["bound_ms"]) for row in rows}


BOUNDS = [workload(1.0), workload(4.0)]  # 2 ms is their geometric mean


def test_faster_than_the_suites_bound_is_flagged_with_both_numbers() -> None:
    assert flags(1.5, BOUNDS) == {"BELOW_SUITE_BOUND": (1.5, pytest.approx(2.0))}


def test_faster_than_the_fastest_case_could_be_is_flagged_for_that_too() -> None:
    assert flags(0.9, BOUNDS) == {
        "BELOW_CASE_BOUND": (0.9, 1.0),
        "BELOW_SUITE_BOUND": (0.9, pytest.approx(2.0)),
    }


def test_repeated_cases_count_as_often_as_they_are_listed() -> None:
    assert "BELOW_SUITE_BOUND" in flags(2.1, [*BOUNDS, workload(4.0)])


@pytest.mark.parametrize("latency_ms", [0.1, 0.3, 0.7, 0.000003, 123.456789])
def test_a_latency_that_equals_a_bound_is_not_below_it(latency_ms: float) -> None:
    one_bound = [workload(latency_ms)] * 3  # A mean of equal numbers is not always equal to them.
    assert flags(latency_ms, one_bound) == {}
    assert set(flags(latency_ms - MS, one_bound)) == {"BELOW_CASE_BOUND", "BELOW_SUITE_BOUND"}


def test_a_speedup_that_the_baselines_do_not_bear_out_is_flagged() -> None:
    baselines = [workload(None, 4.0), workload(None, 9.0)]  # 6 ms is their geometric mean
    assert flags(3.0, baselines, avg_speedup=2.0) == {}
    assert flags(3.0, baselines, avg_speedup=2.2) == {}  # An arithmetic mean of ratios is above.
    assert flags(3.0, baselines, avg_speedup=1.9) == {
        "INCONSISTENT_SPEEDUP": (pytest.approx(5.7), pytest.approx(6.0))
    }


@pytest.mark.parametrize("seed", range(3))
def test_rounding_alone_makes_no_speedup_inconsistent(seed: int) -> None:
    rng = random.Random(seed)
    # Speedups computed as they should be, from true latencies; then all is rounded as the source does.
    runs, listed = [], []
    for kernel_id in range(300):
        baselines = [10 ** rng.uniform(-2.7, 1) for _ in range(rng.choice((1, 2, 16)))]
        latency_ms = 10 ** rng.uniform(-2.7, 1)
        speedup = math.prod(baselines) ** (1 / len(baselines)) / latency_ms
        served = {"latency_ms": round(latency_ms, 6), "avg_speedup": round(speedup, 4)}
        runs.append(
            {"run_digest": f"{kernel_id}", "external_id": f"{kernel_id}", "kernel_id": kernel_id, **served}
        )
        listed += [
            {"kernel_id": kernel_id, "position": place, **workload(None, round(baseline_ms, 6))}
            for place, baseline_ms in enumerate(baselines)
        ]
    with judged(runs, [], listed) as connection:
        assert len(queried(connection, "from kernel_bounds where baseline_geomean_ms > 0")) == 300
        assert queried(connection, "from flags") == []


@pytest.mark.parametrize("missing", [None, 0.0, -1.0])
def test_where_one_number_is_missing_no_flag_is_raised_by_the_others(missing: float | None) -> None:
    assert flags(0.1, [workload(1.0, 9.0), workload(missing, missing)], avg_speedup=0.1) == {}


def test_where_a_run_has_no_number_it_has_no_flag_of_it() -> None:
    assert flags(None, [workload(1.0, 9.0)], avg_speedup=0.1) == {}
    assert flags(5.0, [workload(1.0, 9.0)], avg_speedup=None) == {}
    assert flags(0.1, [], avg_speedup=0.1) == {}


def test_a_bound_that_is_a_dummy_raises_no_flag_but_a_baseline_does() -> None:
    listed = [workload(1.0, 9.0)]
    assert set(flags(0.5, listed, avg_speedup=2.0, sol_is_dummy=True)) == {"INCONSISTENT_SPEEDUP"}
    assert set(flags(0.5, listed, avg_speedup=2.0, sol_is_dummy=None)) == {
        "BELOW_CASE_BOUND",
        "BELOW_SUITE_BOUND",
        "INCONSISTENT_SPEEDUP",
    }


@pytest.mark.parametrize(("latency_ms", "ranked"), [(0.9, 0), (1.5, 1), (2.5, 1)])
def test_only_what_is_below_a_cases_bound_is_held(latency_ms: float, ranked: int) -> None:
    run = {"run_digest": "sha256:0a", "latency_ms": latency_ms, "primary_value": round(latency_ms * 1e6)}
    listed = [{"kernel_id": 1, "position": place, **row} for place, row in enumerate(BOUNDS)]
    with judged([run], [], listed) as connection:
        assert len(queried(connection, "from rankings")) == ranked
        held = queried(connection, "select reason from exclusions")
        assert held == ([] if ranked else [{"reason": "HELD_FOR_REVIEW"}])


def test_a_kernels_bounds_are_kept_with_what_they_come_to() -> None:
    listed = [
        {"kernel_id": 1, "position": place, **row}
        for place, row in enumerate([workload(1.0, 4.0), workload(4.0, 9.0)])
    ]
    with judged([], [], listed) as connection:
        (row,) = queried(connection, "from kernel_bounds")
    assert row == {
        "kernel_id": 1,
        "least_sol_ms": 1.0,
        "sol_geomean_ms": pytest.approx(2.0),
        "least_baseline_ms": 4.0,
        "baseline_geomean_ms": pytest.approx(6.0),
    }
