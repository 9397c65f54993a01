"""Pictures of what the warehouse holds, for people who look at a run and not into the tables."""

import io
import warnings
from pathlib import Path

import duckdb

_LEADERS = 10
_LONGEST_NAME = 28
_BINS = 20


def overview(warehouse: Path) -> bytes:
    """SOL scores by evaluation stack, and who leads how many comparison groups, as a PNG of some 30 kB."""
    # Takes a second to import, and most who import this room draw nothing.
    from matplotlib.figure import Figure

    with duckdb.connect(warehouse, read_only=True) as connection:
        scores = connection.sql(
            "select stack, list(sol_score) from leaderboard where sol_score is not null "
            "group by stack order by stack"
        ).fetchall()
        leaders = connection.sql(
            "select project, count(*) as leads from leaderboard where rank = 1 "
            f"group by project order by leads desc, project limit {_LEADERS}"
        ).fetchall()
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    by_stack, by_project = figure.subplots(1, 2)
    if scores:
        labels = [f"{_one_line(stack)} ({len(of_stack)})" for stack, of_stack in scores]
        by_stack.hist([of_stack for _, of_stack in scores], bins=_BINS, range=(0, 1), stacked=True)
        legend = by_stack.legend(labels)
        for text in legend.get_texts():
            text.set_parse_math(False)
    by_stack.set(title="SOL scores of ranked runs, by stack", xlabel="SOL score", ylabel="runs")
    bars = by_project.barh(range(len(leaders)), [leads for _, leads in leaders])
    by_project.bar_label(bars, padding=3)
    # A `$` in a name is no formula.
    names = [_one_line(name) for name, _ in leaders]
    by_project.set_yticks(range(len(leaders)), names, parse_math=False)
    by_project.invert_yaxis()
    by_project.set(title="Comparison groups led", xticks=[])
    for axes in (by_stack, by_project):
        axes.spines[["top", "right"]].set_visible(False)
    png = io.BytesIO()
    with warnings.catch_warnings():
        # What the font has no glyph for is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(png, format="png", dpi=90)
    return png.getvalue()


def _one_line(name: str) -> str:
    """A name as a label: printable, on one line, not too long."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    return line if len(line) <= _LONGEST_NAME else line[: _LONGEST_NAME - 1] + "…"
