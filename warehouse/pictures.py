"""Pictures of what the warehouse holds, for people who look at a run and not into the tables."""

import io
import warnings
from pathlib import Path

import duckdb

_LEADERS = 10
_LONGEST_NAME = 28
_BINS = 20


def overview(warehouse: Path) -> bytes:
    """SOL scores by evaluation stack, and who leads how many groups on the newest, as a PNG of some 30 kB."""
    # Takes a second to import, and most who import this room draw nothing.
    from matplotlib.figure import Figure

    with duckdb.connect(warehouse, read_only=True) as connection:
        scores = connection.sql(
            "select stack, list(sol_score) from leaderboard where sol_score is not null "
            "group by stack order by stack"
        ).fetchall()
        leaders = connection.sql(
            "select project, contested_firsts, uncontested_firsts from standings where firsts > 0 "
            f"limit {_LEADERS}"
        ).fetchall()
        newest = connection.sql("select stack from stacks where is_newest").fetchall()
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    by_stack, by_project = figure.subplots(1, 2)
    if scores:
        labels = [f"{_one_line(stack)} ({len(of_stack)})" for stack, of_stack in scores]
        by_stack.hist([of_stack for _, of_stack in scores], bins=_BINS, range=(0, 1), stacked=True)
        legend = by_stack.legend(labels)
        for text in legend.get_texts():
            text.set_parse_math(False)
    by_stack.set(
        title="SOL scores of ranked runs, by stack",
        xlabel="SOL score (0.5: scoring baseline, 1: bound)",
        ylabel="runs",
    )
    places = range(len(leaders))
    contested = [leads for _, leads, _ in leaders]
    by_project.barh(places, contested, label="contested", color="tab:green")
    uncontested = [leads for *_, leads in leaders]
    bars = by_project.barh(
        places, uncontested, left=contested, label="nobody else is ranked", color="lightgray"
    )
    by_project.bar_label(bars, labels=[f"{one + other}" for _, one, other in leaders], padding=3)
    # A `$` in a name is no formula.
    by_project.set_yticks(places, [_one_line(name) for name, *_ in leaders], parse_math=False)
    by_project.invert_yaxis()
    by_project.set_title(
        f"Comparison groups led on {_one_line(newest[0][0])}" if newest else "", parse_math=False
    )
    by_project.set(xticks=[])
    if leaders:
        by_project.legend(loc="lower right", frameon=False)
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
