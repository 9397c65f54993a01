"""What a page says: strict reading of the API's answers into plain records.

What we use is read strictly. An item that can't be read is quarantined with its reason, a field that
nobody knows is drift; neither is an exception. What the records mean belongs in `manifests`.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NotRequired

import orjson
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from assets.leaderboard.snapshots import Page

# Stands on every page's row. A new one makes all that was read stale: raise it when reading changes.
PARSER_VERSION = "1"

Row = dict[str, Any]

# Canonical JSON has no integers beyond these.
Integer = Annotated[int, Field(ge=-(2**53) + 1, le=2**53 - 1)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Real = Annotated[float, Field(allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]


def _utc(value: object) -> datetime:
    # The source writes UTC without a zone, to the microsecond: 2026-08-14T05:38:44.902912.
    if not isinstance(value, str) or len(value) < 19 or value[10] != "T":
        raise ValueError("should be a time like 2026-08-14T05:38:44.902912")
    time = datetime.fromisoformat(value)
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


Time = Annotated[datetime, BeforeValidator(_utc)]

_read = with_config(ConfigDict(strict=True, extra="ignore"))


@_read
class ConstantAxis(TypedDict):
    """An axis with one value for all workloads."""

    type: Literal["const"]
    value: Integer


@_read
class VariableAxis(TypedDict):
    """An axis whose value each workload says."""

    type: Literal["var"]


@_read
class DerivedAxis(TypedDict):
    """An axis computed from others."""

    type: Literal["expr"]
    expression: Text


@_read
class Argument(TypedDict):
    """An input or output; a null or empty shape is a scalar."""

    shape: NotRequired[list[Count | Text] | None]
    dtype: Text


@_read
class Kernel(TypedDict):
    """The answer of `/kernels/{id}`, but for its workloads, which are read one by one."""

    id: Count
    name: Text
    title: NotRequired[str | None]
    description: NotRequired[str | None]
    op_type: NotRequired[str | None]
    gpu_types: NotRequired[list[Text] | None]
    tags: NotRequired[list[Text] | None]
    axes: dict[Text, Annotated[ConstantAxis | VariableAxis | DerivedAxis, Field(discriminator="type")]]
    inputs: dict[Text, Argument]
    outputs: dict[Text, Argument]
    baseline: NotRequired[str | None]
    baseline_latency_ms: NotRequired[Real | None]
    latency_unit: NotRequired[str | None]
    sol_is_dummy: NotRequired[bool | None]
    workloads: Annotated[list[Any], Field(min_length=1)]


@_read
class Workload(TypedDict):
    """One workload of a kernel."""

    uuid: NotRequired[Text | None]
    axes: dict[Text, Integer]
    baseline_latency_ms: NotRequired[Real | None]
    sol_ms: NotRequired[Real | None]


@_read
class Submission(TypedDict):
    """One submission of a listing."""

    id: Count
    kernel_id: Count
    username: NotRequired[Text | None]
    submission_mode: NotRequired[str | None]
    status: Text
    is_correct: NotRequired[bool | None]
    is_disqualified: NotRequired[bool | None]
    gpu_type: NotRequired[Text | None]
    evaluation_stack_version: NotRequired[Text | None]
    worker_id: NotRequired[Text | None]
    latency_ms: NotRequired[Real | None]
    sol_score: NotRequired[Real | None]
    avg_speedup: NotRequired[Real | None]
    fast_1_count: NotRequired[Count | None]
    fast_1_total: NotRequired[Count | None]
    submitted_at: NotRequired[Time | None]
    finished_at: NotRequired[Time | None]


@_read
class Listing(TypedDict):
    """The answer of `/submissions`, but for its submissions, which are read one by one."""

    submissions: list[Any]
    total: Count


@_read
class ListedKernel(TypedDict):
    """One kernel of `/kernels`."""

    id: Count
    name: Text


@_read
class KernelListing(TypedDict):
    """The answer of `/kernels`."""

    kernels: list[Any]


_KERNEL = TypeAdapter(Kernel).validator
_WORKLOAD = TypeAdapter(Workload).validator
_SUBMISSION = TypeAdapter(Submission).validator
_LISTING = TypeAdapter(Listing).validator
_LISTED_KERNEL = TypeAdapter(ListedKernel).validator
_KERNEL_LISTING = TypeAdapter(KernelListing).validator

_KERNEL_FIELDS = frozenset(Kernel.__annotations__)
_WORKLOAD_FIELDS = frozenset(Workload.__annotations__)
_ARGUMENT_FIELDS = frozenset({*Argument.__annotations__, "description"})
_AXIS_FIELDS = frozenset({"type", "value", "expression", "description"})
_LISTING_FIELDS = frozenset({"submissions", "total", "offset", "limit"})
_LISTED_KERNEL_FIELDS = frozenset({"id", "name", "title", "gpu_types", "tags", "submission_count"})
# Kept with the page, not used (DESIGN §3).
_SUBMISSION_FIELDS = frozenset(Submission.__annotations__) | {
    "type", "user_id", "kernel_name", "kernel_title", "collection_id", "collection_submission_id",
    "collection_title", "benchmark_results", "disqualification_reason", "disqualification_source",
    "disqualified_at", "error_log", "original_filename", "started_at", "profiling_results", "run_log",
}  # fmt: skip


class Unreadable(ValueError):
    """A page that holds no answer of this API; says why."""


class _Repeated:
    """Stands where a JSON object names a field twice: no model takes it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"an object that names {self.name[:40]!r} twice"


@dataclass
class Records:
    """What a kernel's pages say, and what of them could not be read or is not known.

    `kernel` is a row of source_kernels and `workloads` rows of source_workloads; `submissions` are rows of
    source_submissions that have no outcome yet; `quarantine` and `drift` rows of the tables of that name.
    """

    kernel: Row | None = None
    workloads: list[Row] = field(default_factory=list)
    submissions: list[Row] = field(default_factory=list)
    quarantine: list[Row] = field(default_factory=list)
    drift: list[Row] = field(default_factory=list)


def read_kernel(kernel_id: int, pages: Iterable[Page]) -> Records:
    """Read a kernel's pages: its definition and the listings of its submissions, in order of fetching.

    A submission that stands on several pages is taken from the last one. One page that can't be read costs
    the kernel: what is left of it then is the quarantine.
    """
    records = Records()
    submissions: dict[int, Row] = {}
    for page in pages:
        reading = _Reading(page, records)
        try:
            data = read_answer(page)
            if page.locator.startswith("/submissions"):
                for row in reading.submissions(data, kernel_id):
                    submissions[row["submission_id"]] = row
            else:
                reading.kernel(data, kernel_id)
        except Unreadable as problem:
            reading.quarantine("page", str(problem))
    if any(row["item"] == "page" for row in records.quarantine):
        return Records(quarantine=records.quarantine, drift=records.drift)
    records.submissions = list(submissions.values())
    return records


def read_kernel_listing(page: Page) -> tuple[dict[int, str], Records]:
    """Read `/kernels`: the names of the kernels by id, and what of the page could not be read.

    Raises Unreadable where the page holds no such answer.
    """
    records = Records()
    reading = _Reading(page, records)
    data = _valid(_KERNEL_LISTING, read_answer(page))
    names: dict[int, str] = {}
    for position, item in enumerate(data["kernels"]):
        try:
            kernel = _valid(_LISTED_KERNEL, item)
        except Unreadable as problem:
            reading.quarantine(_item("kernel", item, position), str(problem))
        else:
            reading.note_unknown("data.kernels[]", item, _LISTED_KERNEL_FIELDS)
            names[kernel["id"]] = kernel["name"]
    return names, records


def read_answer(page: Page) -> Any:
    """The `data` of an answer. Raises Unreadable, in words, where the page holds none."""
    if page.status != 200:
        raise Unreadable(f"the source answered with status {page.status}")
    try:
        answer = _loads(page.body)
    except (ValueError, RecursionError) as error:
        start = page.body[:40].decode("utf-8", "replace")
        reason = "is nested too deep" if isinstance(error, RecursionError) else "is no JSON"
        raise Unreadable(f"the page {reason}; it starts with {start!r}") from error
    if not isinstance(answer, dict) or "data" not in answer:
        raise Unreadable(f'the answer is no {{"data": ...}} but {_shown(answer)}')
    return answer["data"]


def in_words(problem: Exception) -> str:
    """Why something can't be read, in a sentence: the first thing that is wrong, and how many more."""
    if not isinstance(problem, ValidationError):
        return str(problem)
    first, *more = problem.errors(include_url=False)
    place = ".".join(str(part) for part in first["loc"]) or "it"
    text = f"{place}: {first['msg']}"
    if first["type"] != "missing":
        text += f", not {_shown(first['input'])}"
    return text + (f"; and {len(more)} more" if more else "")


class _Reading:
    """One page being read: what is found goes to the records, under the page's locator and digest."""

    def __init__(self, page: Page, records: Records) -> None:
        self.records = records
        self.source = {"locator": page.locator, "page_digest": page.page_digest}
        self.first_seen_at = page.fetched_at
        self.unknown: set[str] = set()

    def kernel(self, data: Any, kernel_id: int) -> None:
        """Read `/kernels/{id}` into a kernel and its workloads."""
        kernel = _valid(_KERNEL, data)
        if kernel["id"] != kernel_id:
            raise Unreadable(f"the page is of kernel {kernel['id']}, not of kernel {kernel_id}")
        self.note_unknown("data", data, _KERNEL_FIELDS)
        for part, known in (
            ("axes", _AXIS_FIELDS),
            ("inputs", _ARGUMENT_FIELDS),
            ("outputs", _ARGUMENT_FIELDS),
        ):
            for item in data[part].values():
                self.note_unknown(f"data.{part}.*", item, known)
        page_digest = self.source["page_digest"]
        self.records.kernel = {
            "kernel_id": kernel_id,
            "kernel_name": kernel["name"],
            **{name: kernel.get(name) for name in ("title", "description", "op_type")},
            "gpu_types": kernel.get("gpu_types") or [],
            "tags": kernel.get("tags") or [],
            **{name: _dumps(kernel[name]) for name in ("axes", "inputs", "outputs")},
            **{
                name: kernel.get(name)
                for name in ("baseline", "baseline_latency_ms", "latency_unit", "sol_is_dummy")
            },
            "page_digest": page_digest,
        }
        for position, item in enumerate(kernel["workloads"]):
            try:
                workload = _valid(_WORKLOAD, item)
            except Unreadable as problem:
                self.quarantine(f"workload {position}", str(problem))
                continue
            self.note_unknown("data.workloads[]", item, _WORKLOAD_FIELDS)
            self.records.workloads.append(
                {
                    "kernel_id": kernel_id,
                    "position": position,
                    "uuid": workload.get("uuid"),
                    "axes": _dumps(workload["axes"]),
                    "baseline_latency_ms": workload.get("baseline_latency_ms"),
                    "sol_ms": workload.get("sol_ms"),
                    "page_digest": page_digest,
                }
            )

    def submissions(self, data: Any, kernel_id: int) -> Iterable[Row]:
        """Read a page of `/submissions` into rows."""
        listing = _valid(_LISTING, data)
        self.note_unknown("data", data, _LISTING_FIELDS)
        page_digest = self.source["page_digest"]
        for position, item in enumerate(listing["submissions"]):
            try:
                row: Row = _SUBMISSION.validate_python(item)
            except ValidationError as error:
                self.quarantine(_item("submission", item, position), in_words(error))
                continue
            if row["kernel_id"] != kernel_id:
                problem = f"it is of kernel {row['kernel_id']}, listed under kernel {kernel_id}"
                self.quarantine(_item("submission", item, position), problem)
                continue
            if not item.keys() <= _SUBMISSION_FIELDS:
                self.note_unknown("data.submissions[]", item, _SUBMISSION_FIELDS)
            row["submission_id"] = row.pop("id")
            row["page_digest"] = page_digest
            yield row

    def quarantine(self, item: str, problem: str) -> None:
        """Set an item of the page aside, with the reason in words."""
        row = {**self.source, "item": item, "problem": problem, "first_seen_at": self.first_seen_at}
        self.records.quarantine.append(row)

    def note_unknown(self, path: str, item: Mapping[str, Any], known: Collection[str]) -> None:
        """Note the fields of an item that nobody knows, each once a page."""
        for name in item:
            name_path = f"{path}.{name}"
            if name not in known and name_path not in self.unknown:
                self.unknown.add(name_path)
                row = {**self.source, "field": name_path, "first_seen_at": self.first_seen_at}
                self.records.drift.append(row)


def _loads(body: bytes) -> Any:
    """Any JSON, with _Repeated for each object that names a field twice."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        pass  # The slow way also takes NaN and Infinity: those cost the item that holds them, not the page.
    else:
        # orjson keeps the last of two fields of one name; then the text that it writes has fewer names.
        fields = body.translate(None, b" \t\r\n").count(b'":')
        if rb"\u00" not in body and fields == orjson.dumps(value).count(b'":'):
            return value
    return json.loads(body, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    names = [name for name, _ in pairs]
    return _Repeated(next(name for name in fields if names.count(name) > 1))


def _valid(validator: Any, value: Any) -> Any:
    try:
        return validator.validate_python(value)
    except ValidationError as error:
        raise Unreadable(in_words(error)) from error


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


def _item(noun: str, item: Any, position: int) -> str:
    """The name of an item: by its id, if that can be read, else by its place on the page."""
    identifier = item.get("id") if isinstance(item, dict) else None
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        return f"{noun} {identifier}"
    return f"{noun} at {position}"


def _dumps(value: Any) -> str:
    return orjson.dumps(value).decode()
