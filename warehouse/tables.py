"""The warehouse's tables: for each its columns, types, key and what a row is.

Everything that writes or documents a table takes its shape from here, and only from here. How tables
are filled belongs in `assets`; how they are kept, in `parts`, `parquet` and `build`.
"""

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

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


@dataclass(frozen=True)
class Table:
    """One table: what a row is, its key, and its columns in order."""

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
        Column("source_kernel_id", INTEGER, "the kernel's id on the leaderboard"),
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
        Column("external_id", TEXT, "the submission's id at the source"),
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
        _optional("sol_score", REAL, "mean of the workloads' SOL scores, 0 to 1"),
        _optional("latency_ms", REAL, "geometric mean over the workloads, milliseconds"),
        _optional("avg_speedup", REAL, "over the scoring baseline"),
        _optional("fast_1_count", INTEGER, "workloads faster than the baseline"),
        _optional("fast_1_total", INTEGER, "workloads measured"),
        _optional("worker", TEXT, "the machine that measured"),
        Column("evidence_level", TEXT, "replicated, verified, reproducible or reported"),
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
    "one row per record: a run that was faster than all before it in its group",
    ("comparison_key", "run_digest"),
    (
        _COMPARISON,
        _RUN,
        _digest("previous_run_digest", "who held the record before", required=False),
        _optional("taken_at", TIME, "when the run was observed, UTC"),
        Column("cause", TEXT, "new_run, retraction, ..."),
        _POLICY,
    ),
)

SOURCE_KERNELS = Table(
    "source_kernels",
    "one row per kernel of the leaderboard, as read",
    ("kernel_id",),
    (
        Column("kernel_id", INTEGER, "the leaderboard's id"),
        Column("kernel_name", TEXT, "the leaderboard's name"),
        _optional("title", TEXT, "as served"),
        _optional("description", TEXT, "as served"),
        _optional("op_type", TEXT, "as served"),
        Column("gpu_types", TEXTS, "GPUs it can be submitted for"),
        Column("tags", TEXTS, "as served, in the source's order"),
        Column("axes", TEXT, "axis definitions by name", json=True),
        Column("inputs", TEXT, "input arguments by name", json=True),
        Column("outputs", TEXT, "output arguments by name", json=True),
        _optional("baseline", TEXT, "source text of the baseline"),
        _optional("baseline_latency_ms", REAL, "of the baseline, milliseconds"),
        _optional("latency_unit", TEXT, "as served"),
        _optional("sol_is_dummy", FLAG, "whether its speed-of-light bounds are placeholders"),
        _PAGE,
    ),
)

SOURCE_WORKLOADS = Table(
    "source_workloads",
    "one row per workload of a kernel, repeats kept, as read",
    ("kernel_id", "position"),
    (
        Column("kernel_id", INTEGER, "the leaderboard's id"),
        Column("position", INTEGER, "place in the kernel's list, from 0"),
        _optional("uuid", TEXT, "as served"),
        Column("axes", TEXT, "values by axis name", json=True),
        _optional("baseline_latency_ms", REAL, "of the scoring baseline, milliseconds"),
        _optional("sol_ms", REAL, "the speed-of-light bound, milliseconds"),
        _PAGE,
    ),
)

SOURCE_SUBMISSIONS = Table(
    "source_submissions",
    "one row per submission that could be read",
    ("submission_id",),
    (
        Column("submission_id", INTEGER, "the leaderboard's id"),
        Column("kernel_id", INTEGER, "the leaderboard's id"),
        _optional("username", TEXT, "the account"),
        _optional("submission_mode", TEXT, "as served"),
        Column("status", TEXT, "as served"),
        _optional("is_correct", FLAG, "as served"),
        _optional("is_disqualified", FLAG, "as served"),
        _optional("gpu_type", TEXT, "as served"),
        _optional("evaluation_stack_version", TEXT, "as served"),
        _optional("worker_id", TEXT, "as served"),
        _optional("latency_ms", REAL, "geometric mean over the workloads, milliseconds"),
        _optional("sol_score", REAL, "mean of the workloads' SOL scores"),
        _optional("avg_speedup", REAL, "over the scoring baseline"),
        _optional("fast_1_count", INTEGER, "workloads faster than the baseline"),
        _optional("fast_1_total", INTEGER, "workloads measured"),
        _optional("submitted_at", TIME, "UTC"),
        _optional("finished_at", TIME, "UTC"),
        Column("outcome", TEXT, "run, or the reason code for which it is none"),
        _PAGE,
    ),
)

PAGES = Table(
    "pages",
    "one row per answer of the source",
    ("page_digest", "locator", "fetched_at"),
    (
        _optional("page_digest", TEXT, "digest of the page's bytes: its snapshot"),
        Column("locator", TEXT, "the page, as the API names it: path and query"),
        Column("fetched_at", TIME, "when the bytes were got from the source, UTC"),
        Column("resolved_locator", TEXT, "where the bytes came from in the end"),
        Column("status", INTEGER, "HTTP status; 200 for a saved answer"),
        _optional("media_type", TEXT, "as served"),
        Column("size_bytes", INTEGER, "of the body, after decompression"),
        _optional("etag", TEXT, "as served"),
        _optional("last_modified", TEXT, "as served"),
        Column("parser_version", TEXT, "version of the reader that is to read it"),
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
    "one row per page and field that nobody knows",
    ("locator", "field"),
    (
        Column("locator", TEXT, "the page"),
        Column("field", TEXT, "its path, as data.submissions[].field"),
        _PAGE,
        Column("first_seen_at", TIME, "UTC"),
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
        SOURCE_KERNELS,
        SOURCE_WORKLOADS,
        SOURCE_SUBMISSIONS,
        PAGES,
        QUARANTINE,
        DRIFT,
    )
}
