"""KernelIndex's run pages as witnesses: fact by fact, whether what we hold agrees with what they show.

How a page is read belongs in `assets.leaderboard.run_page`, the rules of digests in `assets.manifests`. This
stands in the last room before the warehouse, since a page also shows a rank.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal, NamedTuple

import duckdb
import orjson
import pyarrow as pa

from assets.leaderboard.inbox import SavedPage, fault, saved_pages
from assets.leaderboard.records import Row, Unreadable
from assets.leaderboard.run_page import LATENCY, MANIFESTS, RunPage, read_run_page
from assets.leaderboard.saved_text import read_saved_text, visible
from assets.leaderboard.snapshots import SnapshotError, Snapshots
from assets.manifests.identity import NotCanonical, key_of
from assets.manifests.normalise import METRIC_KEY
from assets.rankings.tables import opened
from warehouse import rows_of
from warehouse.dossier import facts
from warehouse.home import Home
from warehouse.parquet import table_of
from warehouse.tables import (
    COMPARISON_GROUPS,
    ENVIRONMENTS,
    EXCLUSIONS,
    IMPLEMENTATIONS,
    OPERATIONS,
    PAGES,
    PROJECTS,
    PROTOCOLS,
    RANKINGS,
    RUN_PAGE_CHECKS,
    RUNS,
    WORKLOADS,
)

# What a run page is compared with.
COMPARED = (
    RUNS,
    OPERATIONS,
    WORKLOADS,
    PROJECTS,
    IMPLEMENTATIONS,
    PROTOCOLS,
    ENVIRONMENTS,
    COMPARISON_GROUPS,
    RANKINGS,
    EXCLUSIONS,
    PAGES,
)

_OURS = """
select
    runs.*,
    operations.name as kernel,
    workloads.kind as workload_kind,
    workloads.case_count,
    workloads.external_id as case_id,
    workloads.axes as case_axes,
    workloads.manifest as workload_manifest,
    projects.name as project,
    implementations.revision,
    protocols.manifest as protocol_manifest,
    environments.manifest as environment_manifest,
    comparison_groups.profile,
    comparison_groups.run_count,
    rankings.rank,
    (select list(reason order by reason) from exclusions where exclusions.run_digest = runs.run_digest)
        as reasons,
    (select max(fetched_at) from pages where pages.page_digest = runs.page_digest) as fetched_at
from runs
join operations using (operation_digest)
join workloads using (workload_digest)
join implementations using (implementation_digest)
join projects using (project_digest)
join protocols using (protocol_digest)
join environments using (environment_digest)
join comparison_groups using (comparison_key)
left join rankings using (comparison_key, run_digest)
where starts_with(runs.run_digest, $1) or runs.external_id = $2
order by starts_with(runs.run_digest, $1) desc
limit 1
"""
# Of the ranked runs of a group that were observed before a moment: how many values are below a run's.
_AHEAD = """
select count(distinct primary_value)
from runs
semi join rankings using (comparison_key, run_digest)
where comparison_key = $1 and primary_value < $2 and observed_at < $3
"""

_NS = {"ns": 1, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

Verdict = Literal["agrees", "differs", "explained"]


class Check(NamedTuple):
    """One fact of a page: what it shows, what we hold in the same form, and what becomes of the two."""

    field: str
    page_value: str
    our_value: str | None
    verdict: Verdict
    note: str | None = None


@dataclass(frozen=True)
class Verification:
    """All facts of a page that were compared; `run_digest` is our run, if there is one."""

    run_digest: str | None
    checks: list[Check]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs but what is explained."""
        return all(check.verdict != "differs" for check in self.checks)


def check_run_pages(home: Home) -> pa.Table:
    """Verify all run pages in the inbox against the tables of a home, as rows of RUN_PAGE_CHECKS."""
    pages = [
        page for page in saved_pages(home) if page.details["kind"] == "run" and not page.details["problem"]
    ]
    with opened(home, COMPARED) as tables:
        return table_of([row for page in pages for row in _rows(home, tables, page)], RUN_PAGE_CHECKS.schema)


def _rows(home: Home, tables: duckdb.DuckDBPyConnection, page: SavedPage) -> Iterator[Row]:
    try:
        text = read_saved_text(Snapshots(home.snapshots).get(page.page_digest))
        verification = verify(tables, read_run_page(text))
    except (Unreadable, SnapshotError) as problem:
        verification = _not_compared(str(problem))
    except duckdb.IOException:
        raise  # A table is damaged, not the page.
    except Exception as error:  # Whatever it is, it costs this page, and no other.
        verification = _not_compared(fault(error))
    for check in verification.checks:
        yield {
            "page_digest": page.page_digest,
            "run_digest": verification.run_digest,
            **check._asdict(),
        }


def _not_compared(problem: str) -> Verification:
    return Verification(None, [Check("page", "", None, "differs", problem)])


def verify(tables: duckdb.DuckDBPyConnection, page: RunPage) -> Verification:
    """Compare a run page with what we hold, and its manifests with themselves.

    The connection has the relations of COMPARED. Raises Unreadable where a manifest has no canonical JSON.
    """
    recomputed = {name: _digest_of(page.manifests[name]) for name in MANIFESTS}
    ours = _our_run(tables, page)
    checks = list(_own_digests(page, recomputed))
    if ours is None:
        known = tables.execute("select count(*) from runs").fetchall()[0][0]
        note = f"none of our {known} runs has this digest or this id: ingest its kernel first"
        checks.append(Check("run digest", page.facts["run digest"], None, "differs", note))
        return Verification(None, checks)
    checks += _digests(page, recomputed, ours)
    checks += _shown(page, ours)
    checks += _manifests(page, ours)
    if "rank" in page.facts:
        checks.append(_rank(tables, page, ours))
    return Verification(ours["run_digest"], checks)


def _our_run(tables: duckdb.DuckDBPyConnection, page: RunPage) -> Row | None:
    external_id = page.facts["external id"].removeprefix("submission/")
    rows = rows_of(tables.execute(_OURS, [page.facts["run digest"], external_id]))
    return rows[0] if rows else None


def _digest_of(manifest: Mapping[str, Any]) -> str:
    """A manifest's digest, of its own apiVersion, kind and spec."""
    try:
        return key_of({name: manifest[name] for name in ("apiVersion", "kind", "spec")})
    except (NotCanonical, UnicodeError) as problem:
        raise Unreadable(f"one of its manifests {problem}") from problem


def _own_digests(page: RunPage, recomputed: Mapping[str, str]) -> Iterator[Check]:
    """What the page says of its own manifests: do they have the digests that it names them by?"""
    spec = page.manifests["run"]["spec"]
    spec = spec if isinstance(spec, dict) else {}
    for name, named in (
        ("run", page.facts["run digest"]),
        ("protocol", spec.get("protocolDigest")),
        ("environment", spec.get("environmentDigest")),
    ):
        agrees = isinstance(named, str) and recomputed[name].startswith(named)
        yield Check(
            f"{name} digest of the page's manifest",
            str(named),
            recomputed[name],
            "agrees" if agrees else "differs",
            None if agrees else f"recomputed from the {name} that the page itself embeds",
        )


def _digests(page: RunPage, recomputed: Mapping[str, str], ours: Row) -> Iterator[Check]:
    yield _prefix("run digest", page.facts["run digest"], ours["run_digest"])
    yield _prefix("comparison key", page.facts["comparison key"].rstrip("…."), ours["comparison_key"])
    for name in MANIFESTS:
        yield _equal(f"{name} digest recomputed", recomputed[name], ours[f"{name}_digest"])
    spec = page.manifests["run"]["spec"]
    if isinstance(spec, dict):
        for name in ("workload", "implementation"):
            yield _equal(f"{name} digest", str(spec.get(f"{name}Digest")), ours[f"{name}_digest"])
        correctness = {"comparator": page.facts.get("comparator")}
        if "correctness description" in page.facts:
            correctness["description"] = page.facts["correctness description"]
        # All but the operation, which the page does not name, stands on it.
        key = {
            "v": 1,
            "operation": ours["operation_digest"],
            "workload": str(spec.get("workloadDigest")),
            "protocol": recomputed["protocol"],
            "environment": recomputed["environment"],
            "correctness": key_of({"correctness": correctness}),
            "metric": METRIC_KEY,
        }
        yield _equal("comparison key recomputed", key_of(key), ours["comparison_key"])


def _shown(page: RunPage, ours: Row) -> Iterator[Check]:
    """What the page shows in its own words."""
    for field in ("latency", "measured latency"):
        if field in page.facts:
            yield _latency(field, page.facts[field], ours["primary_value"])
    for field, exact in (("score", ours["sol_score"]), ("speedup", ours["avg_speedup"])):
        if field in page.facts:
            yield _rounded(field, page.facts[field], exact)
    for field, text in facts(ours).items():
        if field in page.facts:
            yield _equal(field, page.facts[field], text and visible(text))
    if "operation" in page.facts:
        yield _operation(page.facts["operation"], ours["kernel"])


def _manifests(page: RunPage, ours: Row) -> Iterator[Check]:
    """The manifests that the page embeds: each field that differs, or one line where none does."""
    held = {
        "run": ours["manifest"],
        "protocol": ours["protocol_manifest"],
        "environment": ours["environment_manifest"],
    }
    for name in MANIFESTS:
        differences = list(_differences(name, page.manifests[name], orjson.loads(held[name])))
        if not differences:
            yield Check(f"{name} manifest", "as embedded", "the same", "agrees")
        for path, theirs, own in differences:
            yield Check(path, _json(theirs) or "(absent)", _json(own), "differs")


_ABSENT = object()


def _differences(path: str, theirs: Any, own: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(theirs, dict) and isinstance(own, dict):
        for name in sorted(theirs.keys() | own.keys()):
            yield from _differences(f"{path}.{name}", theirs.get(name, _ABSENT), own.get(name, _ABSENT))
    elif theirs != own or isinstance(theirs, bool) != isinstance(own, bool):  # Python takes true for 1.
        yield path, theirs, own


def _rank(tables: duckdb.DuckDBPyConnection, page: RunPage, ours: Row) -> Check:
    """The rank, by what each side can have known when the page was published."""
    theirs, own = int(page.facts["rank"]), ours["rank"]
    known = f"runs of its group known here: {ours['run_count']}; to KernelIndex: at least {theirs}"
    check = Check("rank", page.facts["rank"], None if own is None else str(own), "agrees", known)
    if theirs == own:
        return check
    if own is None:
        return check._replace(
            verdict="differs", note=f"here it is excluded: {', '.join(ours['reasons'])}; {known}"
        )
    published = _date(page.facts.get("published"))
    fetched = ours["fetched_at"] and ours["fetched_at"].astimezone(UTC).date()
    if own > theirs and published:
        after = datetime.combine(published, time.max, UTC)
        ahead = tables.execute(_AHEAD, [ours["comparison_key"], ours["primary_value"], after]).fetchall()[0][
            0
        ]
        if ahead < theirs:
            why = f"{own - 1 - ahead} of the {own - 1} values ahead of it here came after {published}"
            return check._replace(verdict="explained", note=f"{why}; {known}")
    if own < theirs:
        if ours["run_count"] < theirs:
            return check._replace(verdict="explained", note=f"our page set is smaller; {known}")
        if not published or not fetched or fetched <= published:
            why = f"our page set is older: its page of this run is of {fetched}, theirs of {published}"
            return check._replace(verdict="explained", note=f"{why}; {known}")
    return check._replace(verdict="differs")


def _prefix(field: str, shown: str, own: str) -> Check:
    """A digest of which the page shows only the first digits."""
    return Check(field, shown, own[: len(shown)], "agrees" if own.startswith(shown) else "differs")


def _equal(field: str, shown: str, own: str | None) -> Check:
    return Check(field, shown, own, "agrees" if shown == own else "differs")


def _latency(field: str, shown: str, mean_ns: int | None) -> Check:
    """A latency that the page rounds for display, in a unit of its choice."""
    found = LATENCY.fullmatch(shown)
    if found is None or mean_ns is None:
        return Check(field, shown, None if mean_ns is None else f"{mean_ns} ns", "differs")
    check = _rounded(field, found[1], Decimal(mean_ns) / _NS[found[2]])
    return check._replace(
        page_value=shown, our_value=f"{check.our_value} {found[2]}", note=f"{mean_ns} ns here"
    )


def _rounded(field: str, shown: str, exact: float | Decimal | None) -> Check:
    """A number as rounded for display: ours, rounded to as many digits, is the same."""
    if exact is None:
        return Check(field, shown, None, "differs", "we have no such number")
    value, exact = Decimal(shown), Decimal(repr(exact)) if isinstance(exact, float) else exact
    unit = Decimal(1).scaleb(-len(shown.partition(".")[2]))
    agrees = abs(value - exact) <= unit / 2
    own = shown if agrees else str(exact.quantize(unit, ROUND_HALF_UP))
    return Check(field, shown, own, "agrees" if agrees else "differs", f"{exact} here")


def _operation(shown: str, kernel_name: str) -> Check:
    """The operation's name, which the page writes for people: 003_a_b as "A b"."""
    own = re.sub(r"^\d+_", "", kernel_name)
    same = re.sub(r"[\W_]", "", shown).lower() == re.sub(r"[\W_]", "", own).lower()
    return Check("operation", shown, kernel_name, "agrees" if same else "differs")


def _date(day: str | None) -> date | None:
    try:
        return date.fromisoformat(day) if day else None
    except ValueError:
        return None


def _json(value: Any) -> str | None:
    if value is _ABSENT:
        return None
    try:
        return json.dumps(value)[:500]
    except RecursionError:
        return "(nested too deep)"
