"""KernelIndex's run pages: reading them, and whether what we hold agrees, fact by fact."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from assets.leaderboard.inbox import take_in
from assets.leaderboard.records import Unreadable
from assets.leaderboard.run_page import MANIFESTS, RunPage, is_run_page, read_run_page
from assets.leaderboard.saved_text import read_saved_text
from assets.rankings import run_pages
from assets.rankings.run_pages import COMPARED, Check, check_run_pages, verify
from assets.rankings.tables import opened
from pipelines.saved_pages import verdict_of, verify_files
from tests.inbox.pages import SEEDS, saved, seed_facts, seed_html, seed_manifests, seed_text
from warehouse.home import Home

Written = Callable[[str], str]
seeds = pytest.mark.parametrize("submission", SEEDS)


@pytest.fixture(scope="module")
def held(sample_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """What we hold of the sample."""
    with opened(sample_home, COMPARED) as tables:
        yield tables


def read(text: str | bytes) -> RunPage:
    saved = read_saved_text(text if isinstance(text, bytes) else text.encode())
    assert is_run_page(saved)
    return read_run_page(saved)


def refused(text: str | bytes) -> str:
    with pytest.raises(Unreadable) as problem:
        read(text)
    return str(problem.value)


def differing(held: duckdb.DuckDBPyConnection, page: RunPage) -> dict[str, Check]:
    return {check.field: check for check in verify(held, page).checks if check.verdict == "differs"}


def found_in(held: duckdb.DuckDBPyConnection, text: str) -> dict[str, str]:
    """What is wrong with a page: the facts that differ, or why it can't be read."""
    try:
        return {field: check.verdict for field, check in differing(held, read(text)).items()}
    except Unreadable as problem:
        return {"unreadable": str(problem)}


@seeds
@pytest.mark.parametrize("written", [seed_text, seed_html])
def test_a_seed_agrees_with_the_sample(
    held: duckdb.DuckDBPyConnection, submission: str, written: Written
) -> None:
    verification = verify(held, read(written(submission)))
    assert verification.agrees
    checks = {check.field: check for check in verification.checks}
    assert {field for field, check in checks.items() if check.verdict != "agrees"} == {"rank"}
    assert checks["rank"].verdict == "explained"
    rank = seed_facts()[submission]["rank"]
    assert re.search(rf"known here: \d+; to KernelIndex: at least {rank}$", checks["rank"].note or "")
    assert checks.keys() >= {
        "run digest", "comparison key", "run digest recomputed", "protocol digest recomputed",
        "environment digest recomputed", "comparison key recomputed", "workload digest",
        "implementation digest", "latency", "measured latency", "score", "speedup", "cases", "stack", "GPU",
        "observed", "revision", "project", "implementation", "source", "external id", "workload", "status",
        "comparator", "correctness description", "timer", "statistic", "correctness reference",
        "comparability family", "profile", "operation",
    }  # fmt: skip


@seeds
def test_a_seed_is_the_page_that_kernelindex_shows(archive: Path, submission: str) -> None:
    published = [path.read_text("utf-8") for path in (archive.parent / "seeds").glob("*.txt")]
    assert seed_text(submission) in published


@seeds
def test_a_seed_says_the_same_as_html(submission: str) -> None:
    text, markup = read(seed_text(submission)), read(seed_html(submission))
    assert text.manifests == markup.manifests == json.loads(seed_manifests(submission))
    spaced = {name: value.replace(" ", "") for name, value in markup.facts.items()}
    assert spaced == {name: value.replace(" ", "") for name, value in text.facts.items()}


@seeds
def test_any_digit_changed_is_found(held: duckdb.DuckDBPyConnection, submission: str) -> None:
    """But those of what we can't know: KernelIndex's own id, its rank, and when it published the page."""
    whole = seed_text(submission)
    unknowable = [
        found.span() for found in re.finditer(r"^Run \w+|^Rank \d+|#1|^Published [\d-]+", whole, re.MULTILINE)
    ]
    digits = [
        at.start()
        for at in re.finditer(r"\d", whole)
        if not any(start <= at.start() < end for start, end in unknowable)
    ]
    for at in digits[:: len(digits) // 40]:
        changed = whole[:at] + str((int(whole[at]) + 1) % 10) + whole[at + 1 :]
        assert found_in(held, changed), whole[at - 30 : at + 10]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("255.4µsmean", "255.5µsmean", "latency"),
        ("mean255.4 µs", "mean255.3 µs", "measured latency"),
        ("mean255.4 µs", "mean255.4.4 µs", "measured latency"),
        ("mean255.4 µs", "mean255.4 years", "measured latency"),
        ("mean255.4 µs", "mean٢55.4 µs", "measured latency"),
        ("SOL 0.6974", "SOL 0.6975", "score"),
        ("2.30×", "2.31×", "speedup"),
        ("16/16", "15/16", "cases"),
        ("revisionsubmission-3268", "revisionsubmission-3269", "revision"),
        ("submission/3268", "submission/3269", "external id"),
        ("projectdoubleAI", "projectdoubleAl", "project"),
        ("suite of 16", "suite of 17", "workload"),
        ("664cd4589a4c0d47", "664cd4589a4c0d48", "comparison key"),
        ("1b9cb94ec711c4943cd8d77", "1b9cb94ec711c4943cd8d78", "run digest"),
        ("stack v1.0\n", "stack v1.1\n", "stack"),
        ("(sm_100)", "(sm_90)", "GPU"),
        ("observed 2026-05-20", "observed 2026-05-21", "observed"),
        ('"mean": 255422', '"mean": 255423', "run.spec.timing.latencyNs.mean"),
        ('"2026-05-20T22:22:23.696Z"', '"2026-05-20T22:22:23.697Z"', "run.spec.observedAt"),
        ('"fast_1_count": 16', '"fast_1_count": true', "run.spec.sourceNative.metrics.fast_1_count"),
        ('"B200-ext-prod-1877"', '"B200-ext-prod-1878"', "run.metadata.labels.worker"),
        ('"timer": "harness_reported"', '"timer": "wall"', "protocol.spec.measurement.timer"),
        ('"sm_100"', '"sm_90"', "environment.spec.hardware.architecture"),
        ('"status": "passed",', "", "run.spec.status"),
        ("All results for Audio", "All results for Video", "operation"),
    ],
)
def test_what_differs_is_named(held: duckdb.DuckDBPyConnection, old: str, new: str, field: str) -> None:
    whole = seed_text("3268")
    assert old in whole
    assert field in differing(held, read(whole.replace(old, new)))


def test_a_manifest_that_is_not_the_one_it_is_named_by_is_found_without_any_warehouse(
    held: duckdb.DuckDBPyConnection,
) -> None:
    changed = read(seed_text("165").replace('"harness_reported"', '"wall_clock"'))
    found = differing(held, changed)
    assert "protocol digest of the page's manifest" in found
    assert "run digest of the page's manifest" not in found


def test_a_run_that_we_do_not_have_differs_and_says_what_to_do(held: duckdb.DuckDBPyConnection) -> None:
    text = (
        seed_text("165")
        .replace("5195388fd7c6a80d3089edc", "0" * 23)
        .replace("submission/165", "submission/9")
    )
    found = differing(held, read(text))
    assert "ingest its kernel" in (found["run digest"].note or "")
    assert found["run digest"].our_value is None


def page_of(held: duckdb.DuckDBPyConnection, run_digest: str, **facts: str) -> RunPage:
    """A page of any run that we hold, as KernelIndex would show it."""
    row = held.execute(
        "select runs.manifest, protocols.manifest, environments.manifest, comparison_key, external_id, "
        "primary_value from runs join protocols using (protocol_digest) join environments "
        "using (environment_digest) where run_digest = $1",
        [run_digest],
    ).fetchone()
    assert row is not None
    *manifests, comparison_key, external_id, mean_ns = row
    shown = {
        "run digest": run_digest[:30],
        "comparison key": comparison_key[:30],
        "latency": f"{mean_ns} ns",
        "revision": f"submission-{external_id}",
        "external id": f"submission/{external_id}",
        "comparator": "sol_execbench_eval",
        "correctness description": "Correctness must pass on every case in the SOL evaluation stack.",
    }
    return RunPage(shown | facts, dict(zip(MANIFESTS, map(json.loads, manifests), strict=True)))


@pytest.fixture(scope="module")
def group(held: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """The runs of the sample's largest group: digest and day of each, in order of rank."""
    (rows,) = held.execute("""
        select list((run_digest, strftime(observed_at at time zone 'UTC', '%Y-%m-%d')) order by rank)
        from rankings join runs using (run_digest, comparison_key)
        group by comparison_key
        having count(distinct rank) = count(*)
        order by count(*) desc, comparison_key
        limit 1
    """).fetchall()
    runs: list[tuple[str, str]] = rows[0]
    assert len(runs) >= 3
    return runs


def rank_of(held: duckdb.DuckDBPyConnection, run_digest: str, rank: int, published: str) -> Check:
    verification = verify(held, page_of(held, run_digest, rank=str(rank), published=published))
    assert [check.field for check in verification.checks if check.verdict == "differs"] in ([], ["rank"])
    return next(check for check in verification.checks if check.field == "rank")


def test_the_same_rank_agrees(held: duckdb.DuckDBPyConnection, group: list[tuple[str, str]]) -> None:
    for rank, (run_digest, _) in enumerate(group, start=1):
        assert rank_of(held, run_digest, rank, "2026-08-24").verdict == "agrees"


def test_a_better_rank_here_is_explained_where_our_page_set_is_older_or_smaller(
    held: duckdb.DuckDBPyConnection, group: list[tuple[str, str]]
) -> None:
    older = rank_of(held, group[0][0], 2, "2026-08-24")
    assert older.verdict == "explained"
    assert "our page set is older: its page of this run is of 2026-08-16, theirs of 2026-08-24" in (
        older.note or ""
    )
    smaller = rank_of(held, group[0][0], 99, "2026-08-01")
    assert smaller.verdict == "explained"
    assert f"smaller; runs of its group known here: {len(group)}; to KernelIndex: at least 99" in (
        smaller.note or ""
    )
    assert rank_of(held, group[0][0], 2, "2026-08-10").verdict == "differs"


def test_a_worse_rank_here_is_explained_only_by_what_came_after_the_page(
    held: duckdb.DuckDBPyConnection, group: list[tuple[str, str]]
) -> None:
    last = len(group)
    before_all = "2026-01-01"
    explained = rank_of(held, group[-1][0], 1, before_all)
    assert explained.verdict == "explained"
    assert f"{last - 1} of the {last - 1} values ahead of it here came after {before_all}" in (
        explained.note or ""
    )
    assert rank_of(held, group[-1][0], 1, "2026-08-24").verdict == "differs"
    assert rank_of(held, group[-1][0], 1, "no day").verdict == "differs"


@pytest.mark.parametrize("written", [seed_text, seed_html])
def test_sections_may_come_in_another_order(held: duckdb.DuckDBPyConnection, written: Written) -> None:
    whole = written("3268")
    mark = "<h2>" if "<h2>" in whole else "\n\n"
    sections = ("Identity", "Workload", "Measurements", "Protocol", "Environment")
    starts = [whole.index(f"{mark}{name}") for name in sections] + [
        whole.index(f"{mark}Artifacts") if mark == "\n\n" else whole.index("<h2>Canonical")
    ]
    parts = [whole[start:end] for start, end in pairwise(starts)]
    # What stands between the first sections is the correctness; it goes with the identity.
    turned = whole[: starts[0]] + "".join(reversed(parts)) + whole[starts[-1] :]
    assert verify(held, read(turned)).agrees


def test_a_page_that_was_cut_off_is_refused_in_words() -> None:
    for whole in (seed_text("165"), seed_html("165")):
        for share in (0.3, 0.5, 0.7, 0.9):
            assert re.search(
                "cut off|embeds no|shows no|no whole manifest", refused(whole[: int(len(whole) * share)])
            )


def test_a_translated_page_says_what_it_lacks() -> None:
    text = seed_text("165").replace("comparison key", "Vergleichsschlüssel").replace("revision", "Fassung")
    assert "no comparison key and no revision" in refused(text)


def test_a_page_that_says_two_things_is_refused() -> None:
    text = seed_text("165").replace("Identity\n", "Identity\n\nprojectsomebody else\n")
    assert "two things of its project" in refused(text)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"kind": "BenchmarkRun",', '"kind": "BenchmarkRun", "kind": "BenchmarkRun",', "names a field twice"),
        ('"mean": 1093964', '"mean": NaN', "is no number"),
        ('"mean": 1093964', '"mean": ' + "9" * 5000, "is no JSON"),
        ('"mean": 1093964', '"mean": ' + "[" * 100_000, "nested too deep"),
        ('"environment": {', '"surroundings": {', "no whole manifest of the environment"),
        ('"run": {', '"run": [], "other": {', "no whole manifest of the run"),
    ],
)
def test_a_manifest_that_is_none_is_refused_in_words(old: str, new: str, why: str) -> None:
    whole = seed_text("165")
    assert old in whole
    assert why in refused(whole.replace(old, new, 1))


@pytest.mark.parametrize(
    "new",
    [
        '"mean": 1e400',
        '"mean": 9007199254740993',
        '"mean": "\\ud800"',
        '"mean": null',
        '"mean": [[1]]',
        '"mean": -0.0',
    ],
)
def test_a_manifest_that_has_no_digest_or_another_does_no_harm(
    held: duckdb.DuckDBPyConnection, new: str
) -> None:
    found = found_in(held, seed_text("165").replace('"mean": 1093964', new))
    assert "run digest of the page's manifest" in found or "canonical JSON" in found["unreadable"]


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "Rank 1 in its comparison group",
        "sha256:000000",
        "a' or 1=1 --",
        "[bold]x",
    ],
)
def test_a_hostile_name_is_a_name(held: duckdb.DuckDBPyConnection, name: str) -> None:
    text = (
        seed_text("165")
        .replace("implementationAKO", f"implementation{name}")
        .replace("projectAKO", f"project{name}")
    )
    found = differing(held, read(text))
    assert found.keys() == {"implementation", "project"}
    assert found["project"].page_value == name


def test_a_fact_that_a_page_does_not_show_is_not_compared(held: duckdb.DuckDBPyConnection) -> None:
    page = read(seed_text("165"))
    less = replace(
        page, facts={name: value for name, value in page.facts.items() if name not in ("score", "rank")}
    )
    verification = verify(held, less)
    assert verification.agrees
    assert {"score", "rank"}.isdisjoint(check.field for check in verification.checks)


def test_a_page_of_another_kind_is_no_run_page() -> None:
    for text in ("", "Run 1 · KernelIndex", "Identity", seed_text("165").replace("Run 01a0352a", "Walk")):
        assert not is_run_page(read_saved_text(text.encode()))


def test_whatever_a_comparison_raises_costs_its_page_alone(
    held: duckdb.DuckDBPyConnection, home: Home, sample_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> Check:
        raise ZeroDivisionError("what stands on the page")

    with_rank = saved(home, seed_text("165"), "with rank.txt")
    without = saved(home, re.sub("Rank [0-9]+ in", "A place in", seed_text("165")), "without.txt")
    monkeypatch.setattr(run_pages, "_rank", fails)
    said = verify_files(held, [with_rank, without])
    assert [verdict_of(page) for page in said] == ["unreadable", "agrees"]
    fault = "the reader failed (ZeroDivisionError in test_run_pages.py, line "
    assert str(said[0].problem).startswith(fault)

    shutil.copytree(sample_home.directory / "tables", home.directory / "tables")
    for path in (with_rank, without):
        take_in(home, path)
    by_page: dict[str, set[str]] = {}
    for row in check_run_pages(home).to_pylist():
        by_page.setdefault(row["page_digest"], set()).add(row["verdict"])
    assert sorted(map(sorted, by_page.values())) == [["agrees"], ["differs"]]


def test_a_name_is_the_same_with_or_without_what_nobody_sees(held: duckdb.DuckDBPyConnection) -> None:
    text = seed_text("165").replace("projectAKO", "proj\u00adect\u2066A\u200bKO\u2069")
    assert differing(held, read(text)) == {}
