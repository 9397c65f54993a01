"""What saved submission pages come to: a run on each workload case, and where a page and the API disagree.

A page's rows are matched to the cases of its kernel; each match becomes a run that is published by the page,
not by the leaderboard, and so never meets the suites' runs (DESIGN §4). How pages are read belongs in
`assets.leaderboard`, how runs are made in `normalise`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from math import exp, log

import orjson
from pydantic import ValidationError

from assets.leaderboard.inbox import SavedPage, fault, saved_pages, version_of
from assets.leaderboard.kernel_pages import kernel_listing
from assets.leaderboard.records import Row, in_words
from assets.manifests.identity import NotCanonical
from assets.manifests.kernel_manifests import CODE_VERSION, MANIFEST_TABLES, SOURCE_TABLES
from assets.manifests.normalise import RUN, RunWorkload, Unusable, add_run
from warehouse.home import Home
from warehouse.parquet import rows_of, table_of
from warehouse.parts import Made, PartError, made, part_version, read_part, write_part
from warehouse.submissions import NOT_PUBLIC
from warehouse.tables import (
    DRIFT,
    ENVIRONMENTS,
    IMPLEMENTATIONS,
    PAGE_CASES,
    PAGE_DISAGREEMENTS,
    PAGES,
    PROJECTS,
    PROTOCOLS,
    QUARANTINE,
    RUN_INTERVALS,
    RUNS,
    SAVED_PAGES,
    TABLES,
    Table,
    columns_version,
)

# Tables that only saved pages fill, and those of kernels to which they add rows.
PAGE_TABLES = (SAVED_PAGES, PAGE_CASES, RUN_INTERVALS, PAGE_DISAGREEMENTS)
SHARED_TABLES = (PROJECTS, IMPLEMENTATIONS, PROTOCOLS, ENVIRONMENTS, RUNS, QUARANTINE, DRIFT)
# All tables that are collected from parts.
COLLECTED = (*SOURCE_TABLES, *MANIFEST_TABLES, PAGES, *PAGE_TABLES)

# Stands for how pages are matched and what is kept of them: raise it when that changes.
MATCHER_VERSION = "3"

_NS_PER_MS = 1_000_000
_PASSED = {"AC", "ACCEPTED"}
# The API serves latencies, scores and baselines to six digits after the point, or more.
_API_HALF_DIGIT = 0.5e-6
# What sums of doubles can be off.
_FLOAT_ERROR = 1e-9

Tables = dict[str, list[Row]]


def stages_of(table: Table) -> list[str]:
    """The stages whose parts hold the rows of a table that is collected."""
    if table in PAGE_TABLES:
        return ["cases"]
    others = {
        PAGES: ["listing", "pages"],
        QUARANTINE: ["listing", "pages", "manifests"],
        DRIFT: ["listing", "manifests"],
    }
    return others.get(table, ["manifests"]) + (["cases"] if table in SHARED_TABLES else [])


@dataclass(frozen=True)
class _Case:
    """A workload case of a kernel: what a row of a page can name it by, and each time that it is listed."""

    workload: RunWorkload
    values: Mapping[str, int]
    baselines_ms: list[float | None]


@dataclass(frozen=True)
class _Kernel:
    """What the API says of a kernel, as far as a page of it needs."""

    cases: list[_Case]
    submissions: Mapping[int, Row]


def make_case_runs(home: Home) -> Made:
    """Make runs of all saved pages that count; nothing, where they were made of the same before."""
    pages = saved_pages(home)
    if not pages:
        return Made({}, "", False)
    kernels = _Kernels(home)
    names = {page.details["kernel"] for page in pages}
    made_by = f"matcher {MATCHER_VERSION}, columns {columns_version(PAGE_TABLES)}, {CODE_VERSION}"
    version = ", ".join([made_by, version_of(pages), kernels.version(names)])
    changed = part_version(home.case_runs) != version
    if changed:
        rows = case_rows(pages, kernels)
        tables = {
            table.name: table_of(rows[table.name], table.schema) for table in (*PAGE_TABLES, *SHARED_TABLES)
        }
        write_part(home.case_runs, tables, version)
    return made(home.case_runs, changed)


def page_states(home: Home) -> dict[str, int]:
    """How many saved pages are in each state."""
    states: dict[str, int] = defaultdict(int)
    if home.case_runs.exists():
        for row in rows_of(read_part(home.case_runs, SAVED_PAGES.name)):
            states[row["state"]] += 1
    return dict(sorted(states.items()))


def case_rows(pages: Iterable[SavedPage], kernels: "_Kernels") -> Tables:
    """The rows of all tables that saved pages fill or add to, by table name."""
    tables: Tables = defaultdict(list)
    pages = list(pages)
    superseded = _superseded(pages)
    for page in pages:
        try:
            of_page = _page_rows(page, superseded.get(page.page_digest), kernels)
            for name, rows in of_page.items():
                table_of(rows, TABLES[name].schema)
        except PartError:
            raise  # A kernel is damaged, not the page.
        except Exception as error:  # Whatever it is, it costs this page, and no other.
            of_page = _page_rows(page.unusable(fault(error)), None, kernels)
        for name, rows in of_page.items():
            tables[name] += rows
    return tables


def _page_rows(page: SavedPage, superseded_by: str | None, kernels: "_Kernels") -> Tables:
    """The rows that one page adds."""
    tables: Tables = defaultdict(list)
    reading = _Reading(page, tables)
    if kernels.lists_as_private(page):
        reading.withhold()
    elif superseded_by:
        reading.end("superseded", superseded_by=superseded_by)
    elif page.details["problem"]:
        reading.quarantine("page", page.details["problem"])
        held = page.details["kind"] == "submission" and page.details["is_private"]
        reading.end("private" if held else "quarantined")
    elif page.details["kind"] == "run":
        reading.end("counted")
    else:
        reading.submission(kernels.of(page.details["kernel"], page.details["submission_id"]))
    return tables


def _superseded(pages: Iterable[SavedPage]) -> dict[str, str]:
    """The pages that another one stands for, by digest.

    Of a submission's pages the one counts whose evaluation finished last; of one evaluation's, the one that
    shows most workloads; of those, the one saved last. A file that could not be used counts no more once its
    place holds another page.
    """
    best: dict[int, SavedPage] = {}
    latest: dict[str, SavedPage] = {}
    pages = list(pages)
    for page in pages:
        for file in page.files:
            place = file["resolved_locator"]
            latest[place] = max(latest.get(place, page), page, key=lambda page: _time_at(page, place))
        if not page.details["problem"] and page.details["kind"] == "submission":
            submission_id = page.details["submission_id"]
            best[submission_id] = max(best.get(submission_id, page), page, key=_weight)
    superseded = {}
    for page in pages:
        stands = best.get(page.details["submission_id"]) if not page.details["problem"] else None
        if page.details["problem"]:
            others = {latest[file["resolved_locator"]].page_digest for file in page.files}
            stands = None if page.page_digest in others else latest[page.files[0]["resolved_locator"]]
        if stands and stands.page_digest != page.page_digest:
            superseded[page.page_digest] = stands.page_digest
    return superseded


def _weight(page: SavedPage) -> tuple[float, int, datetime, str]:
    finished_at = page.details["evaluation_finished"]
    return (
        finished_at.timestamp() if finished_at else 0.0,
        len(page.cases),
        page.saved_at,
        page.page_digest,
    )


def _time_at(page: SavedPage, place: str) -> tuple[datetime, str]:
    times = [file["saved_at"] for file in page.files if file["resolved_locator"] == place]
    return max(times), page.page_digest


class _Reading:
    """One saved page being used: what it comes to goes to the tables, under its locator and digest."""

    def __init__(self, page: SavedPage, tables: Tables) -> None:
        self.page = page
        self.tables = tables
        self.details = page.details
        self.case_runs = 0

    def submission(self, kernel: _Kernel | None) -> None:
        """Use a submission page, as far as the API brought its kernel and its submission."""
        if kernel is None:
            self.end("waiting", waits_for="kernel")
            return
        listed = kernel.submissions.get(self.details["submission_id"])
        if problem := self._unusable(listed):
            self.quarantine("page", problem)
            self.end("quarantined")
            return
        for row in self.page.problems:
            self.quarantine(row["item"], row["problem"])
        self._note_drift()
        matched = self._matched(kernel)
        expected = (listed or {}).get("fast_1_total") or sum(len(case.baselines_ms) for case in kernel.cases)
        is_whole = len(matched) == self.details["row_count"] == expected
        if self.details["row_count"] < expected:
            self.quarantine(
                "table",
                f"it shows {self.details['row_count']} of {expected} workloads: had it finished loading? "
                "Means are not compared",
            )
        self._add_runs(matched, listed)
        self._compare_scores(is_whole)
        self._compare_baselines(matched)
        if listed:
            self._compare_with_api(matched, listed, is_whole)
        self.end("counted" if listed else "waiting", waits_for=None if listed else "submission")

    def end(self, state: str, **more: str | None) -> None:
        """Say what became of the page."""
        details = self.details
        self.tables["saved_pages"].append(
            {
                "page_digest": self.page.page_digest,
                "locator": self.page.locator,
                "saved_at": self.page.saved_at,
                "size_bytes": self.page.files[0]["size_bytes"],
                "kind": details["kind"],
                "state": state,
                "is_private": details["is_private"],
                "submission_id": details["submission_id"],
                "kernel_name": details["kernel"],
                "finished_at": details["evaluation_finished"],
                "sol_score": _real(details["sol_score"]),
                "case_runs": self.case_runs,
                **more,
            }
        )

    def withhold(self) -> None:
        """Tell nothing of a page whose submission is not public by the leaderboard's own word."""
        self.details = {**dict.fromkeys(self.details), "kind": self.details["kind"], "is_private": True}
        self.quarantine("page", "the leaderboard lists its submission as not public")
        self.end("private")

    def quarantine(self, item: str, problem: str) -> None:
        """Set an item of the page aside, with the reason in words."""
        self.tables["quarantine"].append(
            {
                "locator": self.page.locator,
                "item": item,
                "problem": problem,
                "page_digest": self.page.page_digest,
                "first_seen_at": self.page.saved_at,
            }
        )

    def _unusable(self, listed: Row | None) -> str | None:
        """Why a page makes no runs at all, in words; None where it does."""
        result = self.details["result"]
        if result.upper() not in _PASSED:
            return f"its result is {result!r}: only a submission that was accepted (AC) makes runs"
        if listed is None:
            user = self.details["user"]
            if not user or "\ufffd" in user:
                return "it names no user that can be read, and the leaderboard has not brought the submission"
            return None
        if listed["outcome"] != RUN:
            return f"the leaderboard's submission {listed['submission_id']} is no run: {listed['outcome']}"
        for what, shown, api in (
            ("device", _gpu(self.details["device"]), _gpu(listed["gpu_type"])),
            ("evaluation stack", self.details["evaluation_stack"], listed["evaluation_stack_version"]),
        ):
            if shown != api:
                return f"its {what} is {shown!r}, and that of the leaderboard's submission is {api!r}"
        return None

    def _note_drift(self) -> None:
        for field in self.page.unknown:
            self.tables["drift"].append(
                {
                    "locator": self.page.locator,
                    "field": field["field"],
                    "change": "appeared",
                    "page_digest": self.page.page_digest,
                    "first_seen_at": self.page.saved_at,
                    "last_seen_at": self.page.saved_at,
                }
            )

    def _matched(self, kernel: _Kernel) -> list[tuple[Row, _Case]]:
        """The page's rows with the case that each names; those that name none, or several, are set aside."""
        by_case: dict[str, list[tuple[Row, _Case]]] = defaultdict(list)
        for row in self.page.cases:
            axes: dict[str, int] = orjson.loads(row["axes"])
            cases = [case for case in kernel.cases if axes.items() <= case.values.items()]
            if len(cases) == 1:
                by_case[cases[0].workload.workload_digest].append((row, cases[0]))
                continue
            many = f"{len(cases)} workloads" if cases else "no workload"
            self._set_aside(row, f"{row['workload'][:200]!r} names {many} of the kernel")
        matched = []
        for pairs in by_case.values():
            listed = len(pairs[0][1].baselines_ms)
            if len(pairs) <= listed:
                matched += pairs
                continue
            for row, _ in pairs:
                problem = (
                    f"{row['workload'][:200]!r} stands {len(pairs)} times, and the kernel lists it {listed}"
                )
                self._set_aside(row, problem)
        return matched

    def _set_aside(self, row: Row, problem: str, workload_digest: str | None = None) -> None:
        self.quarantine(f"row {row['position']}", problem)
        self._add_case(row, workload_digest, None)

    def _add_case(self, row: Row, workload_digest: str | None, run_digest: str | None) -> None:
        self.tables["page_cases"].append(
            {
                "page_digest": self.page.page_digest,
                "position": row["position"],
                "submission_id": self.details["submission_id"],
                "workload": row["workload"],
                **{name: _real(row[name]) for name in ("latency_ms", "baseline_ms", "speedup", "sol_score")},
                "workload_digest": workload_digest,
                "run_digest": run_digest,
            }
        )

    def _add_runs(self, matched: list[tuple[Row, _Case]], listed: Row | None) -> None:
        """A run for each row. Repeats of one case are numbered by what they show, in whatever order."""
        measured = {
            "submission_id": self.details["submission_id"],
            "username": listed["username"] if listed else self.details["user"],
            "gpu_type": listed["gpu_type"] if listed else _gpu(self.details["device"]),
            "evaluation_stack_version": self.details["evaluation_stack"],
            "submitted_at": self.details["submitted_at"],
            "finished_at": self.details["evaluation_finished"],
            "page_digest": self.page.page_digest,
        }
        repeats: dict[str, int] = defaultdict(int)
        for row, case in sorted(matched, key=lambda pair: _shown(pair[0])):
            workload = case.workload
            repeats[workload.workload_digest] += 1
            if (number := repeats[workload.workload_digest]) > 1:
                workload = replace(workload, case_id=f"{workload.case_id}/{number}")
            metrics = {
                "latency_ms": _real(row["latency_ms"]),
                "sol_score": _real(row["sol_score"]),
                "avg_speedup": _real(row["speedup"]),
            }
            try:
                run = add_run(self.tables, workload, measured | metrics)
            except (Unusable, ValidationError, NotCanonical) as problem:
                self._set_aside(row, in_words(problem), workload.workload_digest)
                continue
            low, high = _interval(row["latency_ms"])
            self.tables["run_intervals"].append(
                {
                    "run_digest": run["run_digest"],
                    # The mean is whole nanoseconds, and lies within.
                    "low": float(min(low * _NS_PER_MS, run["primary_value"])),
                    "high": float(max(high * _NS_PER_MS, run["primary_value"])),
                }
            )
            self._add_case(row, workload.workload_digest, run["run_digest"])
            self.case_runs += 1

    def _compare_scores(self, is_whole: bool) -> None:
        """The mean of the scores against the score that the page itself shows above its table."""
        if is_whole and self.details["sol_score"] and (mean := self._mean_score()):
            half_digit = float(_half_digit(self.details["sol_score"]))
            self._disagreement("shown_sol_score", *mean, self.details["sol_score"], half_digit)

    def _compare_with_api(self, matched: list[tuple[Row, _Case]], listed: Row, is_whole: bool) -> None:
        if listed["username"] != self.details["user"]:
            self._disagreement_in_words("user", self.details["user"], listed["username"])
        if not is_whole:
            return
        rows = [row for row, _ in matched]
        if listed["latency_ms"] is not None:
            low, high = (
                exp(
                    sum(log(bounds[end]) for row in rows for bounds in [_interval(row["latency_ms"])])
                    / len(rows)
                )
                for end in (0, 1)
            )
            geomean = exp(sum(log(Decimal(row["latency_ms"])) for row in rows) / len(rows))
            self._disagreement(
                "latency_ms",
                geomean,
                max(high - geomean, geomean - low),
                repr(listed["latency_ms"]),
                _API_HALF_DIGIT,
            )
        if listed["sol_score"] is not None and (mean := self._mean_score()):
            self._disagreement("sol_score", *mean, repr(listed["sol_score"]), _API_HALF_DIGIT)
        if listed["fast_1_count"] is not None and all(row["baseline_ms"] for row in rows):
            faster = [_is_faster(row) for row in rows]
            count = sum(Decimal(row["latency_ms"]) < Decimal(row["baseline_ms"]) for row in rows)
            spread = max(count - faster.count(True), len(rows) - faster.count(False) - count)
            self._disagreement("fast_1_count", count, spread, str(listed["fast_1_count"]), 0)

    def _compare_baselines(self, matched: list[tuple[Row, _Case]]) -> None:
        """What the page shows as baselines against the kernel's, repeats of a case in order of size."""
        shown: dict[str, list[str]] = defaultdict(list)
        cases = {}
        for row, case in matched:
            cases[case.workload.case_id or ""] = case
            shown[case.workload.case_id or ""] += [row["baseline_ms"]] if row["baseline_ms"] else []
        for case_id, case in sorted(cases.items()):
            known = sorted(baseline for baseline in case.baselines_ms if baseline is not None)
            if len(known) != len(shown[case_id]):
                continue  # Not all are shown, or not all are known: which is whose can't be said.
            for number, (text, api) in enumerate(
                zip(sorted(shown[case_id], key=Decimal), known, strict=True), start=1
            ):
                name = f"baseline_ms of case {case_id}" + (f"/{number}" if number > 1 else "")
                self._disagreement(name, float(text), float(_half_digit(text)), repr(api), 0)

    def _mean_score(self) -> tuple[float, float] | None:
        """The mean of the cases' scores and how far rounding can have moved it; None where one is missing."""
        scores = [row["sol_score"] for row in self.page.cases]
        if not scores or None in scores:
            return None
        count = len(scores)
        return float(sum(map(Decimal, scores)) / count), float(sum(map(_half_digit, scores)) / count)

    def _disagreement(
        self, field: str, value: float, spread: float, api_value: str, half_digit: float
    ) -> None:
        """Note a number in which the page and another source differ by more than rounding can explain."""
        difference = value - float(api_value)
        tolerance = spread + half_digit
        if abs(difference) > tolerance + _FLOAT_ERROR * abs(value):
            self._disagreement_in_words(
                field, f"{value:.9g}", api_value, difference=difference, tolerance=tolerance
            )

    def _disagreement_in_words(
        self, field: str, page_value: str | None, api_value: str | None, **numbers: float
    ) -> None:
        self.tables["page_disagreements"].append(
            {
                "submission_id": self.details["submission_id"],
                "field": field,
                "page_value": page_value or "",
                "api_value": api_value or "",
                "page_digest": self.page.page_digest,
                **numbers,
            }
        )


class _Kernels:
    """The kernels that the API brought, each read once where a page names it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._keys: dict[str, list[str]] = defaultdict(list)
        # Of two of one name the one that is still listed comes first.
        for row in sorted(kernel_listing(home), key=lambda row: not row["listed"]):
            if home.part(row["kernel_key"], "manifests").exists():
                self._keys[row["kernel_name"]].append(row["kernel_key"])
        self._read: dict[str, _Kernel | None] = {}

    def version(self, names: Iterable[str | None]) -> str:
        """What these kernels were made of."""
        keys = sorted(key for name in names if name for key in self._keys.get(name, ()))
        return " ".join(f"{key} {part_version(self._home.part(key, 'manifests'))}" for key in keys)

    def of(self, name: str, submission_id: int) -> _Kernel | None:
        """The kernel of this name; of several, the one that lists the submission."""
        kernels = [kernel for key in self._keys.get(name, ()) for kernel in [self._kernel(key)] if kernel]
        return next(
            (kernel for kernel in kernels if submission_id in kernel.submissions),
            kernels[0] if kernels else None,
        )

    def lists_as_private(self, page: SavedPage) -> bool:
        """Whether the leaderboard lists the submission that a page is of as not public."""
        submission_id = page.details["submission_id"]
        kernel = self.of(page.details["kernel"], submission_id) if submission_id else None
        listed = kernel and kernel.submissions.get(submission_id)
        return bool(listed and listed["outcome"] == NOT_PUBLIC)

    def _kernel(self, key: str) -> _Kernel | None:
        if key not in self._read:
            self._read[key] = _kernel(self._home, key)
        return self._read[key]


def _kernel(home: Home, key: str) -> _Kernel | None:
    def rows(table: str) -> list[Row]:
        return rows_of(read_part(home.part(key, "manifests"), table))

    for operation in rows("operations"):
        return _Kernel(
            list(_cases(operation, rows("workloads"), rows("source_workloads"))),
            {row["submission_id"]: row for row in rows("source_submissions")},
        )
    return None


def _cases(operation: Row, workloads: list[Row], source_workloads: list[Row]) -> Iterator[_Case]:
    spec = orjson.loads(operation["manifest"])["spec"]
    constants = {name: axis["value"] for name, axis in spec["axes"].items() if axis["role"] == "constant"}
    dtypes = {(argument.get("tensor") or argument["scalar"])["dtype"] for argument in spec["inputs"]}
    baselines: dict[tuple[tuple[str, int], ...], list[float | None]] = defaultdict(list)
    for row in source_workloads:
        axes = {name.lower(): value for name, value in orjson.loads(row["axes"]).items()}
        baselines[tuple(sorted(axes.items()))].append(row["baseline_latency_ms"])
    cases = {row["workload_digest"]: row for row in workloads if row["kind"] == "case"}
    for digest, row in cases.items():
        axes = orjson.loads(row["axes"])
        workload = RunWorkload(
            operation["name"],
            operation["operation_digest"],
            digest,
            tuple(sorted(dtypes)),
            row["external_id"],
        )
        yield _Case(workload, constants | axes, baselines[tuple(sorted(axes.items()))])


def _gpu(name: str | None) -> str:
    """A GPU as the API names it, whether it is shown as B200, NVIDIA B200 or NVIDIA_B200."""
    return (name or "").replace(" ", "_").removeprefix("NVIDIA_")


def _real(text: str | None) -> float | None:
    return None if text is None else float(text)


def _half_digit(text: str) -> Decimal:
    """Half of the last digit that a number shows: as much as rounding can have moved it."""
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int)
    return Decimal(5).scaleb(exponent - 1)


def _interval(text: str) -> tuple[Decimal, Decimal]:
    value, half = Decimal(text), _half_digit(text)
    return value - half, value + half


def _is_faster(row: Row) -> bool | None:
    """Whether a case is faster than its baseline; None where rounding hides it."""
    low, high = _interval(row["latency_ms"])
    base_low, base_high = _interval(row["baseline_ms"])
    return True if high < base_low else False if low > base_high else None


def _shown(row: Row) -> tuple[Decimal, ...]:
    names = ("latency_ms", "baseline_ms", "speedup", "sol_score")
    return tuple(Decimal(row[name] or 0) for name in names)
