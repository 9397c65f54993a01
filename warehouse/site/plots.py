"""Plots: from a group's runs to dots, lines and ticks, in the coordinates of the SVG that `plots.html` draws.

The page draws them, not a plotting library, so that they take the page's colours, light and dark. Where ticks
are best is matplotlib's craft. A plot that can't be drawn says so in its place, and costs no more than that.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from math import exp, isfinite, log
from typing import Any, ParamSpec

from matplotlib.ticker import LogLocator, MaxNLocator

from warehouse.dossier import latency

Row = dict[str, Any]
Scale = Callable[[float], float]

WIDTH, HEIGHT = 480, 270
LEFT, RIGHT, TOP, BOTTOM = 62, 30, 12, 46
# Between these there are dates.
_FIRST_DAY, _LAST_DAY = (
    moment.replace(tzinfo=UTC).timestamp() / 86400 for moment in (datetime.min, datetime.max)
)


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: where, in the SVG's coordinates, and what it says."""

    at: float
    label: str


@dataclass(frozen=True)
class Dot:
    """A run: where, what to call it, and its kind (record, ranked or unranked)."""

    x: float
    y: float
    name: str
    kind: str


@dataclass(frozen=True)
class Level:
    """A vertical line that all runs are seen against: the bound or the baseline."""

    x: float
    kind: str
    name: str


@dataclass(frozen=True)
class Plot:
    """One plot, in the SVG's coordinates: WIDTH by HEIGHT, the origin at the top left; or its problem."""

    x_ticks: list[Tick]
    y_ticks: list[Tick]
    dots: list[Dot]
    path: str = ""
    levels: tuple[Level, ...] = ()
    problem: str = ""


Given = ParamSpec("Given")


def _costs_itself_alone(draw: Callable[Given, Plot | None]) -> Callable[Given, Plot | None]:
    @wraps(draw)
    def drawn(*args: Given.args, **kwargs: Given.kwargs) -> Plot | None:
        try:
            plot = draw(*args, **kwargs)
            if plot and not all(isfinite(dot.x) and isfinite(dot.y) for dot in plot.dots):
                raise ValueError("a number is beyond what a plot can show")
            return plot
        except Exception as error:  # Whatever numbers the source gives, the tables hold them all the same.
            return Plot([], [], [], problem=f"{type(error).__name__}: {error}")

    return drawn


@_costs_itself_alone
def record_plot(runs: Iterable[Row], records: Sequence[Row]) -> Plot | None:
    """A group's runs over time, latency on a logarithmic scale, and its record as a line of steps.

    A record that nobody holds leaves a gap. None where fewer than two runs have both a time and a latency.
    """
    seen = [run for run in runs if run["observed_at"] and run["latency_ms"]]
    if len(seen) < 2:
        return None
    days = [_days(run["observed_at"]) for run in seen]
    days += [_days(record["taken_at"]) for record in records if record["taken_at"]]
    room = max((max(days) - min(days)) * 0.03, 0.5)
    start, end = max(min(days) - room, _FIRST_DAY), min(max(days) + room, _LAST_DAY)
    x = _linear(start, end, LEFT, WIDTH - RIGHT)
    y, y_ticks = _latency_axis([run["latency_ms"] for run in seen], HEIGHT - BOTTOM, TOP)
    holders = {record["run_digest"] for record in records}
    x_marks = [day for day in _round_numbers(start, end, 4, integer=True) if start <= day <= end]
    dots = [
        Dot(x(_days(run["observed_at"])), y(run["latency_ms"]), _name(run), _kind(run, holders))
        for run in seen
    ]
    return Plot(
        [Tick(x(day), f"{datetime.fromtimestamp(day * 86400, UTC):%Y-%m-%d}") for day in x_marks],
        y_ticks,
        sorted(dots, key=lambda dot: dot.kind == "record"),  # Last, and so above the others.
        _steps(records, x, y, end),
    )


@_costs_itself_alone
def score_plot(runs: Iterable[Row], bound_ms: float | None, baseline_ms: float | None) -> Plot | None:
    """A group's SOL scores against latency, on a logarithmic scale, with the bound and the baseline drawn.

    None where no run has both.
    """
    seen = [run for run in runs if run["sol_score"] is not None and run["latency_ms"]]
    if not seen:
        return None
    levels = {kind: ms for kind, ms in (("bound", bound_ms), ("baseline", baseline_ms)) if ms}
    x, x_ticks = _latency_axis([*(run["latency_ms"] for run in seen), *levels.values()], LEFT, WIDTH - RIGHT)
    scores = [0, 1, *(run["sol_score"] for run in seen)]
    y = _linear(min(scores), max(scores), HEIGHT - BOTTOM, TOP)
    y_marks = _round_numbers(min(scores), max(scores), 5)
    return Plot(
        x_ticks,
        [Tick(y(score), f"{score:.1f}") for score in y_marks],
        [Dot(x(run["latency_ms"]), y(run["sol_score"]), _name(run), _kind(run, ())) for run in seen],
        levels=tuple(Level(x(ms), kind, f"{kind} {latency(ms * 1e6)}") for kind, ms in levels.items()),
    )


def _steps(records: Iterable[Row], x: Scale, y: Scale, end: float) -> str:
    """The record as an SVG path: level while one run holds it, up or down where another takes it."""
    steps = []
    lost_at = None
    for record in records:
        if record["taken_at"]:
            joined = "L" if record["taken_at"] == lost_at else "M"
            lost_at = record["lost_at"]
            left, right = x(_days(record["taken_at"])), x(_days(lost_at) if lost_at else end)
            level = y(record["latency_ms"])
            steps.append(f"{joined}{left:.1f} {level:.1f}L{right:.1f} {level:.1f}")
    return "".join(steps)


def _name(run: Row) -> str:
    score = "" if run["sol_score"] is None else f", SOL score {run['sol_score']:.3f}"
    return f"{run['project']}, {latency(run['latency_ms'] * 1e6)}{score}"


def _kind(run: Row, holders: Iterable[str]) -> str:
    return "unranked" if run["rank"] is None else "record" if run["run_digest"] in holders else "ranked"


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    """The scale that puts low at start and high at end."""
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _latency_axis(values: Sequence[float], start: float, end: float) -> tuple[Scale, list[Tick]]:
    """A logarithmic scale of milliseconds, which has some room on both sides; its ticks say microseconds."""
    low, high = min(values) * 1000, max(values) * 1000
    room = max(0.06 * log(high / low), 0.02)
    low, high = low * exp(-room), high * exp(room)
    linear = _linear(log(low), log(high), start, end)
    if high / low < 5:  # Round numbers at even distances say more.
        marks = _round_numbers(low, high, 5)
    else:
        locator = LogLocator(subs=(1, 2, 5) if high / low < 1000 else (1,), numticks=7)
        marks = [float(mark) for mark in locator.tick_values(low, high) if low <= mark <= high]
    return lambda ms: linear(log(ms * 1000)), [Tick(linear(log(mark)), f"{mark:,g}") for mark in marks]


def _days(moment: datetime) -> float:
    """A moment as days since 1970, UTC."""
    return moment.timestamp() / 86400


def _round_numbers(low: float, high: float, count: int, *, integer: bool = False) -> list[float]:
    """So many round numbers from low to high, or a few less."""
    locator = MaxNLocator(nbins=count, steps=[1, 2, 5, 10], integer=integer, min_n_ticks=1)
    room = (high - low) * 1e-6
    return [float(mark) for mark in locator.tick_values(low, high) if low - room <= mark <= high + room]
