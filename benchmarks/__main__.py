"""What the pipeline costs, and how that grows: `python -m benchmarks [SUBMISSIONS ...]`.

For each size a leaderboard of 235 kernels is made up. It is ingested, ingested again as it is, after a day on
which kernels with a hundredth of all submissions changed, and after one on which every kernel changed. Then
as many runs are ranked. Beside it stands what the machine can do at best, measured at the same time. Prints
tables, and writes them as JSON, with a plot.
"""

import argparse
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from benchmarks import rankings
from benchmarks.bounds import bounds_s, normalising_s
from benchmarks.ingest import measure
from tests.generator import generate, next_day
from warehouse.home import Home

SIZES = (10_000, 60_000, 100_000)
DOCS = Path("docs/performance.md")
RUNS = ("full", "unchanged", "day", "busy day")
GROWTH = {"wall_s": "time, s", "cpu_s": "processor time, s", "peak_mb": "memory, MB", "disk_mb": "disk, MB"}

# The stages that a bound is known of, with Dagster's steps that are part of them.
STAGES = {
    "fetching": (("kernel_listing", "kernel_pages"), ("reading the bytes", "hashing them")),
    "normalising": (("kernel_manifests",), ("parsing them", "hashing them")),
    "tables and warehouse": (
        ("tables", "drift_table", "source_kernels_table", "warehouse"),
        ("DuckDB writing the tables",),
    ),
    "checks": (("check_manifests", "check_rankings"), ("parsing, writing and hashing the manifests",)),
    "ranking": (("ranking_tables",), ("DuckDB ranking by value alone",)),
}

Result = dict[str, Any]


def measured(submissions: int) -> Result:
    """All numbers of one size, in a temporary directory."""
    with tempfile.TemporaryDirectory() as temporary:
        source, home = Path(temporary, "source"), Home(Path(temporary, "home"))
        generate(source, submissions=submissions)
        raw_mb = _size_mb(source)
        full = asdict(measure(source, home.directory))
        unchanged = asdict(measure(source, home.directory))
        bounds = bounds_s(source, home.warehouse, Path(temporary, "bound.duckdb"))
        disk = {
            **{name: _size_mb(home.directory / name) for name in ("snapshots", "parts", "tables", "dagster")},
            "warehouse": _size_mb(home.warehouse),
        }
        normalising = normalising_s(source)
        next_day(source)
        day = asdict(measure(source, home.directory))
        next_day(source, share=1)
        busy_day = asdict(measure(source, home.directory))
    return {
        "submissions": submissions,
        "full": full,
        "unchanged": unchanged,
        "day": day,
        "busy day": busy_day,
        "bounds_s": bounds,
        "normalising_s": normalising,
        "ranking": asdict(rankings.measured(submissions)),
        "raw_mb": raw_mb,
        "disk_mb": disk,
    }


def growth(results: Sequence[Result]) -> dict[str, list[float]]:
    """The columns that should grow no faster than the data."""
    return {
        name: [result["full"].get(name) or sum(result["disk_mb"].values()) for result in results]
        for name in GROWTH
    }


def slopes(results: Sequence[Result]) -> dict[str, float]:
    """Of each column against submissions, both as logarithms: 1 is in proportion, less is better.

    Takes at least two sizes.
    """
    x = np.log([result["submissions"] for result in results])
    return {name: float(np.polyfit(x, np.log(column), 1)[0]) for name, column in growth(results).items()}


def report(results: Sequence[Result]) -> str:
    """All of it as Markdown."""
    sizes = [f"{result['submissions']:,}" for result in results]
    parts = [
        "### One ingest\n",
        _table(
            ["submissions", "peak MB", *(f"{run}, {what}" for run in RUNS for what in ("wall s", "CPU s"))],
            [
                [
                    size,
                    f"{max(result[run]['peak_mb'] for run in RUNS):,.0f}",
                    *(f"{result[run][name]:.1f}" for run in RUNS for name in ("wall_s", "cpu_s")),
                ]
                for size, result in zip(sizes, results, strict=True)
            ],
        ),
        "### Against what the machine can do\n",
        _table(
            ["seconds", *sizes],
            [
                row
                for name, (steps, bounds) in STAGES.items()
                for took in [[_sum(result["full"]["steps_s"], steps) for result in results]]
                for best in [[_sum(result["bounds_s"], bounds) for result in results]]
                for row in (
                    [name, *(f"{seconds:.1f}" for seconds in took)],
                    [f"at best: {', '.join(bounds)}", *(f"{seconds:.2f}" for seconds in best)],
                    ["ratio", *(f"{one / other:.1f}" for one, other in zip(took, best, strict=True))],
                )
            ],
        ),
        "### Each step of a full ingest\n",
        _table(
            ["seconds", *sizes],
            [
                [step, *(f"{result['full']['steps_s'].get(step, 0):.2f}" for result in results)]
                for step in results[-1]["full"]["steps_s"]
            ],
        ),
        "### Reading and normalising, in one process\n",
        _table(
            ["µs a submission", *sizes],
            [
                [name, *(f"{r['normalising_s'][name] / r['submissions'] * 1e6:.1f}" for r in results)]
                for name in ("parsing", "reading", "normalising")
            ],
        ),
        "### Ranking\n",
        _table(
            ["runs", *results[0]["ranking"]],
            [
                [size, *(f"{value:,.2f}" for value in result["ranking"].values())]
                for size, result in zip(sizes, results, strict=True)
            ],
        ),
        "### Disk\n",
        _table(
            ["MB", *sizes],
            [
                ["the pages as they came", *(f"{result['raw_mb']:,.0f}" for result in results)],
                *(
                    [name, *(f"{result['disk_mb'][name]:,.0f}" for result in results)]
                    for name in results[0]["disk_mb"]
                ),
            ],
        ),
        "### Dagster\n",
        _table(
            ["submissions", "steps", "events of a full ingest", "events where nothing changed"],
            [
                [
                    size,
                    str(len(result["full"]["steps_s"])),
                    *(str(result[run]["events"]) for run in ("full", "unchanged")),
                ]
                for size, result in zip(sizes, results, strict=True)
            ],
        ),
    ]
    if len(results) > 1:
        said = "; ".join(f"{GROWTH[name]}: {slope:.2f}" for name, slope in slopes(results).items())
        parts += ["### Growth\n", f"Slopes of the logarithms, 1 being in proportion to the data. {said}.\n"]
    return "\n".join(parts)


def plot(results: Sequence[Result], file: Path) -> None:
    """Draw how time, memory and disk grow, with the slope of each."""
    sizes = [result["submissions"] for result in results]
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    slope = slopes(results)
    for name, column in growth(results).items():
        axes.loglog(sizes, column, marker="o", label=f"{GROWTH[name]}: slope {slope[name]:.2f}")
    axes.loglog(sizes, [size / sizes[0] for size in sizes], "k:", label="slope 1")
    axes.set(xlabel="submissions", title="A full ingest")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def machine() -> str:
    """On what it was measured."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[1]
    return (
        f"{os.cpu_count()} cores, {memory_gb:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}; load in the last five minutes: {load:.1f}"
    )


def _sum(seconds: dict[str, float], names: Iterable[str]) -> float:
    return sum(seconds.get(name, 0) for name in names)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _size_mb(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure the pipeline.")
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, metavar="SUBMISSIONS")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"), metavar="DIR")
    parser.add_argument(
        "--docs", action="store_true", help=f"put the tables into {DOCS}, and the plot beside it"
    )
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    results = []
    for size in options.sizes:
        results.append(measured(size))
        said = f"Measured on {machine()}.\n\n{report(results)}"
        (options.results / "results.json").write_text(json.dumps(results, indent=1))
        (options.results / "results.md").write_text(said)
        if len(results) > 1:
            plot(results, options.results / "growth.png")
    print(said)
    if options.docs:
        text = re.sub(
            r"(?s)(<!-- measured -->\n).*(<!-- end -->)", lambda m: m[1] + said + m[2], DOCS.read_text()
        )
        DOCS.write_text(text)
        shutil.copy(options.results / "growth.png", DOCS.parent / "pictures" / "growth.png")


if __name__ == "__main__":
    main()
