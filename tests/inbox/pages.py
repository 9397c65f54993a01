"""Pages as people save them, of a submission of the sample's kernel 038 and of the seeds' runs; and homes."""

import html
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any

from assets.leaderboard.inbox import take_in
from assets.leaderboard.kernel_pages import fetch_kernel, fetch_kernel_listing
from assets.leaderboard.sources import DirectorySource
from assets.manifests.case_runs import COLLECTED, make_case_runs, stages_of
from assets.manifests.kernel_manifests import make_manifests
from assets.rankings.run_pages import check_run_pages
from assets.rankings.tables import rank_tables
from tests.examples import FIXTURES, Kernel, Row, recorded, save
from warehouse.build import build_warehouse
from warehouse.home import Home
from warehouse.parquet import collect, read_table, rows_of, write_table
from warehouse.parts import read_tables
from warehouse.tables import ATTESTATIONS, DECISIONS, DRIFT, ENTRIES_SET_ASIDE, RUN_PAGE_CHECKS, TABLES

FLUX = "038_flux_multi_head_rmsnorm_qk"
SUBMISSION = 47128
COLUMNS = ("Workload", "Latency (ms)", "Baseline (ms)", "Speedup", "SOL Score")
SEEDS = ("165", "3268", "26346")


@dataclass(frozen=True)
class Measured:
    """What a submission measured on one workload, before anything was rounded."""

    axes: dict[str, int]
    latency_ms: float
    baseline_ms: float
    sol_ms: float

    @property
    def score(self) -> float:
        return 1 / (1 + (self.latency_ms - self.sol_ms) / (self.baseline_ms - self.sol_ms))

    def cells(self) -> list[str]:
        """As the leaderboard shows it: constant axes left out, numbers rounded."""
        return [
            ", ".join(f"{name}={value}" for name, value in self.axes.items()),
            f"{self.latency_ms:.4f}",
            f"{self.baseline_ms:.4f}",
            f"{self.baseline_ms / self.latency_ms:.2f}x",
            f"{self.score:.6f}",
        ]


def flux() -> Kernel:
    """The kernel, with none but the submission of the page: with the numbers that the API says of it."""
    kernel = recorded(FLUX)
    cases = measured(kernel)
    kernel.submissions = [
        {
            **kernel.submissions[0],
            "id": SUBMISSION,
            "username": "Byte-Naut",
            "evaluation_stack_version": "v1.1",
            "finished_at": "2026-09-15T01:16:06.123456",
            "latency_ms": round(exp(sum(log(case.latency_ms) for case in cases) / len(cases)), 6),
            "sol_score": round(sum(case.score for case in cases) / len(cases), 6),
            "fast_1_count": sum(case.latency_ms < case.baseline_ms for case in cases),
            "fast_1_total": len(cases),
        }
    ]
    return kernel


def measured(kernel: Kernel, constant: Sequence[str] = ("head_dim", "num_heads")) -> list[Measured]:
    """What the submission measured: some workloads much faster than the baseline, the last two slower."""
    workloads = kernel.workloads
    return [
        Measured(
            {name: value for name, value in workload["axes"].items() if name not in constant},
            workload["baseline_latency_ms"] * (0.62 + 0.45 * place / len(workloads)),
            workload["baseline_latency_ms"],
            workload["sol_ms"],
        )
        for place, workload in enumerate(workloads)
    ]


DETAILS = {
    "Status": "Accepted",
    "Evaluation Stack": "v1.1",
    "Kernel": FLUX,
    "Device": "B200",
    "User": "Byte-Naut",
    "Mode": "Public",
    "Submitted At": "2026-09-15 09:15:29 UTC+08:00",
    "Evaluation Started": "2026-09-15 09:15:31 UTC+08:00",
    "Evaluation Finished": "2026-09-15 09:16:06 UTC+08:00",
    "Submitted File": "solution.json",
    "Result": "AC",
}


@dataclass(frozen=True)
class Page:
    """What a submission page shows, to be written as HTML or text, and changed by a test before."""

    title: str = f"Submission #{SUBMISSION}"
    details: dict[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = COLUMNS
    rows: tuple[tuple[str, ...], ...] = ()

    def but(self, **details: str) -> "Page":
        """The same page with other details; an empty one is left out."""
        names = {name.lower().replace(" ", "_"): name for name in self.details}
        changed = self.details | {names[name]: value for name, value in details.items()}
        return replace(self, details={name: value for name, value in changed.items() if value})

    def with_rows(self, rows: Iterable[Sequence[str]]) -> "Page":
        return replace(self, rows=tuple(map(tuple, rows)))

    def html(self) -> str:
        """As a browser saves it: a list of details and a table."""
        pairs = "\n".join(
            f"<dt>{_e(name)}</dt><dd>{_value(value)}</dd>" for name, value in self.details.items()
        )
        return self._document(f"<h2>Details</h2><dl>{pairs}</dl>")

    def html_of_divs(self) -> str:
        """As a site of today renders it: labels and values in divs and spans, and much around them."""
        pairs = "".join(
            f'<div class="row"><div><span>{_e(name)}</span></div><div><span>{_e(value)}</span></div></div>'
            for name, value in self.details.items()
        )
        return self._document(f"<section>{pairs}</section>")

    def html_of_lines(self) -> str:
        """As paragraphs with a colon, the evaluation stack in one run of text."""
        lines = "".join(
            f"<p>Evaluation Stack {_e(value)}</p>"
            if name == "Evaluation Stack"
            else f"<p><b>{_e(name)}:</b> {_e(value)}</p>"
            for name, value in self.details.items()
        )
        return self._document(lines)

    def html_of_tables(self) -> str:
        rows = "".join(
            f"<tr><th>{_e(name)}</th><td>{_e(value)}</td></tr>" for name, value in self.details.items()
        )
        return self._document(f"<table>{rows}</table>")

    def html_without_ends(self) -> str:
        """Without the end tags that HTML may leave out."""
        text = self.html()
        for tag in ("dt", "dd", "tr", "td", "th", "tbody", "thead", "body", "html"):
            text = text.replace(f"</{tag}>", "")
        return text

    def text(self, between: str = "\t") -> str:
        """As copied from the screen: a line a row, its cells between tabs, spaces or bars."""
        details = [line for name, value in self.details.items() for line in (name, value)]
        rows = [between.join(row) for row in (self.columns, *self.rows)]
        return "\n".join(
            ["SOL-ExecBench", self.title, "Details", *details, "Benchmark Results", *rows, "Terms"]
        )

    def text_of_lines(self) -> str:
        """As copied where every cell comes as a line of its own."""
        details = [f"{name}: {value}" for name, value in self.details.items()]
        cells = [cell for row in (self.columns, *self.rows) for cell in row]
        return "\n\n".join([self.title, *details, "Benchmark Results", *cells, "Terms of use"])

    def _document(self, details: str) -> str:
        header = "".join(f"<th><button>{_e(column)} ↕</button></th>" for column in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_e(cell)}</td>" for cell in row) + "</tr>\n" for row in self.rows
        )
        return (
            "<!-- saved from url=(0053)https://research.nvidia.com/benchmarks/sol-execbench -->\n"
            '<!doctype html><html lang="de"><head><meta charset="utf-8">'
            f"<title>{_e(self.title)} | SOL</title>"
            "<style>td { color: red }</style><script>var kernel = 'Kernel: nonsense';</script></head><body>"
            "<nav><a>Leaderboard</a> <a>Kernel</a> <a>Status</a></nav>"
            f"<main><h1>{_e(self.title)}</h1>{details}<h2>Benchmark Results</h2>"
            f"<table><thead><tr>{header}</tr></thead><tbody>\n{rows}</tbody></table></main>"
            "<footer><p>Terms of use</p></footer></body></html>"
        )


@cache
def page() -> Page:
    """The page of the submission that `flux` lists."""
    cases = measured(recorded(FLUX))
    score = f"{sum(case.score for case in cases) / len(cases):.6f}"
    return Page(details=DETAILS | {"SOL Score": score}, rows=tuple(tuple(case.cells()) for case in cases))


WRITTEN: dict[str, Callable[[Page], str]] = {
    "html": Page.html,
    "divs": Page.html_of_divs,
    "lines with colons": Page.html_of_lines,
    "tables": Page.html_of_tables,
    "no end tags": Page.html_without_ends,
    "text": Page.text,
    "text with bars": lambda page: page.text(" | "),
    "text with single spaces": lambda page: page.text(" "),
    "text with many spaces": lambda page: page.text("    "),
    "text, a line a cell": Page.text_of_lines,
}


@cache
def seed_facts() -> dict[str, dict[str, Any]]:
    """What the seeds' pages show, by submission."""
    facts: dict[str, dict[str, Any]] = json.loads((FIXTURES / "seeds" / "pages.json").read_text("utf-8"))
    return facts


@cache
def seed_manifests(submission: str) -> str:
    manifests = json.loads((FIXTURES / "seeds" / f"{submission}.json").read_text("utf-8"))
    return json.dumps(manifests, indent=2, ensure_ascii=False)


def seed_text(submission: str) -> str:
    """A seed's page as text, character by character."""
    template = (FIXTURES / "seeds" / "page.txt").read_text("utf-8")
    return template.format(**seed_facts()[submission], manifests=seed_manifests(submission))


def seed_html(submission: str) -> str:
    """The same page as HTML: headings, lists of key and value, the manifest in a <pre>."""
    facts = seed_facts()[submission]

    def pairs(**values: str) -> str:
        return "".join(
            f"<dt>{name.replace('_', ' ')}</dt><dd>{_e(value)}</dd>" for name, value in values.items()
        )

    identity = pairs(
        implementation=facts["project"],
        project=facts["project"],
        revision=f"submission-{submission}",
        workload="suite of 16 cases · mean latency",
        comparison_key=f"{facts['comparison_key']}…",
        source="NVIDIA SOL-ExecBench",
        external_id=f"submission/{submission}",
    )
    workload = pairs(
        definition_comparator="sol_execbench_eval",
        description="Correctness must pass on every case in the SOL evaluation stack.",
    )
    protocol = pairs(
        harness=f"SOL-ExecBench evaluation stack {facts['stack']}",
        timer="harness_reported",
        primaryStatistic="mean",
        correctnessReference="definition reference implementation",
        comparabilityFamily="sol_execbench_leaderboard",
    )
    return (
        f"<!doctype html><html><head><title>Run {facts['title']} · KernelIndex</title></head><body>"
        f"<h1>Run {facts['title']} · KernelIndex</h1><h2>Primary measurement</h2>"
        f"<p><strong>{facts['latency']} {facts['unit']}</strong> <span>mean</span></p>"
        f"<p>Rank {facts['rank']} in its comparison group · source-native comparison · observed "
        f"<time>{facts['observed']}</time></p><a href='#'>Compare with #1 →</a>"
        f"<p>SOL {facts['score']} · {facts['speedup']}× reference · {facts['cases']} cases faster</p>"
        f"<h2>Identity</h2><dl>{identity}</dl><code>{facts['digest']}…</code><h2>Correctness</h2>"
        "<p>Marked passed by the source; the correctness policy was not published.</p>"
        f"<h2>Workload</h2><dl>{workload}</dl><h2>Measurements</h2>"
        f"<dl><dt>latency · mean</dt><dd>{facts['latency']} {facts['unit']}</dd></dl>"
        f"<h2>Protocol</h2><dl>{protocol}</dl><h2>Environment</h2>"
        "<dl><dt>gpu</dt><dd>NVIDIA B200 (sm_100)</dd></dl><h2>Canonical manifest</h2>"
        f"<details><summary>Show manifest</summary><pre>{_e(seed_manifests(submission))}</pre></details>"
        f"<p>Published {facts['published']} · NVIDIA SOL-ExecBench</p>"
        f"<a href='#'>All results for {facts['operation']} →</a></body></html>"
    )


def prepared(home: Home, *kernels: Kernel) -> Home:
    """A home that has these kernels' manifests."""
    source = DirectorySource(save(home.directory / "saved", *kernels))
    for row in fetch_kernel_listing(source, home):
        fetch_kernel(source, home, row["kernel_key"], row["kernel_id"])
        make_manifests(home, row["kernel_key"], row["kernel_id"])
    return home


def saved(home: Home, content: str | bytes, name: str = "page.html", saved_at: int = 1_790_000_000) -> Path:
    """A file in the inbox folder."""
    path = home.inbox / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path, (saved_at, saved_at))
    return path


def read(home: Home, content: str | bytes, name: str = "page.html", saved_at: int = 1_790_000_000) -> None:
    """Take a page in."""
    take_in(home, saved(home, content, name, saved_at))


def tables(home: Home) -> dict[str, list[Row]]:
    """What is collected of all that the home has, a row a key, in order; nothing is ranked."""
    make_case_runs(home)
    rows: dict[str, dict[object, Row]] = {table.name: {} for table in TABLES.values()}
    for table in (*COLLECTED, DRIFT):
        for part in (part for stage in stages_of(table) for part in home.parts(stage)):
            if table.name in (held := read_tables(part)):
                for row in rows_of(held[table.name]):
                    rows[table.name].setdefault(tuple(row[name] for name in table.key), row)
    return {name: [of_table[key] for key in sorted(of_table, key=repr)] for name, of_table in rows.items()}


def published(home: Home) -> dict[str, list[Row]]:
    """All tables of all that the home has, ranked, and its warehouse."""
    make_case_runs(home)
    for table in (*COLLECTED, DRIFT):
        write_table(home, table, collect(home, table, stages_of(table)))
    for table in (DECISIONS, ATTESTATIONS, ENTRIES_SET_ASIDE):
        write_table(home, table, table.schema.empty_table())
    for name, rows in rank_tables(home).items():
        write_table(home, TABLES[name], rows)
    write_table(home, RUN_PAGE_CHECKS, check_run_pages(home))
    build_warehouse(home)
    return {name: rows_of(read_table(home, table)) for name, table in TABLES.items()}


def case_runs(made: dict[str, list[Row]]) -> list[Row]:
    """The runs on single cases."""
    return [run for run in made["runs"] if "/" in run["external_id"]]


def _e(text: str) -> str:
    return html.escape(text)


def _value(value: str) -> str:
    return f"<time>{_e(value)}</time>" if "UTC" in value else _e(value)
