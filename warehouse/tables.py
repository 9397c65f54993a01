"""The warehouse's tables: for each its columns, types, key and what a row is.

Everything that writes or documents a table takes its shape from here, and only from here. How tables
are filled belongs in `assets`; how they are kept, in `parts`, `parquet` and `build`.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from warehouse.dossier import SOL_SCORE

TEXT = pa.string()
INTEGER = pa.int64()
REAL = pa.float64()
FLAG = pa.bool_()
TIME = pa.timestamp("us", tz="UTC")
TEXTS = pa.list_(pa.string())
_SQL_TYPES = {
    TEXT: "varchar",
    INTEGER: "bigint",
    REAL: "double",
    FLAG: "boolean",
    TIME: "timestamptz",
    TEXTS: "varchar[]",
}


@dataclass(frozen=True)
class Column:
    """One column. `json` marks text that holds JSON: DuckDB gets it as its JSON type."""

    name: str
    type: pa.DataType
    comment: str
    required: bool = True
    json: bool = False

    @property
    def sql_type(self) -> str:
        """DuckDB's name of the type."""
        return "json" if self.json else _SQL_TYPES[self.type]


@dataclass(frozen=True, eq=False)
class Table:
    """One table: what a row is, its key, and its columns in order. Each table is there once."""

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, the table's name, grain and column comments with it."""
        return pa.schema(
            [
                pa.field(
                    column.name,
                    column.type,
                    nullable=not column.required,
                    metadata={"comment": column.comment},
                )
                for column in self.columns
            ],
            metadata={"table": self.name, "grain": self.grain},
        )


def _digest(name: str, comment: str, *, required: bool = True) -> Column:
    return Column(name, TEXT, comment, required)


def _manifest(kind: str) -> Column:
    return Column("manifest", TEXT, f"the whole {kind} manifest, canonical JSON", json=True)


def _json(name: str, comment: str) -> Column:
    return Column(name, TEXT, comment, required=False, json=True)


def _optional(name: str, type_: pa.DataType, comment: str) -> Column:
    return Column(name, type_, comment, required=False)


_PAGE = _digest("page_digest", "the page that says so")
_POLICY = Column("policy", TEXT, "name and version of the ranking policy, as ranking-v1")
_OPERATION = _digest("operation_digest", "digest of the OperationSpec")
_WORKLOAD = _digest("workload_digest", "digest of the WorkloadSuite or WorkloadCase")
_IMPLEMENTATION = _digest("implementation_digest", "digest of the ImplementationRevision")
_PROJECT = _digest("project_digest", "digest of the SoftwareProject")
_PROTOCOL = _digest("protocol_digest", "digest of the BenchmarkProtocol")
_ENVIRONMENT = _digest("environment_digest", "digest of the ExecutionEnvironment")
_RUN = _digest("run_digest", "digest of the BenchmarkRun")
_CORRECTNESS = _digest("correctness_key", "digest of the correctness that a run was held to")
_COMPARISON = _digest("comparison_key", "digest of all that two comparable runs have in common")
_KERNEL_ID = Column("kernel_id", INTEGER, "the leaderboard's id of the kernel")
_SUBMISSION_ID = Column("submission_id", INTEGER, "the leaderboard's id of the submission")

OPERATIONS = Table(
    "operations",
    "one row per operation: what a kernel computes",
    ("operation_digest",),
    (
        _OPERATION,
        Column("name", TEXT, "the kernel's name on the leaderboard"),
        Column("slug", TEXT, "the name in kebab case"),
        Column("family", TEXT, "kind of operation, as attention or moe"),
        Column("tags", TEXTS, "the source's tags, in its order"),
        _KERNEL_ID,
        Column("source_kernel_id", INTEGER, "the same as kernel_id"),
        _manifest("OperationSpec"),
    ),
)

WORKLOADS = Table(
    "workloads",
    "one row per workload: a case (one set of axes) or a suite (all of a kernel's cases)",
    ("workload_digest",),
    (
        _WORKLOAD,
        _OPERATION,
        Column("kind", TEXT, "case or suite"),
        _optional("external_id", TEXT, "a case's id at the source; suites have none"),
        Column("axes", TEXT, "a case's axes; a suite has none", required=False, json=True),
        Column("case_count", INTEGER, "cases, repeats counted: 1 for a case"),
        _manifest("WorkloadCase or WorkloadSuite"),
    ),
)

PROJECTS = Table(
    "projects",
    "one row per project: an account of the leaderboard",
    ("project_digest",),
    (
        _PROJECT,
        Column("name", TEXT, "the account's name, as the source writes it"),
        Column("slug", TEXT, "the name in kebab case; two projects can have the same"),
        _manifest("SoftwareProject"),
    ),
)

IMPLEMENTATIONS = Table(
    "implementations",
    "one row per implementation: what one submission submitted",
    ("implementation_digest",),
    (
        _IMPLEMENTATION,
        _OPERATION,
        _PROJECT,
        Column("revision", TEXT, "submission-<id>"),
        _manifest("ImplementationRevision"),
    ),
)

PROTOCOLS = Table(
    "protocols",
    "one row per protocol: how runs are measured",
    ("protocol_digest",),
    (
        _PROTOCOL,
        Column("harness", TEXT, "what measures"),
        Column("version", TEXT, "its version: the evaluation stack's"),
        _manifest("BenchmarkProtocol"),
    ),
)

ENVIRONMENTS = Table(
    "environments",
    "one row per environment: the hardware and software of runs",
    ("environment_digest",),
    (
        _ENVIRONMENT,
        Column("product", TEXT, "the GPU, as NVIDIA B200"),
        Column("architecture", TEXT, "its architecture, as sm_100"),
        _manifest("ExecutionEnvironment"),
    ),
)

RUNS = Table(
    "runs",
    "one row per run: one submission, measured on one workload",
    ("run_digest",),
    (
        _RUN,
        Column("external_id", TEXT, "the submission's id at the source; of a case's run, submission/case"),
        _SUBMISSION_ID,
        _OPERATION,
        _WORKLOAD,
        _IMPLEMENTATION,
        _PROTOCOL,
        _ENVIRONMENT,
        _CORRECTNESS,
        _COMPARISON,
        Column("status", TEXT, "passed"),
        _optional("observed_at", TIME, "when the source finished it, UTC, milliseconds"),
        Column("primary_metric", TEXT, "what is ranked by: latency"),
        Column("primary_statistic", TEXT, "of which statistic: mean"),
        Column("primary_unit", TEXT, "in which unit: ns"),
        _optional("primary_value", INTEGER, "the value that is ranked, in primary_unit"),
        _optional("sol_score", REAL, f"mean of the workloads' SOL scores: {SOL_SCORE}"),
        _optional("latency_ms", REAL, "geometric mean over the workloads, milliseconds"),
        _optional("avg_speedup", REAL, "over the scoring baseline"),
        _optional("fast_1_count", INTEGER, "workloads faster than the baseline"),
        _optional("fast_1_total", INTEGER, "workloads measured"),
        _optional("worker", TEXT, "the machine that measured"),
        Column("evidence_level", TEXT, "as far as pages go: reported; reruns count in the table evidence"),
        _PAGE,
        _manifest("BenchmarkRun"),
    ),
)

COMPARISON_GROUPS = Table(
    "comparison_groups",
    "one row per comparison group: runs that may be compared with each other",
    ("comparison_key",),
    (
        _COMPARISON,
        _OPERATION,
        _WORKLOAD,
        _PROTOCOL,
        _ENVIRONMENT,
        _CORRECTNESS,
        Column("metric_key", TEXT, "metric, statistic and unit: latency:mean:ns"),
        Column("profile", TEXT, "source-native: one source, its harness; or strict"),
        Column("run_count", INTEGER, "runs in the group"),
        Column("eligible_count", INTEGER, "runs that may be ranked"),
        _optional("head_run_digest", TEXT, "the run shown first, if any is eligible"),
    ),
)

RANKINGS = Table(
    "rankings",
    "one row per ranked run: its place in its comparison group",
    ("comparison_key", "run_digest"),
    (
        _COMPARISON,
        _RUN,
        Column("rank", INTEGER, "dense: 1, 2, 2, 3"),
        Column("tied", FLAG, "whether another run has the same rank"),
        Column("display_order", INTEGER, "1, 2, 3, ...: the order shown; decides nothing"),
        _optional("ratio_to_best", REAL, "primary value over the best one's: 1 or more"),
        _optional("source_rank", INTEGER, "the leaderboard's: by SOL score, each user's best"),
        _POLICY,
    ),
)

EXCLUSIONS = Table(
    "exclusions",
    "one row per run and reason for which it is not ranked",
    ("run_digest", "reason"),
    (_RUN, Column("reason", TEXT, "why the run is not ranked"), _POLICY),
)

RECORD_EVENTS = Table(
    "record_events",
    "one row per change of a group's record: from then on another run holds it",
    ("comparison_key", "event_number"),
    (
        _COMPARISON,
        Column("event_number", INTEGER, "1, 2, 3, ... in the group, in order of time"),
        _digest("run_digest", "the run that holds the record from then on"),
        _digest("previous_run_digest", "who held it until then; null: nobody", required=False),
        _optional("taken_at", TIME, "when the run was observed or, of other causes, decided upon; UTC"),
        Column("cause", TEXT, "new_run, acceptance, retraction, supersession or rejection"),
        _POLICY,
    ),
)

KERNEL_BOUNDS = Table(
    "kernel_bounds",
    "one row per kernel of the leaderboard: what its workloads' bounds and baselines come to",
    ("kernel_id",),
    (
        _KERNEL_ID,
        _optional("least_sol_ms", REAL, "the smallest speed-of-light bound; null: one is missing or a dummy"),
        _optional("sol_geomean_ms", REAL, "geometric mean of the bounds; null: one is missing or a dummy"),
        _optional("least_baseline_ms", REAL, "the smallest scoring baseline; null: one is missing"),
        _optional("baseline_geomean_ms", REAL, "geometric mean of the baselines; null: one is missing"),
    ),
)

FLAGS = Table(
    "flags",
    "one row per run and number of it that is not plausible",
    ("run_digest", "flag"),
    (
        _RUN,
        Column("flag", TEXT, "BELOW_CASE_BOUND, BELOW_SUITE_BOUND or INCONSISTENT_SPEEDUP"),
        Column("observed_ms", REAL, "latency; of INCONSISTENT_SPEEDUP, latency times speedup; milliseconds"),
        Column("bound_ms", REAL, "what it is below, by more than rounding: see kernel_bounds; milliseconds"),
        _POLICY,
    ),
)

DECISIONS = Table(
    "decisions",
    "one row per decision by people, of assets/rankings/decisions.yaml",
    ("external_id", "decision"),
    (
        Column("external_id", TEXT, "the submission that it is about, by its id at the source"),
        _digest("run_digest", "the submission's run; null where it is no run now", required=False),
        Column("decision", TEXT, "retract, supersede, accept or reject"),
        _digest("by_run_digest", "of supersede: the run that takes its place", required=False),
        Column("decided_at", TIME, "from when it counts, UTC"),
        Column("who", TEXT, "who decided"),
        Column("why", TEXT, "the reason, in words"),
        Column("link", TEXT, "what supports it: an address, or the digest of a page"),
    ),
)

REVIEW = Table(
    "review",
    "one row per run and reason for which people, or a flag that waits for them, keep it from being ranked",
    ("run_digest", "reason"),
    (
        _RUN,
        Column("reason", TEXT, "HELD_FOR_REVIEW, RETRACTED, SUPERSEDED or REJECTED"),
        _optional("since", TIME, "from then on, UTC; null: from the first"),
        _optional("until", TIME, "up to then, UTC; null: to this day, and then it is in exclusions too"),
    ),
)

ATTESTATIONS = Table(
    "attestations",
    "one row per entry of assets/rankings/attestations/*.yaml: what people say of a run",
    ("file", "entry"),
    (
        Column("file", TEXT, "name of the file"),
        Column("entry", INTEGER, "place in the file, from 1"),
        Column("external_id", TEXT, "the submission that it is about, by its id at the source"),
        _digest("run_digest", "the submission's run; null where it is no run now", required=False),
        Column("kind", TEXT, "note, replication, or controlled_rerun: one that KernelIndex controlled"),
        Column("attested_at", TIME, "of when it is, UTC"),
        Column("who", TEXT, "who says so"),
        _optional("text", TEXT, "what they say, as they wrote it"),
        _optional("confirms", FLAG, "of a replication or rerun: whether it bears the run out"),
        _optional("latency_ms", REAL, "of a replication or rerun: what it measured, milliseconds"),
        _optional("link", TEXT, "what supports it: an address, or the digest of a page"),
    ),
)

ENTRIES_SET_ASIDE = Table(
    "entries_set_aside",
    "one row per decision or attestation that can't count now, and so changes nothing",
    ("file", "entry"),
    (
        Column("file", TEXT, "name of the file, decisions.yaml or one of attestations/*.yaml"),
        Column("entry", INTEGER, "place in the file, from 1; 0: the whole file"),
        Column("said", TEXT, "what it says, in short, as: retract 3268"),
        Column("problem", TEXT, "why it can't count, in words"),
    ),
)

EVIDENCE = Table(
    "evidence",
    "one row per run: how well it is borne out",
    ("run_digest",),
    (
        _RUN,
        Column("evidence_level", TEXT, "replicated, verified, reproducible or reported"),
        Column("confirming_reruns", INTEGER, "controlled reruns that bear it out, by different people"),
        Column("controlled_reruns", INTEGER, "all controlled reruns; only confirming ones change the level"),
        Column("replications", INTEGER, "the community's; they never change the level"),
        Column("notes", INTEGER, "the community's; they never change the level"),
    ),
)

SOURCE_KERNELS = Table(
    "source_kernels",
    "one row per kernel of the leaderboard, as read",
    ("kernel_id",),
    (
        _KERNEL_ID,
        Column("kernel_name", TEXT, "the leaderboard's name"),
        _optional("title", TEXT, "as served"),
        _optional("description", TEXT, "as served"),
        _optional("op_type", TEXT, "as served"),
        Column("gpu_types", TEXTS, "GPUs it can be submitted for"),
        Column("tags", TEXTS, "as served, in the source's order"),
        Column("axes", TEXT, "axis definitions by name, with their descriptions", json=True),
        Column("inputs", TEXT, "input arguments by name, with their descriptions", json=True),
        Column("outputs", TEXT, "output arguments by name, with their descriptions", json=True),
        _optional("baseline", TEXT, "source text of the baseline"),
        _optional(
            "baseline_latency_ms",
            REAL,
            "as served, and no baseline: it equals the geometric mean of the speed-of-light bounds "
            "(kernel_bounds.sol_geomean_ms), rounded; the baseline is kernel_bounds.baseline_geomean_ms",
        ),
        _optional("latency_unit", TEXT, "as served"),
        _optional("sol_is_dummy", FLAG, "whether its speed-of-light bounds are placeholders"),
        _optional(
            "gone_since", TIME, "when the first listing of kernels without it came, UTC; null: it is listed"
        ),
        _optional(
            "submission_count", INTEGER, "its submissions by the listing of kernels; null: it does not say"
        ),
        _optional("submission_total", INTEGER, "its submissions by the total of their own listing"),
        _optional(
            "submissions_held", INTEGER, "its submissions that stand on the pages that count, readable or not"
        ),
        _optional(
            "submissions_missing", INTEGER, "how many fewer are held than the higher of both says there are"
        ),
        _PAGE,
    ),
)

SOURCE_WORKLOADS = Table(
    "source_workloads",
    "one row per workload of a kernel, repeats kept, as read",
    ("kernel_id", "position"),
    (
        _KERNEL_ID,
        Column("position", INTEGER, "place in the kernel's list, from 0"),
        _optional("uuid", TEXT, "as served"),
        Column("axes", TEXT, "values by axis name", json=True),
        _optional("baseline_latency_ms", REAL, "of the scoring baseline, milliseconds"),
        _optional("sol_ms", REAL, "the speed-of-light bound, milliseconds"),
        _PAGE,
    ),
)

_SUBMISSION = (
    _KERNEL_ID,
    _optional("username", TEXT, "the account"),
    _optional("submission_mode", TEXT, "as served"),
    _optional("status", TEXT, "as served; null: it is not public"),
    _optional("is_correct", FLAG, "as served"),
    _optional("is_disqualified", FLAG, "as served"),
    _optional("gpu_type", TEXT, "as served"),
    _optional("evaluation_stack_version", TEXT, "as served"),
    _optional("worker_id", TEXT, "as served"),
    _optional("latency_ms", REAL, "geometric mean over the workloads, milliseconds"),
    _optional("sol_score", REAL, f"mean of the workloads' SOL scores: {SOL_SCORE}"),
    _optional("avg_speedup", REAL, "over the scoring baseline"),
    _optional("fast_1_count", INTEGER, "workloads faster than the baseline"),
    _optional("fast_1_total", INTEGER, "workloads measured"),
    _optional("submitted_at", TIME, "UTC"),
    _optional("finished_at", TIME, "UTC"),
    _optional("started_at", TIME, "UTC"),
    _optional("result_available_at", TIME, "until when the source holds the result back, UTC"),
    _optional("user_id", TEXT, "as served"),
    _optional("original_filename", TEXT, "as served"),
    _optional("error_log", TEXT, "as served"),
    _optional("disqualification_reason", TEXT, "why it was disqualified, as served"),
    _optional("disqualification_source", TEXT, "by whom, as served"),
    _optional("disqualified_at", TIME, "when, UTC"),
    _json("benchmark_results", "as served"),
    _json("review", "the fields review_... that have a value, without that prefix"),
    _json("collection", "the fields collection_... that have a value, without that prefix"),
    Column("outcome", TEXT, "run, or the reason code for which it is none"),
)

SOURCE_SUBMISSIONS = Table(
    "source_submissions",
    "one row per submission that could be read",
    ("submission_id",),
    (
        _SUBMISSION_ID,
        *_SUBMISSION,
        _PAGE,
        _optional(
            "unread_page_digest",
            TEXT,
            "the page that lists it now, if it can't be read there: then this row is what could be read last",
        ),
    ),
)

SUBMISSION_HISTORY = Table(
    "submission_history",
    "one row per version of a submission: what the source said of it, from when to when",
    ("submission_id", "version"),
    (
        _SUBMISSION_ID,
        Column("version", INTEGER, "1 for the first that was seen"),
        *_SUBMISSION,
        _digest("run_digest", "the run that this version made, if it made one", required=False),
        Column("valid_from", TIME, "when the page that first said so came, UTC"),
        _optional("valid_to", TIME, "when another version, or a listing without it, came; null: it holds"),
        _optional(
            "end_reason",
            TEXT,
            "NOT_LISTED, or MOVED: it counts at another kernel; null: it holds, or was followed by another",
        ),
        _digest("page_digest", "the page that first said so"),
    ),
)

PAGES = Table(
    "pages",
    "one row per answer of the source",
    ("page_digest", "locator", "fetched_at"),
    (
        _optional("page_digest", TEXT, "digest of the bytes that came, or that a 304 confirms: the snapshot"),
        Column("locator", TEXT, "the page, as the API names it: path and query"),
        Column("fetched_at", TIME, "when the source answered, UTC"),
        Column("resolved_locator", TEXT, "where the answer came from in the end"),
        Column("status", INTEGER, "HTTP status; 200 for a saved answer, 0 where none came"),
        _optional("media_type", TEXT, "as served"),
        Column("size_bytes", INTEGER, "of the body, after decompression"),
        _optional("etag", TEXT, "as served"),
        _optional("last_modified", TEXT, "as served"),
        Column("parser_version", TEXT, "version of the reader that is to read it"),
        _optional("tries", INTEGER, "how often it was asked for until this came; saved answers have none"),
        _optional("duration_ms", REAL, "spent on the wire, waits not counted; saved answers have none"),
        _optional("problem", TEXT, "why the answer is no good, in words"),
    ),
)

QUARANTINE = Table(
    "quarantine",
    "one row per item of a page that could not be read or used",
    ("locator", "item"),
    (
        Column("locator", TEXT, "the page"),
        Column("item", TEXT, "what of it, as submission 12; or page"),
        Column("problem", TEXT, "why, in words"),
        _PAGE,
        Column("first_seen_at", TIME, "UTC"),
    ),
)

DRIFT = Table(
    "drift",
    "one row per page and field that nobody knows, or that is no longer there",
    ("locator", "field", "change"),
    (
        Column("locator", TEXT, "the page"),
        Column("field", TEXT, "its path, as data.submissions[].field"),
        Column("change", TEXT, "appeared: nobody knows it; missing: all items had it, and none has it now"),
        _digest("page_digest", "the last page that shows it"),
        Column("first_seen_at", TIME, "when the first page that shows it came, UTC"),
        Column("last_seen_at", TIME, "when a page that shows it came or was confirmed last, UTC"),
    ),
)

SAVED_PAGES = Table(
    "saved_pages",
    "one row per page that a person saved and handed in; the same bytes count once",
    ("page_digest",),
    (
        _digest("page_digest", "digest of the file's bytes: its snapshot"),
        Column("locator", TEXT, "the file's name, made safe, and the first digits of its digest"),
        Column("saved_at", TIME, "when the file was written last, UTC"),
        Column("size_bytes", INTEGER, "of the file"),
        Column("kind", TEXT, "what it is by its content: submission, run (KernelIndex's) or neither"),
        Column("state", TEXT, "counted, waiting, superseded, private or quarantined"),
        Column("is_private", FLAG, "whether its submission is not public, or does not say that it is"),
        _optional("waits_for", TEXT, "kernel or submission: what the leaderboard has not brought yet"),
        _digest("superseded_by", "the page that counts in its place", required=False),
        _optional("submission_id", INTEGER, "the submission that a submission page is of"),
        _optional("kernel_name", TEXT, "the kernel that it names"),
        _optional("finished_at", TIME, "when the evaluation finished, as the page says, UTC"),
        _optional("sol_score", REAL, "the submission's SOL score, as the page says"),
        Column("case_runs", INTEGER, "runs that it made"),
    ),
)

PAGE_CASES = Table(
    "page_cases",
    "one row per workload of a submission page that counts, as shown",
    ("page_digest", "position"),
    (
        _digest("page_digest", "the saved page"),
        Column("position", INTEGER, "place in the page's table, from 1"),
        _SUBMISSION_ID,
        Column("workload", TEXT, "the axes that name it, as shown"),
        Column("latency_ms", REAL, "as shown, rounded; milliseconds"),
        _optional("baseline_ms", REAL, "of the scoring baseline, as shown, rounded; milliseconds"),
        _optional("speedup", REAL, "over the scoring baseline, as shown, rounded"),
        _optional("sol_score", REAL, "as shown, rounded"),
        _digest("workload_digest", "the WorkloadCase that it is; null: none or several", required=False),
        _digest("run_digest", "the run that it made, if it made one", required=False),
    ),
)

RUN_INTERVALS = Table(
    "run_intervals",
    "one row per run whose primary value was rounded for display: what it can have been before",
    ("run_digest",),
    (
        _RUN,
        Column("low", REAL, "at least, in the run's primary unit"),
        Column("high", REAL, "at most, in the run's primary unit"),
    ),
)

PAGE_DISAGREEMENTS = Table(
    "page_disagreements",
    "one row per submission and number in which its saved page and the API differ by more than rounding",
    ("submission_id", "field"),
    (
        _SUBMISSION_ID,
        Column("field", TEXT, "what differs, as latency_ms or baseline_ms of a case"),
        Column("page_value", TEXT, "what the page's table says or comes to"),
        Column("api_value", TEXT, "what the API says; of shown_sol_score, the page's own details"),
        _optional("difference", REAL, "page_value - api_value"),
        _optional("tolerance", REAL, "as much as rounding can explain"),
        _digest("page_digest", "the saved page"),
    ),
)

RUN_PAGE_CHECKS = Table(
    "run_page_checks",
    "one row per saved KernelIndex run page and fact that it shows: whether this warehouse agrees",
    ("page_digest", "field"),
    (
        _digest("page_digest", "the saved page"),
        Column("field", TEXT, "what is compared, as latency or comparison key"),
        Column("page_value", TEXT, "what the page shows"),
        _optional("our_value", TEXT, "what this warehouse holds, in the page's form; null: nothing"),
        Column("verdict", TEXT, "agrees, differs or explained"),
        _optional("note", TEXT, "what explains a difference, in words"),
        _digest("run_digest", "our run, if there is one", required=False),
    ),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        OPERATIONS,
        WORKLOADS,
        PROJECTS,
        IMPLEMENTATIONS,
        PROTOCOLS,
        ENVIRONMENTS,
        RUNS,
        COMPARISON_GROUPS,
        RANKINGS,
        EXCLUSIONS,
        RECORD_EVENTS,
        KERNEL_BOUNDS,
        FLAGS,
        DECISIONS,
        REVIEW,
        ATTESTATIONS,
        ENTRIES_SET_ASIDE,
        EVIDENCE,
        SOURCE_KERNELS,
        SOURCE_WORKLOADS,
        SOURCE_SUBMISSIONS,
        SUBMISSION_HISTORY,
        PAGES,
        QUARANTINE,
        DRIFT,
        SAVED_PAGES,
        PAGE_CASES,
        RUN_INTERVALS,
        PAGE_DISAGREEMENTS,
        RUN_PAGE_CHECKS,
    )
}


# The tables that hold manifests, with the column that names each by its digest.
DIGESTS = {table.name: table.key[0] for table in TABLES.values() if "manifest" in table.schema.names}


def columns_version(tables: Iterable[Table]) -> str:
    """Stands for the columns of these tables: what was made for other columns has to be made anew."""
    said = [(table.name, column.name, str(column.type)) for table in tables for column in table.columns]
    return hashlib.sha256(repr(said).encode()).hexdigest()[:12]
