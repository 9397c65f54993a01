"""Plots: where dots, lines and ticks are."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from warehouse.site.plots import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Plot, record_plot, score_plot

START = datetime(2026, 8, 1, tzinfo=UTC)

# As far apart as anything that the source says can be: see `Real` and `Time` in `assets.leaderboard.records`.
latencies = st.floats(1e-15, 9e9)
runs = st.builds(
    lambda latency_ms, sol_score, observed_at: run(latency_ms, sol_score, observed_at - START),
    latencies,
    st.floats(-2, 2) | st.floats(-1e15, 1e15),
    st.datetimes(datetime(1970, 1, 1), datetime(2261, 12, 31), timezones=st.just(UTC)),
)


def run(latency_ms: float, sol_score: float = 0.5, after: timedelta = timedelta()) -> dict[str, Any]:
    return {
        "run_digest": f"sha256:{latency_ms}",
        "project": "AKO",
        "rank": 1,
        "latency_ms": latency_ms,
        "sol_score": sol_score,
        "observed_at": START + after,
    }


def record(latency_ms: float, taken_day: int, lost_day: int | None) -> dict[str, Any]:
    return {
        "run_digest": f"sha256:{latency_ms}",
        "latency_ms": latency_ms,
        "taken_at": START + timedelta(days=taken_day),
        "lost_at": None if lost_day is None else START + timedelta(days=lost_day),
    }


def is_inside(plot: Plot) -> bool:
    xs = (
        [dot.x for dot in plot.dots] + [tick.at for tick in plot.x_ticks] + [level.x for level in plot.levels]
    )
    ys = [dot.y for dot in plot.dots] + [tick.at for tick in plot.y_ticks]
    return all(LEFT - 0.1 <= x <= WIDTH - RIGHT + 0.1 for x in xs) and all(
        TOP - 0.1 <= y <= HEIGHT - BOTTOM + 0.1 for y in ys
    )


@given(st.lists(runs, min_size=2), latencies, latencies)
def test_all_that_is_drawn_lies_within_the_axes(seen: list[dict[str, Any]], low: float, high: float) -> None:
    for plot in (record_plot(seen, []), score_plot(seen, low, high)):
        assert plot is not None
        assert is_inside(plot)
        assert len(plot.dots) == len(seen)
        assert plot.y_ticks


def test_faster_runs_are_lower_and_later_ones_further_right() -> None:
    plot = record_plot([run(8), run(4, after=timedelta(days=1)), run(2, after=timedelta(days=2))], [])
    assert plot is not None
    assert all(one.x < other.x and one.y < other.y for one, other in pairwise(plot.dots))
    assert abs((plot.dots[1].y - plot.dots[0].y) - (plot.dots[2].y - plot.dots[1].y)) < 1e-6


def test_a_record_that_nobody_held_for_a_while_leaves_a_gap() -> None:
    seen = [run(8), run(4, after=timedelta(days=1)), run(6, after=timedelta(days=5))]
    joined = record_plot(seen, [record(8, 0, 1), record(4, 1, None)])
    parted = record_plot(seen, [record(8, 0, 1), record(4, 1, 3), record(6, 5, None)])
    assert joined is not None
    assert joined.path.count("M") == 1
    assert parted is not None
    assert parted.path.count("M") == 2


def test_where_there_is_nothing_to_compare_nothing_is_drawn() -> None:
    assert record_plot([run(8)], []) is None
    assert score_plot([run(8) | {"sol_score": None}], 1, 10) is None


def test_bounds_that_are_not_known_are_not_drawn() -> None:
    plot = score_plot([run(8)], None, 10)
    assert plot is not None
    assert [level.name for level in plot.levels] == ["baseline 10.00 ms"]


@given(st.lists(st.datetimes(timezones=st.just(UTC)), min_size=2, max_size=4))
def test_any_time_of_the_calendar_can_be_drawn(times: list[datetime]) -> None:
    seen = [run(1.0 + place) | {"observed_at": time} for place, time in enumerate(times)]
    taken = [record(1.0, 0, None) | {"taken_at": min(times)}]
    plot = record_plot(seen, taken)
    assert plot is not None
    assert not plot.problem
    assert is_inside(plot)


def test_a_plot_that_can_not_be_drawn_says_why_and_raises_nothing() -> None:
    for plot in (
        record_plot([run(1.0), run(float("inf"))], []),
        score_plot([run(1.0, float("nan"))], None, None),
        score_plot([run(1.0, 1e308), run(2.0, -1e308)], None, None),
    ):
        assert plot is not None
        assert plot.problem
        assert plot.dots == []
