"""What a run's page shows, in KernelIndex's words, order, units and rounding; made of a row of `run_dossier`.

The forms of facts are here and nowhere else: the command prints them, the site makes a page of them, saved
pages are verified against them. Names in them are as the source wrote them: who shows one makes it safe.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple

import orjson

Row = Mapping[str, Any]
Facts = Mapping[str, str | None]

_SOURCES = {"sol-execbench": "NVIDIA SOL-ExecBench"}
# How KernelIndex spells a word of a kernel's name, where it does not leave it as it is.
_SPELLINGS = {"rope": "RoPE"}
# Units below a second, with their size in nanoseconds and their digits after the point.
_UNITS = (("ns", 1, 0), ("µs", 1_000, 1), ("ms", 1_000_000, 2))
# JavaScript's toFixed: halves up, of what a float exactly is.
_TO_FIXED = Context(prec=400, rounding=ROUND_HALF_UP)

# Facts by their labels on the page, section by section.
_IDENTITY = {name: name for name in ("implementation", "project", "revision", "workload")}
_SOURCE = {name: name for name in ("source", "external id")}
_WORKLOAD = {"axes": "axes", "definition comparator": "comparator", "description": "correctness description"}
_PROTOCOL = {
    "harness": "stack",
    "timer": "timer",
    "primaryStatistic": "statistic",
    "correctnessReference": "correctness reference",
    "comparabilityFamily": "comparability family",
}

_CONFIRMS = {True: "bears the run out", False: "does not bear the run out", None: None}

# What the leaderboard's main number means: said wherever it first stands.
SOL_SCORE = "0.5 is the scoring baseline, 1 the speed-of-light bound; it is no share of the speed of light"
# The one label whose value is a text of several lines.
MANIFEST = "Show manifest"


class Line(NamedTuple):
    """One line of a page: a label and its value. A sentence has no label."""

    label: str
    value: str


class Section(NamedTuple):
    """A titled part of a page."""

    title: str
    lines: list[Line]


@dataclass(frozen=True)
class Dossier:
    """All that a run's page shows, from top to bottom."""

    title: str
    sections: list[Section]
    footer: list[str]


def dossier(run: Row, accessed: date) -> Dossier:
    """The page of a run, of its row in `run_dossier`; `accessed` is the day that the citation names."""
    fact = facts(run)
    passed = f"Marked {fact['status']} by the source; the correctness policy was not published."
    sections = {
        "Primary measurement": _primary_measurement(run, fact),
        "Identity": [
            *_labelled(fact, _IDENTITY),
            Line("comparison key", f"{run['comparison_key'][:23]}…"),
            *_labelled(fact, _SOURCE),
            Line("", f"{run['run_digest'][:30]}…"),
        ],
        "Correctness": [Line("", passed)],
        "Kernel": _kernel(run),
        "Workload": _labelled(fact, _WORKLOAD),
        "Measurements": _measurements(run),
        "Speed of light": _speed_of_light(run),
        "Protocol": _labelled(fact, _PROTOCOL),
        "Environment": _labelled(fact, {"gpu": "GPU"}),
        # The leaderboard publishes none, of any submission.
        "Artifacts": [Line("", "No artifacts published with this run.")],
        "Replications and notes": _attestations(run),
        "Ranking and evidence": _ranking_and_evidence(run),
        "Canonical manifest": [Line(MANIFEST, manifests_as_shown(run))],
        "Cite this record": [Line("", _citation(run, fact, accessed))],
    }
    published = f"Published {day(run['published_at'])} · {fact['source']}"
    return Dossier(
        f"Run {run['run_digest'].removeprefix('sha256:')[:8]} · KernelIndex",
        [Section(title, shown) for title, lines in sections.items() if (shown := list(lines))],
        [published, f"All results for {operation(run['kernel'])} →"],
    )


def facts(run: Row) -> dict[str, str | None]:
    """Facts of a run's page by name, each in the form that the page shows; None where we don't know it."""
    workload = orjson.loads(run["workload_manifest"])["spec"]
    protocol = orjson.loads(run["protocol_manifest"])["spec"]
    hardware = orjson.loads(run["environment_manifest"])["spec"]["hardware"]
    source = orjson.loads(run["manifest"])["spec"]["sourceNative"]["source"]
    is_case = run["workload_kind"] == "case"
    measured = f"case {run['case_id']}" if is_case else f"suite of {run['case_count']} cases"
    has_cases = run["fast_1_count"] is not None and run["fast_1_total"] is not None
    return {
        "implementation": run["project"],
        "project": run["project"],
        "revision": run["revision"],
        "workload": f"{measured} · {run['primary_statistic']} {run['primary_metric']}",
        "source": _SOURCES.get(source, source),
        "external id": f"submission/{run['external_id']}",
        "status": run["status"],
        "axes": (axes(run["case_axes"]) or None) if run["case_axes"] else None,
        "comparator": workload["correctness"]["comparator"],
        "correctness description": workload["correctness"].get("description"),
        "stack": f"{protocol['harness']['name']} {protocol['harness']['version']}",
        "timer": protocol["measurement"]["timer"],
        "statistic": protocol["measurement"]["primaryStatistic"],
        "correctness reference": protocol["correctness"]["reference"],
        "comparability family": protocol["comparability"]["family"],
        "GPU": f"{hardware['product']} ({hardware['architecture']})",
        "profile": run["profile"],
        "observed": day(run["observed_at"]) if run["observed_at"] else None,
        "cases": f"{run['fast_1_count']}/{run['fast_1_total']}" if has_cases else None,
    }


def latency(ns: float) -> str:
    """A latency as KernelIndex shows it, in the first unit that makes it less than a thousand.

    Microseconds with one digit after the point, milliseconds with two, as the pages that are known show them.
    """
    for unit, size, digits in _UNITS:
        shown = fixed(ns / size, digits)
        if Decimal(shown) < 1000:
            return f"{shown} {unit}"
    return f"{fixed(ns / 1e9, 2)} s"


def fixed(number: float, digits: int) -> str:
    """A number with so many digits after the point, halves up."""
    return str(Decimal(number).quantize(Decimal(1).scaleb(-digits), context=_TO_FIXED))


def day(moment: datetime) -> str:
    """The day of a time in UTC, as 2026-08-24."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d")


def axes(text: str) -> str:
    """Axes, which come as JSON, as batch_size=4, seq_len=512."""
    return ", ".join(f"{name}={value}" for name, value in orjson.loads(text).items())


def operation(kernel: str) -> str:
    """A kernel's name as KernelIndex writes it for people: 003_a_with_rope_b is `A with RoPE b`."""
    words = re.sub(r"^\d+_", "", kernel).split("_")
    spelt = " ".join(_SPELLINGS.get(word, word) for word in words)
    return spelt[:1].upper() + spelt[1:]


def manifests_as_shown(run: Row) -> str:
    """The manifests of the run, its protocol and its environment as one JSON text.

    Names are in the order in which KernelIndex's database (PostgreSQL, jsonb) keeps them: shorter first.
    """
    names = {"run": "manifest", "protocol": "protocol_manifest", "environment": "environment_manifest"}
    shown = {name: _shorter_names_first(orjson.loads(run[column])) for name, column in names.items()}
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()


def _primary_measurement(run: Row, fact: Facts) -> Iterator[Line]:
    yield Line("", f"{_measured(run)} {run['primary_statistic']}")
    rank = f"Rank {run['rank']} in its comparison group" if run["rank"] else "Not ranked"
    reasons = f": {', '.join(run['reasons'])}" if run["reasons"] else ""
    observed = f" · observed {fact['observed']}" if fact["observed"] else ""
    yield Line("", f"{rank}{reasons} · {run['profile']} comparison{observed}")
    if run["head_run_digest"]:
        yield Line("Compare with #1 →", _beside_head(run))
    native = [
        f"SOL {fixed(run['sol_score'], 4)}" if run["sol_score"] is not None else None,
        f"{fixed(run['avg_speedup'], 2)}× reference" if run["avg_speedup"] is not None else None,
        f"{fact['cases']} cases faster" if fact["cases"] else None,
    ]
    if any(native):
        yield Line("", " · ".join(filter(None, native)))
    if run["sol_score"] is not None:
        yield Line("", f"SOL: {SOL_SCORE}.")


def _measured(run: Row) -> str:
    return "not published" if run["primary_value"] is None else latency(run["primary_value"])


def _beside_head(run: Row) -> str:
    if run["head_run_digest"] == run["run_digest"]:
        return "this run is #1"
    head = f"{latency(run['head_value'])}, submission {run['head_external_id']}, {run['head_project']}"
    if run["primary_value"] is None or not run["head_value"]:
        return head
    return f"{fixed(run['primary_value'] / run['head_value'], 2)}× its latency ({head})"


def _measurements(run: Row) -> Iterator[Line]:
    yield Line(f"{run['primary_metric']} · {run['primary_statistic']}", _measured(run))
    if run["least_value"] is not None:
        bounds = f"{run['least_value']:g} to {run['most_value']:g} {run['primary_unit']}"
        yield Line("before rounding", bounds)
    for case in run["cases"]:
        measured = [
            latency(case["latency_ms"] * 1e6),
            f"{fixed(case['speedup'], 2)}× reference" if case["speedup"] is not None else None,
            f"SOL {fixed(case['sol_score'], 4)}" if case["sol_score"] is not None else None,
        ]
        yield Line(f"case {case['workload']}", " · ".join(filter(None, measured)))


def _kernel(run: Row) -> Iterator[Line]:
    """What the leaderboard says of the kernel; KernelIndex's page has no such part."""
    if run["title"] not in (None, run["kernel"]):
        yield Line("title", _in_one_line(run["title"]))
    yield Line("family", run["family"])
    yield Line("tags", ", ".join(run["tags"]) or "none")


def _speed_of_light(run: Row) -> Iterator[Line]:
    """How far the run is from its bound, which KernelIndex's page does not show."""
    if run["sol_bound_ms"] is not None:
        yield Line("bound", f"{latency(run['sol_bound_ms'] * 1e6)}, a geometric mean over the workloads")
    if run["ratio_to_bound"] is not None:
        yield Line("times the bound", f"{fixed(run['ratio_to_bound'], 2)}×")
    if run["baseline_ms"] is not None:
        yield Line("scoring baseline", f"{latency(run['baseline_ms'] * 1e6)}, a geometric mean too")
    if run["share_of_gap_closed"] is not None:
        share = fixed(run["share_of_gap_closed"] * 100, 1)
        yield Line("gap closed", f"{share}% of the way from the baseline to the bound")


def _attestations(run: Row) -> Iterator[Line]:
    for attestation in run["attestations"]:
        said = [
            _CONFIRMS[attestation["confirms"]],
            latency(attestation["latency_ms"] * 1e6) if attestation["latency_ms"] is not None else None,
            attestation["text"] and _in_one_line(attestation["text"]),
            attestation["link"],
        ]
        kind = attestation["kind"].replace("_", " ")
        label = f"{kind} · {attestation['who']} · {day(attestation['attested_at'])}"
        yield Line(label, " · ".join(filter(None, said)))
    if not run["attestations"]:
        yield Line("", "No attestations yet.")
    yield Line(
        "",
        "Community attestations. They never change the evidence level; "
        "only a KernelIndex-controlled rerun does.",
    )


def _ranking_and_evidence(run: Row) -> Iterator[Line]:
    """What KernelIndex's page does not show: by which policy, how sure, and what people decided."""
    by = f" · {run['policy']}" if run["policy"] else ""
    yield Line("ranked", f"{run['eligible_count']} of {run['run_count']} runs in the group{by}")
    if run["source_rank"] is not None:
        yield Line("source rank", f"{run['source_rank']}, by SOL score, each user's best")
    reruns = run["controlled_reruns"]
    confirmed = f" · {run['confirming_reruns']} of {reruns} controlled reruns bear it out" if reruns else ""
    yield Line("evidence level", run["evidence_level"] + confirmed)
    for record in run["records"]:
        taken = day(record["taken_at"]) if record["taken_at"] else "at an unknown time"
        to = f" to {record['lost_to']}" if record["lost_to"] else ""
        lost = f"lost {day(record['lost_at'])}{to}" if record["lost_at"] else "stands"
        yield Line("record", f"taken {taken} ({record['cause']}) · {lost}")
    for flag in run["flags"]:
        observed, bound = (latency(flag[name] * 1e6) for name in ("observed_ms", "bound_ms"))
        yield Line("flag", f"{flag['flag']} · {observed}, bound {bound}")
    for review in run["reviews"]:
        since = f"since {day(review['since'])}" if review["since"] else "from the first"
        until = f" until {day(review['until'])}" if review["until"] else ""
        yield Line("review", f"{review['reason']} {since}{until}")
    for decision in run["decisions"]:
        by = f" by submission {decision['by_external_id']}" if decision["by_external_id"] else ""
        decided = f"{decision['decision']}{by} · {day(decision['decided_at'])} · {decision['who']}"
        yield Line("decision", f"{decided} · {_in_one_line(decision['why'])} · {decision['link']}")
    if not (run["flags"] or run["reviews"] or run["decisions"]):
        yield Line("flags and decisions", "none")


def _citation(run: Row, fact: Facts, accessed: date) -> str:
    """One paragraph to copy: what was measured, by whom, our digest of it, the page, the date of access."""
    observed = f", observed {fact['observed']}" if fact["observed"] else ""
    return (
        f"{run['project']}, {run['revision']}: {run['kernel']}, {fact['workload']} {_measured(run)}, "
        f"{fact['GPU']}, {fact['stack']}{observed}. KernelIndex {run['run_digest']}. "
        f"{fact['source']}, {run['page_locator']} ({run['page_digest']}), fetched {day(run['fetched_at'])}. "
        f"Accessed {accessed.isoformat()}."
    )


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _labelled(fact: Facts, labels: Mapping[str, str]) -> list[Line]:
    known = [(label, fact[name]) for label, name in labels.items()]
    return [Line(label, value) for label, value in known if value is not None]


def _shorter_names_first(value: Any) -> Any:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
        return {name: _shorter_names_first(value[name]) for name in names}
    if isinstance(value, list):
        return [_shorter_names_first(item) for item in value]
    return value
