"""From what pages say to manifests: the rules of DESIGN §4 and §5, a function a kind.

How pages are read belongs in `assets.leaderboard.records`; what may stand in a manifest, in `kinds`; which
runs are ranked, in `assets.rankings`.
"""

import hashlib
import math
import re
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from assets.leaderboard.records import Records, Row, in_words
from assets.leaderboard.snapshots import Page
from assets.manifests import kinds
from assets.manifests.expressions import ExpressionError, derive, in_order
from assets.manifests.identity import Manifest, NotCanonical, Pattern, canonical_json, key_of
from assets.manifests.kinds import build, pattern
from warehouse.submissions import NOT_PUBLIC

# Stands for these rules: raise it when a manifest changes, so that all is normalised anew.
NORMALISER_VERSION = "2"

RUN = "run"
QUARANTINED = "QUARANTINED"
METRIC_KEY = "latency:mean:ns"

_DTYPES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
    "float": "fp32",
    "float64": "fp64",
    "double": "fp64",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e4m3": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "float4_e2m1": "fp4_e2m1",
}
_ARCHITECTURES = {"B200": "sm_100", "GB200": "sm_100", "H200": "sm_90", "H100": "sm_90", "A100": "sm_80"}
_SUBSETS = {"L1", "L2", "Quant", "FlashInfer-Bench"}
_METRICS = ("latency_ms", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total")
_COMPARATOR: kinds.Correctness = {"comparator": "sol_execbench_eval"}
_SUITE_CORRECTNESS: kinds.Correctness = {
    "comparator": "sol_execbench_eval",
    "description": "Correctness must pass on every case in the SOL evaluation stack.",
}
LARGEST_INTEGER = 2**53 - 1
CORRECTNESS_KEY = key_of({"correctness": _SUITE_CORRECTNESS})
CASE_CORRECTNESS_KEY = key_of({"correctness": _COMPARATOR})


class Publication(NamedTuple):
    """How the leaderboard publishes what it measured; runs published in two ways are never compared."""

    name: str
    family: str
    notes: str


LEADERBOARD = Publication(
    "sol-execbench-leaderboard",
    "sol_execbench_leaderboard",
    "Suite-mean latency and SOL-Score as published by the SOL-ExecBench leaderboard. "
    "Comparable only within one definition, GPU type, and evaluation stack version.",
)
SUBMISSION_PAGE = Publication(
    "sol-execbench-submission-page",
    "sol_execbench_submission_page",
    "Latency and SOL-Score of one workload case as shown on a SOL-ExecBench submission page, rounded for "
    "display. Comparable only within one definition, workload case, GPU type, and evaluation stack version.",
)


class Unusable(ValueError):
    """An item that was read but makes no manifest; says why."""


def normalise(records: Records, pages: Iterable[Page]) -> dict[str, list[Row]]:
    """A kernel's rows of all tables but those of rankings and pages, by table name.

    `pages` are those that the records were read from. What makes no manifest is in the quarantine; the
    outcome of a submission says what became of it.
    """
    tables: dict[str, list[Row]] = defaultdict(list)
    tables["quarantine"] += records.quarantine
    tables["drift"] += records.drift
    tables["source_kernels"] += [records.kernel] if records.kernel else []
    tables["source_workloads"] += records.workloads
    quarantine = _Quarantine(tables["quarantine"], pages)
    suite = _add_kernel(tables, quarantine, records)
    for submission in records.submissions:
        outcome = outcome_of(submission)
        if outcome == RUN:
            try:
                if suite is None:
                    raise Unusable(
                        "its kernel has no suite of workloads; the quarantine of its kernel says why"
                    )
                add_run(tables, suite, submission)
            except (Unusable, ValidationError, NotCanonical) as problem:
                quarantine.add(f"submission {submission['submission_id']}", problem, submission)
                outcome = QUARANTINED
        tables["source_submissions"].append({**submission, "outcome": outcome})
    # What many runs have in common came with each of them.
    for name in ("projects", "protocols", "environments"):
        tables[name] = list({row["manifest"]: row for row in tables[name]}.values())
    return tables


def outcome_of(submission: Row) -> str:
    """`run`, or the reason code for which a submission becomes none (DESIGN §5)."""
    if submission.get("is_private"):
        return NOT_PUBLIC
    if submission["status"] != "COMPLETED":
        return "STATUS_" + re.sub(r"[^A-Z0-9]", "_", submission["status"].upper())
    if not submission.get("is_correct"):
        return "INCORRECT"
    if submission.get("is_disqualified"):
        return "DISQUALIFIED"
    if not (submission.get("latency_ms") or 0) > 0:
        return "MISSING_PRIMARY_METRIC"
    return RUN


@dataclass(frozen=True, eq=False)
class RunWorkload:
    """What runs are of, and what they have in common: a kernel's suite, or one case of it by its id."""

    kernel_name: str
    operation_digest: str
    workload_digest: str
    dtypes: tuple[str, ...]
    case_id: str | None = None

    @property
    def correctness_key(self) -> str:
        """Digest of the correctness that runs are held to."""
        return CASE_CORRECTNESS_KEY if self.case_id else CORRECTNESS_KEY

    @property
    def publication(self) -> Publication:
        """How runs are published: suites' by the leaderboard, cases' on the submission's page."""
        return SUBMISSION_PAGE if self.case_id else LEADERBOARD


def _add_kernel(
    tables: dict[str, list[Row]], quarantine: "_Quarantine", records: Records
) -> RunWorkload | None:
    """Add a kernel's operation, cases and suite; None where there is no suite for runs to be of."""
    kernel = records.kernel
    if kernel is None:
        return None
    try:
        operation = _Operation(kernel)
    except (Unusable, ExpressionError, ValidationError, NotCanonical) as problem:
        quarantine.add("kernel", problem, kernel)
        return None
    cases: list[kinds.SuiteCase] = []
    rows: list[Row] = []
    for workload in records.workloads:
        try:
            case, row = operation.case(workload)
        except ExpressionError as problem:
            # An expression that has no value for its own workloads is no definition of anything.
            quarantine.add("kernel", Unusable(f"workload {workload['position']}: {problem}"), kernel)
            return None
        except (Unusable, ValidationError, NotCanonical) as problem:
            quarantine.add(f"workload {workload['position']}", problem, workload)
        else:
            cases.append(case)
            rows.append(row)
    tables["operations"].append(operation.row(kernel))
    tables["workloads"] += rows
    unread = [row for row in records.quarantine if row["item"].startswith("workload ")]
    if unread or len(cases) < len(records.workloads):
        return None
    row = operation.suite(cases)
    tables["workloads"].append(row)
    return RunWorkload(
        kernel["kernel_name"],
        operation.manifest.digest,
        row["workload_digest"],
        operation.input_dtypes,
    )


class _Operation:
    """A kernel's OperationSpec, and what its cases and its suite are made with."""

    def __init__(self, kernel: Row) -> None:
        axes = _lower_case_names(orjson.loads(kernel["axes"]), "axes", str.lower)
        inputs = _lower_case_names(orjson.loads(kernel["inputs"]), "inputs", token)
        outputs = _lower_case_names(orjson.loads(kernel["outputs"]), "outputs", token)
        self.name = kernel["kernel_name"]
        self.slug = kebab(self.name) or "unnamed"
        self.constants = {name: axis["value"] for name, axis in axes.items() if axis["type"] == "const"}
        expressions = {
            name: axis["expression"].lower() for name, axis in axes.items() if axis["type"] == "expr"
        }
        self.derived = in_order(expressions, axes.keys() - expressions.keys())
        self.input_dtypes = tuple(sorted({dtype(argument["dtype"]) for argument in inputs.values()}))
        self.input_tensors = {
            name: (_shape(argument), dtype(argument["dtype"]))
            for name, argument in inputs.items()
            if argument.get("shape")
        }
        spec: kinds.OperationSpec = {
            "family": _family(kernel),
            "axes": {name: _axis(axis) for name, axis in axes.items()},
            "inputs": [_argument(name, argument) for name, argument in inputs.items()],
            "outputs": [_argument(name, argument) for name, argument in outputs.items()],
            "semantics": {"mutation": "none", "determinism": "unspecified"},
        }
        self.family = spec["family"]
        self.manifest = build("OperationSpec", {"name": self.slug, "title": self.name}, spec)

    def row(self, kernel: Row) -> Row:
        """The row of operations."""
        return {
            "operation_digest": self.manifest.digest,
            "name": self.name,
            "slug": self.slug,
            "family": self.family,
            "tags": kernel["tags"],
            "kernel_id": kernel["kernel_id"],
            "source_kernel_id": kernel["kernel_id"],
            "manifest": self.manifest.json,
        }

    def case(self, workload: Row) -> tuple[kinds.SuiteCase, Row]:
        """A workload as a case of the suite, and as a row of workloads."""
        source_axes: dict[str, int] = orjson.loads(workload["axes"])
        external_id = workload["uuid"] or axes_id(source_axes)
        axes = _lower_case_names(source_axes, "axes", str.lower)
        values = derive(self.derived, self.constants | axes)
        spec: kinds.WorkloadCase = {
            "operationSpecDigest": self.manifest.digest,
            "axes": axes,
            "tensors": {
                name: {"shape": [_size(entry, values) for entry in shape], "dtype": dtype_}
                for name, (shape, dtype_) in self.input_tensors.items()
            },
            "correctness": _COMPARATOR,
        }
        metadata: kinds.Metadata = {
            "name": kebab(f"{self.slug}-{external_id}"),
            "title": f"{self.name} · case {external_id}",
        }
        row = self._workload_row("case", build("WorkloadCase", metadata, spec), case_count=1)
        row |= {"external_id": external_id, "axes": orjson.dumps(axes).decode()}
        return {"externalId": external_id, "axes": axes}, row

    def suite(self, cases: list[kinds.SuiteCase]) -> Row:
        """All cases as a row of workloads."""
        spec: kinds.WorkloadSuite = {
            "operationSpecDigest": self.manifest.digest,
            "cases": cases,
            "correctness": _SUITE_CORRECTNESS,
            "aggregation": {"metric": "latency", "statistic": "mean"},
        }
        metadata: kinds.Metadata = {
            "name": kebab(f"{self.slug}-suite"),
            "title": f"{self.name} · suite of {len(cases)} cases",
        }
        return self._workload_row("suite", build("WorkloadSuite", metadata, spec), len(cases))

    def _workload_row(self, kind: str, workload: Manifest, case_count: int) -> Row:
        return {
            "workload_digest": workload.digest,
            "operation_digest": self.manifest.digest,
            "kind": kind,
            "case_count": case_count,
            "manifest": workload.json,
        }


def add_run(tables: dict[str, list[Row]], workload: RunWorkload, submission: Row) -> Row:
    """Add a submission's run, and with it its implementation, project, protocol and environment.

    Returns the row of the run. Raises Unusable, ValidationError or NotCanonical where there can be none.
    """
    for name in ("username", "gpu_type", "evaluation_stack_version"):
        if not submission.get(name):
            raise Unusable(f"it would be a run, but names no {name}")
    username, gpu_type = submission["username"], submission["gpu_type"]
    submission_id = str(submission["submission_id"])
    external_id = f"{submission_id}/{workload.case_id}" if workload.case_id else submission_id
    group = _group(workload, gpu_type, submission["evaluation_stack_version"])
    project = _project(username)
    implementation = _implementation(group, submission_id, project)
    latency_ns = submission["latency_ms"] * 1e6
    if latency_ns > LARGEST_INTEGER:
        raise Unusable(f"its latency of {submission['latency_ms']} ms is beyond what canonical JSON can hold")
    mean_ns = round_half_up(latency_ns)
    metrics = {name: submission[name] for name in _METRICS if submission.get(name) is not None}
    metadata: dict[str, Any] = {
        "name": f"sol-submission-{submission_id}",
        "title": f"{username} · {workload.kernel_name} · {gpu_type}",
    }
    if workload.case_id:
        metadata["name"] = kebab(f"sol-submission-{external_id}")
        metadata["title"] += f" · case {workload.case_id}"
    if submission.get("worker_id"):
        metadata["labels"] = {"worker": submission["worker_id"]}
    values = [
        b'"%b"' % implementation["implementation_digest"].encode(),
        orjson.dumps(external_id),
        canonical_json(metrics),
        b"%d" % mean_ns,
    ]
    observed_at = submission.get("finished_at") or submission.get("submitted_at")
    if observed_at:
        # Milliseconds, cut and not rounded.
        observed_at = observed_at.replace(microsecond=observed_at.microsecond // 1000 * 1000)
        values.insert(1, b'"%bZ"' % observed_at.isoformat(timespec="milliseconds")[:23].encode())
    run = (group.runs if observed_at else group.runs_without_time).fill(metadata, *values)
    tables["projects"].append(project)
    tables["protocols"].append(group.protocol)
    tables["environments"].append(group.environment)
    tables["implementations"].append(implementation)
    row = {
        "run_digest": run.digest,
        "external_id": external_id,
        "submission_id": submission["submission_id"],
        "operation_digest": workload.operation_digest,
        "workload_digest": workload.workload_digest,
        "implementation_digest": implementation["implementation_digest"],
        "protocol_digest": group.protocol["protocol_digest"],
        "environment_digest": group.environment["environment_digest"],
        "correctness_key": workload.correctness_key,
        "comparison_key": group.comparison_key,
        "status": "passed",
        "observed_at": observed_at,
        "primary_metric": "latency",
        "primary_statistic": "mean",
        "primary_unit": "ns",
        "primary_value": mean_ns,
        **metrics,
        "worker": submission.get("worker_id"),
        # Source, raw evidence and replications are all unknown here, so nothing more can be derived.
        "evidence_level": "reported",
        "page_digest": submission["page_digest"],
        "manifest": run.json,
    }
    tables["runs"].append(row)
    return row


def _implementation(group: "_Group", submission_id: str, project: Row) -> Row:
    revision = f"submission-{submission_id}"
    implementation = group.implementations.fill(
        {"name": f"sol-{revision}", "title": f"{project['name']} · {group.workload.kernel_name}"},
        b'"%b"' % revision.encode(),
    )
    return {
        "implementation_digest": implementation.digest,
        "operation_digest": group.workload.operation_digest,
        "project_digest": project["project_digest"],
        "revision": revision,
        "manifest": implementation.json,
    }


@dataclass(frozen=True, eq=False)
class _Group:
    """What the runs of a comparison group have in common, made once for all of them."""

    workload: RunWorkload
    protocol: Row
    environment: Row
    comparison_key: str
    implementations: Pattern
    runs: Pattern
    runs_without_time: Pattern


@lru_cache(maxsize=1000)
def _group(workload: RunWorkload, gpu_type: str, stack_version: str) -> _Group:
    protocol = _protocol(workload.publication, stack_version)
    environment = _environment(gpu_type, stack_version)
    return _Group(
        workload,
        protocol,
        environment,
        key_of(
            {
                "v": 1,
                "operation": workload.operation_digest,
                "workload": workload.workload_digest,
                "protocol": protocol["protocol_digest"],
                "environment": environment["environment_digest"],
                "correctness": workload.correctness_key,
                "metric": METRIC_KEY,
            }
        ),
        _implementations(workload, environment),
        _runs(workload, protocol, environment, has_time=True),
        _runs(workload, protocol, environment, has_time=False),
    )


def _implementations(workload: RunWorkload, environment: Row) -> Pattern:
    """All implementations of an operation on a GPU: they differ in the revision."""
    revision = secrets.token_hex()
    spec: kinds.ImplementationRevision = {
        "projectRevision": {"version": revision},
        "operation": {"specDigest": workload.operation_digest},
        "callable": {"language": "unknown"},
        "support": {
            "hardwareArchitectures": [environment["architecture"]],
            "productsTested": [environment["product"]],
            "dtypes": list(workload.dtypes),
        },
        "licensing": {},
    }
    return pattern("ImplementationRevision", spec, revision)


def _runs(workload: RunWorkload, protocol: Row, environment: Row, *, has_time: bool) -> Pattern:
    """All runs of a comparison group: they differ in implementation, time, id, metrics and mean."""
    # A pattern finds its places by these examples: chance makes them, so that nothing else can be like them.
    implementation, external_id = f"sha256:{secrets.token_hex(32)}", secrets.token_hex()
    mean_ns = LARGEST_INTEGER - secrets.randbelow(10**15)
    metrics: kinds.Metrics = {"sol_score": secrets.randbelow(10**15) / 10**15}
    spec: kinds.BenchmarkRun = {
        "implementationDigest": implementation,
        "workloadDigest": workload.workload_digest,
        "protocolDigest": protocol["protocol_digest"],
        "environmentDigest": environment["environment_digest"],
        "status": "passed",
        "timing": {"primaryStatistic": "mean", "latencyNs": {"mean": mean_ns}},
        "sourceNative": {
            "source": "sol-execbench",
            "benchmark": workload.kernel_name,
            "externalId": external_id,
            "metrics": metrics,
        },
    }
    if has_time:
        digits = f"{secrets.randbelow(10**17):017}"
        time = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}."
        time += f"{digits[14:]}Z"
        spec["observedAt"] = time
        return pattern("BenchmarkRun", spec, implementation, time, external_id, metrics, mean_ns)
    return pattern("BenchmarkRun", spec, implementation, external_id, metrics, mean_ns)


@lru_cache(maxsize=10_000)
def _project(username: str) -> Row:
    slug = kebab(username)
    project = build(
        "SoftwareProject",
        {"name": slug or "unnamed", "title": username},
        {
            "name": username,
            "kind": "individual",
            "host": {"kind": "other", "id": f"sol-execbench/user/{username}"},
        },
    )
    return {
        "project_digest": project.digest,
        "name": username,
        "slug": slug,
        "manifest": project.json,
    }


@lru_cache(maxsize=1000)
def _protocol(publication: Publication, stack_version: str) -> Row:
    harness = "SOL-ExecBench evaluation stack"
    protocol = build(
        "BenchmarkProtocol",
        {
            "name": kebab(f"{publication.name}-{stack_version}"),
            "title": f"{harness} {stack_version}",
        },
        {
            "harness": {"name": harness, "version": stack_version},
            "correctness": {
                "reference": "definition reference implementation",
                "comparator": _COMPARATOR["comparator"],
            },
            "measurement": {"timer": "harness_reported", "primaryStatistic": "mean"},
            "comparability": {"family": publication.family, "notes": publication.notes},
        },
    )
    return {
        "protocol_digest": protocol.digest,
        "harness": harness,
        "version": stack_version,
        "manifest": protocol.json,
    }


@lru_cache(maxsize=1000)
def _environment(gpu_type: str, stack_version: str) -> Row:
    product, architecture = hardware(gpu_type)
    environment = build(
        "ExecutionEnvironment",
        {
            "name": kebab(f"sol-execbench-{gpu_type}-{stack_version}"),
            "title": f"SOL-ExecBench {product}, stack {stack_version}",
        },
        {
            "hardware": {"vendor": "nvidia", "product": product, "architecture": architecture},
            "software": {"libraries": {"evaluation_stack": stack_version}},
        },
    )
    return {
        "environment_digest": environment.digest,
        "product": product,
        "architecture": architecture,
        "manifest": environment.json,
    }


def kebab(text: str) -> str:
    """Lower case, runs of anything but a-z and 0-9 as `-`, ends stripped, at most 100 characters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:100]


def token(name: str) -> str:
    """The name of an argument: lower case, other characters `_`, `x_` before one that is no letter."""
    lower = re.sub(r"[^a-z0-9_]", "_", name.lower())
    return lower if lower[:1].isalpha() else f"x_{lower}"


def dtype(name: str) -> str:
    """KernelIndex's name of a data type, as bf16 for bfloat16."""
    lower = name.lower()
    return _DTYPES.get(lower) or re.sub(r"[^a-z0-9]", "_", lower)


def hardware(gpu_type: str) -> tuple[str, str]:
    """Product and architecture of a GPU as the source names it, as B200 or NVIDIA_H100."""
    model = gpu_type.removeprefix("NVIDIA_")
    if model in _ARCHITECTURES:
        return f"NVIDIA {model}", _ARCHITECTURES[model]
    return gpu_type.replace("_", " "), "unknown"


def round_half_up(value: float) -> int:
    """The nearest integer, halves up, as JavaScript's Math.round."""
    whole = math.floor(value)
    return whole + (value - whole >= 0.5)


def axes_id(axes: Mapping[str, int]) -> str:
    """A workload's external id where it has no uuid: 12 hex digits of the SHA-256 of its axes.

    They are compact JSON, names in their own case, in the order of JavaScript's localeCompare.
    """
    in_order = {name: axes[name] for name in sorted(axes, key=_collation)}
    return hashlib.sha256(orjson.dumps(in_order)).hexdigest()[:12]


def _collation(name: str) -> tuple[list[tuple[int, str]], str]:
    # `_` before digits before letters, letters without regard to case; then lower case first.
    classes = [(0 if c == "_" else 1 if c.isdigit() else 2, c) for c in name.lower()]
    return classes, name.swapcase()


def _family(kernel: Row) -> str:
    named = (
        [kernel["op_type"]]
        if kernel["op_type"]
        else [tag for tag in kernel["tags"] if tag not in _SUBSETS and not tag.startswith("model:")]
    )
    return (kebab(named[0]) if named else "") or "uncategorized"


def _axis(axis: Row) -> kinds.Axis:
    match axis["type"]:
        case "const":
            return {"role": "constant", "type": "integer", "value": axis["value"]}
        case "expr":
            return {"role": "derived", "type": "integer", "expression": axis["expression"].lower()}
        case _:
            return {"role": "variable", "type": "integer"}


def _argument(name: str, argument: Row) -> kinds.Argument:
    if not argument.get("shape"):
        return {"name": name, "scalar": {"dtype": dtype(argument["dtype"])}}
    return {"name": name, "tensor": {"shape": _shape(argument), "dtype": dtype(argument["dtype"])}}


def _shape(argument: Row) -> list[int | str]:
    return [_entry(entry) for entry in argument["shape"]]


def _entry(entry: int | str) -> int | str:
    if isinstance(entry, str):
        return int(entry) if re.fullmatch(r"[0-9]{1,16}", entry) else entry.lower()
    return entry


def _size(entry: int | str, values: Mapping[str, int]) -> int:
    if isinstance(entry, int):
        return entry
    if entry not in values:
        raise Unusable(f"a shape names {entry}, an axis for which there is no value")
    return values[entry]


def _lower_case_names(items: Row, what: str, lower: Callable[[str], str]) -> Row:
    renamed = {lower(name): item for name, item in items.items()}
    if len(renamed) < len(items):
        raise Unusable(f"two of its {what} have one name: {', '.join(sorted(items))}")
    return renamed


class _Quarantine:
    """Where items that make no manifest are set aside, under the page that they were read from."""

    def __init__(self, rows: list[Row], pages: Iterable[Page]) -> None:
        self._rows = rows
        self._pages = {page.page_digest: page for page in pages}

    def add(self, item: str, problem: Exception, record: Row) -> None:
        """Set an item aside; `record` is what was read of it. Of two of one name both are kept."""
        page = self._pages[record.get("unread_page_digest") or record["page_digest"]]
        if (page.locator, item) in {(row["locator"], row["item"]) for row in self._rows}:
            item += f", set aside after {len(self._rows)} others"
        self._rows.append(
            {
                "locator": page.locator,
                "item": item,
                "problem": in_words(problem),
                "page_digest": page.page_digest,
                "first_seen_at": page.fetched_at,
            }
        )
