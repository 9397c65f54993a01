"""What a page says: strict reading of the API's answers into plain records.

What we use is read strictly. An item that can't be read is quarantined with its reason, a field that
nobody knows is drift; neither is an exception. What the records mean belongs in `manifests`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NotRequired

import orjson
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    with_config,
)
from typing_extensions import TypedDict

from assets.leaderboard.snapshots import Page

# Stands on every page's row. A new one makes all that was read stale: raise it when reading changes.
PARSER_VERSION = "3"

Row = dict[str, Any]

# Canonical JSON has no integers beyond these.
Integer = Annotated[int, Field(ge=-(2**53) + 1, le=2**53 - 1)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
# More submissions than anybody makes of a kernel, and few enough to reckon with: how many there are in all
# fits a column, and how long it takes to fetch them is a time that one can tell.
SubmissionCount = Annotated[int, Field(ge=0, le=10**9)]
Text = Annotated[str, Field(min_length=1)]
# The limit makes pydantic look at it: what holds half a pair of UTF-16 is no text that Arrow can keep.
AnyText = Annotated[str, Field(max_length=2**31 - 1)]


def _in_range(value: float) -> float:
    # Products and ratios of two such numbers, and the axes of a plot of them, are within what a float holds.
    if value and not 1e-15 <= abs(value) <= 1e15:
        raise ValueError("should be 0, or between 1e-15 and 1e15 in size")
    return value


Real = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_in_range)]


def in_years(time: datetime) -> datetime:
    """The time, where it is one that all can hold. Raises ValueError where it is not.

    What counts nanoseconds since 1970, as pandas and DuckDB's epoch_ns do, ends in 2262.
    """
    if not 1970 <= time.year <= 2261:
        raise ValueError("should be a time of the years 1970 to 2261")
    return time


def _utc(value: object) -> datetime:
    # The source writes UTC without a zone, to the microsecond: 2026-08-14T05:38:44.902912.
    if not isinstance(value, str) or len(value) < 19 or value[10] != "T":
        raise ValueError("should be a time like 2026-08-14T05:38:44.902912")
    time = in_years(datetime.fromisoformat(value))
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


Time = Annotated[datetime, BeforeValidator(_utc)]


def _as_json(value: object) -> str | None:
    try:
        return None if value is None else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError as error:
        raise ValueError(f"can't be kept as JSON ({error})") from error


Json = Annotated[Any, AfterValidator(_as_json)]


def _as_text(value: object) -> str | None:
    if not isinstance(value, str):
        return _as_json(value)
    value.encode()  # Half a pair of UTF-16 is no text that Arrow can keep.
    return value


# Text; what is served in its place, as a number or an object, as JSON.
Said = Annotated[Any, AfterValidator(_as_text)]

_read = with_config(ConfigDict(strict=True, extra="ignore"))


@_read
class ConstantAxis(TypedDict):
    """An axis with one value for all workloads."""

    type: Literal["const"]
    value: Integer
    description: NotRequired[AnyText | None]


@_read
class VariableAxis(TypedDict):
    """An axis whose value each workload says."""

    type: Literal["var"]
    description: NotRequired[AnyText | None]


@_read
class DerivedAxis(TypedDict):
    """An axis computed from others."""

    type: Literal["expr"]
    expression: Text
    description: NotRequired[AnyText | None]


@_read
class Argument(TypedDict):
    """An input or output; a null or empty shape is a scalar."""

    shape: NotRequired[list[Count | Text] | None]
    dtype: Text
    description: NotRequired[AnyText | None]


@_read
class Kernel(TypedDict):
    """The answer of `/kernels/{id}`, but for its workloads, which are read one by one."""

    id: Count
    name: Text
    title: NotRequired[AnyText | None]
    description: NotRequired[AnyText | None]
    op_type: NotRequired[AnyText | None]
    gpu_types: NotRequired[list[Text] | None]
    tags: NotRequired[list[Text] | None]
    axes: dict[Text, Annotated[ConstantAxis | VariableAxis | DerivedAxis, Field(discriminator="type")]]
    inputs: dict[Text, Argument]
    outputs: dict[Text, Argument]
    baseline: NotRequired[AnyText | None]
    baseline_latency_ms: NotRequired[Real | None]
    latency_unit: NotRequired[AnyText | None]
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
    """One submission; `review` and `collection` are its fields `review_...` and `collection_...`."""

    id: Count
    kernel_id: Count
    username: NotRequired[Text | None]
    submission_mode: NotRequired[AnyText | None]
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
    started_at: NotRequired[Time | None]
    result_available_at: NotRequired[Time | None]
    user_id: NotRequired[Said]
    original_filename: NotRequired[Said]
    error_log: NotRequired[Said]
    disqualification_reason: NotRequired[Said]
    disqualification_source: NotRequired[Said]
    disqualified_at: NotRequired[Time | None]
    benchmark_results: NotRequired[Json]
    review: NotRequired[Json]
    collection: NotRequired[Json]


@_read
class Listing(TypedDict):
    """The answer of `/submissions`, but for its submissions, which are read one by one."""

    submissions: list[Any]
    total: Count
    limit: NotRequired[Any]


@_read
class ListedKernel(TypedDict):
    """One kernel of `/kernels`."""

    id: Count
    name: Text
    submission_count: NotRequired[SubmissionCount | None]


@_read
class KernelListing(TypedDict):
    """The answer of `/kernels`."""

    kernels: list[Any]


_KERNEL = TypeAdapter(Kernel).validator
_WORKLOAD = TypeAdapter(Workload).validator
_SUBMISSION = TypeAdapter(Submission).validator
_MODE = TypeAdapter(AnyText | None, config=ConfigDict(strict=True)).validator
_COUNT = TypeAdapter(Count, config=ConfigDict(strict=True)).validator
_LISTING = TypeAdapter(Listing).validator
_LISTED_KERNEL = TypeAdapter(ListedKernel).validator
_KERNEL_LISTING = TypeAdapter(KernelListing).validator

# Fields that no manifest needs and no outcome rests on: one that can't be read costs no more than itself.
_BESIDE = {
    "kernel": frozenset(Kernel.__annotations__)
    - {"id", "name", "op_type", "tags", "axes", "inputs", "outputs", "workloads"},
    "workload": frozenset(Workload.__annotations__) - {"uuid", "axes"},
    "submission": frozenset(Submission.__annotations__)
    - {
        "id", "kernel_id", "username", "status", "is_correct", "is_disqualified", "gpu_type",
        "evaluation_stack_version", "latency_ms", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total",
        "submitted_at", "finished_at",
    },
    "listed kernel": frozenset({"submission_count"}),
}  # fmt: skip
# What a submission must say that is no run by its own word.
_SAYS_NO_RUN = frozenset({"id", "kernel_id", "status", "is_correct", "is_disqualified"})

# The one mode in which the leaderboard publishes a submission.
_PUBLIC_MODE = "release"

# Fields of a submission that are kept together, as JSON, by how their names begin.
_FAMILIES = ("review", "collection")

# The fields that are known, by where they stand; those that are kept with the page and not used (DESIGN §3)
# are among them.
_KNOWN = {
    "": frozenset({"data"}),
    "data.kernels[]": frozenset({"id", "name", "title", "gpu_types", "tags", "submission_count"}),
    "data.axes.*": frozenset({"type", "value", "expression", "description"}),
    "data.inputs.*": frozenset(Argument.__annotations__),
    "data.outputs.*": frozenset(Argument.__annotations__),
    "data.workloads[]": frozenset(Workload.__annotations__),
    "data.submissions[]": frozenset(Submission.__annotations__).difference(_FAMILIES) | {
        "type", "kernel_name", "kernel_title", "profiling_results", "run_log",
    },
}  # fmt: skip
_KNOWN_OF_DATA = {
    "/kernels": frozenset({"kernels"}),
    "/kernels/": frozenset(Kernel.__annotations__),
    "/submissions": frozenset({"submissions", "total", "offset", "limit"}),
}
_KNOWN_FAMILIES = re.compile(r"data\.submissions\[\]\.(collection|disqualification|review)_")


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
    `unread` are submissions that could not be read, each by its id with the digest of the page that lists it;
    `held` are all that stand on the pages, by id, or by page and place where they have none; `total` is how
    many there are by the last listing.
    """

    kernel: Row | None = None
    workloads: list[Row] = field(default_factory=list)
    submissions: list[Row] = field(default_factory=list)
    quarantine: list[Row] = field(default_factory=list)
    drift: list[Row] = field(default_factory=list)
    unread: dict[int, str] = field(default_factory=dict)
    held: set[object] = field(default_factory=set)
    total: int | None = None


def read_kernel(kernel_id: int, pages: Iterable[Page]) -> Records:
    """Read a kernel's pages: its definition and the listings of its submissions, in order of fetching."""
    return merged(read_page(kernel_id, page) for page in pages)


def read_page(kernel_id: int, page: Page) -> Records:
    """Read one of a kernel's pages: its definition, or a listing of submissions.

    A page that can't be read is quarantined whole, as the item `page`.
    """
    reading = _Reading(page)
    try:
        answer = read_answer(page)
        if page.locator.startswith("/submissions"):
            reading.submissions(answer["data"], kernel_id)
        else:
            reading.kernel(answer["data"], kernel_id)
        reading.note_unknown(answer)
    except Unreadable as problem:
        reading.quarantine("page", str(problem))
    return reading.records


def merged(readings: Iterable[Records]) -> Records:
    """What several pages of a kernel say together.

    A submission that stands on several is taken from the last one. One page that can't be read costs the
    kernel: what is left of it then is the quarantine.
    """
    whole = Records()
    submissions: dict[int, Row] = {}
    for records in readings:
        whole.kernel = records.kernel or whole.kernel
        whole.workloads += records.workloads
        whole.quarantine += records.quarantine
        whole.drift += records.drift
        for submission_id in records.unread:
            submissions.pop(submission_id, None)
        whole.unread |= records.unread
        for row in records.submissions:
            submissions[row["submission_id"]] = row
            whole.unread.pop(row["submission_id"], None)
        whole.held |= records.held
        whole.total = whole.total if records.total is None else records.total
    if any(row["item"] == "page" for row in whole.quarantine):
        return Records(quarantine=whole.quarantine, drift=whole.drift)
    whole.submissions = list(submissions.values())
    if whole.kernel:
        counts = {"submission_total": whole.total, "submissions_held": len(whole.held)}
        whole.kernel = {**whole.kernel, **counts}
    return whole


def read_kernel_listing(page: Page) -> tuple[dict[int, str], Records]:
    """Read `/kernels`: the names of the kernels by id, and what of the page could not be read.

    Raises Unreadable where the page holds no such answer.
    """
    reading = _Reading(page)
    answer = read_answer(page)
    names: dict[int, str] = {}
    listed: set[int] = set()
    for position, item in enumerate(_valid(_KERNEL_LISTING, answer["data"])["kernels"]):
        try:
            kernel, problems = _taken(_LISTED_KERNEL, item, _BESIDE["listed kernel"])
        except Unreadable as problem:
            reading.quarantine(_item("kernel", item), str(problem), position)
            continue
        reading.leave_out(f"kernel {kernel['id']}", problems)
        first_name = names.setdefault(kernel["id"], kernel["name"])
        if kernel["id"] in listed:
            other = "" if first_name == kernel["name"] else f", here as {_shown(kernel['name'])}"
            twice = f"its id is listed before, as {_shown(first_name)}, and counts as that{other}"
            reading.quarantine(f"kernel {kernel['id']} at {position}", twice)
        listed.add(kernel["id"])
    reading.note_unknown(answer)
    return names, reading.records


def submission_counts(page: Page) -> dict[int, int]:
    """How many submissions `/kernels` promises, by kernel id, of the kernels for which it says so.

    Raises Unreadable where the page holds no such answer.
    """
    counts: dict[int, int | None] = {}
    for item in _valid(_KERNEL_LISTING, read_answer(page)["data"])["kernels"]:
        with suppress(Unreadable):
            kernel, _ = _taken(_LISTED_KERNEL, item, _BESIDE["listed kernel"])
            counts.setdefault(kernel["id"], kernel.get("submission_count"))  # Of two the first counts.
    return {kernel_id: count for kernel_id, count in counts.items() if count is not None}


def read_listing(page: Page) -> Listing:
    """Read a page of `/submissions` as a page: its rows as they are, and how many there are in all.

    Raises Unreadable where the page holds no such answer.
    """
    listing: Listing = _valid(_LISTING, read_answer(page)["data"])
    return listing


# What has yet to end; of PENDING_RESULT, the evaluation has, and the result is held back for some minutes.
_UNDER_WAY = re.compile("PENDING|QUEUED|RUNNING")


def is_over(item: Any) -> bool:
    """Whether a submission, as a page of `/submissions` lists it, is over: no result of it is to follow."""
    status = item.get("status") if isinstance(item, dict) else None
    if not isinstance(status, str) or status == "COMPLETED":
        return True
    return item.get("finished_at") is not None and not _UNDER_WAY.search(status)


def read_answer(page: Page) -> Any:
    """A whole answer: an object with `data`. Raises Unreadable, in words, where the page holds none."""
    if page.status != 200:
        raise Unreadable(f"the source answered with status {page.status}")
    try:
        answer = _loads(page.body)
    except (ValueError, RecursionError) as error:
        # No further than to the first row of a listing: it need not be public.
        start = re.split(r"\[\s*\{", page.body[:40].decode("utf-8", "replace"))[0]
        reason = "is nested too deep" if isinstance(error, RecursionError) else "is no JSON"
        raise Unreadable(f"the page {reason}; it starts with {start!r}") from error
    if not isinstance(answer, dict) or "data" not in answer:
        raise Unreadable(f'the answer is no {{"data": ...}} but {_shown(answer)}')
    return answer


def items_of(answer: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of an answer whose fields the source chooses, each with where it stands.

    Submissions that are not public are left out: what they are made of is not told.
    """
    yield "", answer
    data = answer["data"]
    if isinstance(data, dict):
        yield "data", data
        for name in ("axes", "inputs", "outputs"):
            named = data.get(name)
            yield from (
                (f"data.{name}.*", item) for item in (named.values() if isinstance(named, dict) else ())
            )
        for name in ("workloads", "submissions", "kernels"):
            listed = data.get(name)
            yield from (
                (f"data.{name}[]", item)
                for item in (listed if isinstance(listed, list) else ())
                if name != "submissions" or is_public(item)
            )


def is_public(item: Any) -> bool:
    """Whether a row of a listing is a public submission.

    A row that names no mode is: the listing is the public one. A mode that is null, or unheard of, is not.
    """
    return not isinstance(item, dict) or bool(item.get("submission_mode", _PUBLIC_MODE) == _PUBLIC_MODE)


def _with_families(item: Any) -> Any:
    """A submission with the fields that are kept together."""
    if not isinstance(item, dict):
        return item
    families: dict[str, dict[str, Any]] = {}
    for name, value in item.items():
        family = name.partition("_")[0]
        if value is not None and family in _FAMILIES and name != family:
            families.setdefault(family, {})[name.removeprefix(f"{family}_")] = value
    return item | dict.fromkeys(_FAMILIES) | families


def in_words(problem: Exception) -> str:
    """Why something can't be read, in a sentence: the first thing that is wrong, and how many more."""
    if not isinstance(problem, ValidationError):
        return str(problem)
    return _said(problem.errors(include_url=False))


def _said(errors: Sequence[Any]) -> str:
    first, *more = errors
    place = ".".join(str(part) for part in first["loc"]) or "it"
    text = f"{place}: {first['msg']}"
    if first["type"] != "missing":
        text += f", not {_shown(first['input'])}"
    return _printable(text + (f"; and {len(more)} more" if more else ""))


def _taken(validator: Any, item: Any, beside: Set[str]) -> tuple[Any, dict[str, str]]:
    """An item without those of the fields `beside` that can't be read, and what is wrong with each of them.

    So are descriptions of what stands in it. Raises Unreadable where something else of it can't be read.
    """
    try:
        return validator.validate_python(item), {}
    except ValidationError as error:
        errors = error.errors(include_url=False)
        paths = [_path_beside(each["loc"], beside) for each in errors]
        if () in paths:
            needed = [each for each, path in zip(errors, paths, strict=True) if not path]
            raise Unreadable(_said([*needed, *(each for each in errors if each not in needed)])) from error
        said = zip(reversed(paths), map(_said, ([each] for each in reversed(errors))), strict=True)
        return _valid(validator, _without(item, paths)), {".".join(path): problem for path, problem in said}


def _path_beside(place: tuple[int | str, ...], beside: Set[str]) -> tuple[str, ...]:
    """The field that costs no more than itself where this place is wrong; none, where that costs the item."""
    names = tuple(map(str, place))
    if names and names[0] in beside:
        return names[:1]
    # An axis is of one kind of three, and pydantic names that too, before the name of the field.
    return (*names[:2], names[-1]) if len(names) > 2 and names[-1] == "description" else ()


def _without(item: Any, paths: Iterable[tuple[str, ...]]) -> Any:
    """An object without some of its fields, or of the objects in it."""
    rest = dict(item)
    for name, *inner in paths:
        if inner:
            rest[name] = _without(rest[name], [tuple(inner)])
        else:
            rest.pop(name, None)
    return rest


def _submission(item: Any) -> tuple[Row, dict[str, str]]:
    """A submission, and what is wrong with fields that are left out; of one that is not public, its id alone.

    Raises Unreadable where it can't be read.
    """
    if is_public(item):
        return _taken(_SUBMISSION, _with_families(item), _beside(item))
    problems = {}
    try:
        _COUNT.validate_python(item.get("id"))
    except ValidationError as error:
        raise Unreadable("it is not public, and its id can't be read") from error
    try:
        _MODE.validate_python(item["submission_mode"])
    except ValidationError:
        problems = {"submission_mode": "it can't be read, so the submission is not taken for public"}
    return {"id": item["id"], "is_private": True}, problems


def _beside(item: Any) -> Set[str]:
    """The fields of a submission that cost no more than themselves."""
    if not isinstance(item, dict):
        return frozenset()
    is_over = item.get("status") == "COMPLETED" or not isinstance(item.get("status"), str)
    if not is_over or item.get("is_correct") is False or item.get("is_disqualified") is True:
        # It can't become a run, whatever else it says.
        return Submission.__annotations__.keys() - _SAYS_NO_RUN
    try:
        _utc(item.get("finished_at"))
    except ValueError:
        return _BESIDE["submission"]
    return _BESIDE["submission"] | {"submitted_at"}


class _Reading:
    """One page being read: what is found goes to its records, under the page's locator and digest."""

    def __init__(self, page: Page) -> None:
        self.records = Records()
        self.source = {"locator": page.locator, "page_digest": page.page_digest}
        self.fetched_at = page.fetched_at

    def kernel(self, data: Any, kernel_id: int) -> None:
        """Read `/kernels/{id}` into a kernel and its workloads."""
        kernel, problems = _taken(_KERNEL, data, _BESIDE["kernel"])
        if kernel["id"] != kernel_id:
            raise Unreadable(f"the page is of kernel {kernel['id']}, not of kernel {kernel_id}")
        self.leave_out("kernel", problems)
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
                workload, problems = _taken(_WORKLOAD, item, _BESIDE["workload"])
            except Unreadable as problem:
                self.quarantine(f"workload {position}", str(problem))
                continue
            self.leave_out(f"workload {position}", problems)
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

    def submissions(self, data: Any, kernel_id: int) -> None:
        """Read a page of `/submissions` into rows; of two with one id the last is right."""
        page_digest = self.source["page_digest"]
        rows: dict[int, Row] = {}
        listing = _valid(_LISTING, data)
        self.records.total = listing["total"]
        places: dict[int, int] = {}
        for position, item in enumerate(listing["submissions"]):
            submission_id = _id_of(item)
            self.records.held.add((page_digest, position) if submission_id is None else submission_id)
            try:
                row, problems = _submission(item)
            except Unreadable as problem:
                self.quarantine(_item("submission", item), str(problem), position)
                if submission_id is not None:
                    self.records.unread[submission_id] = page_digest
                    rows.pop(submission_id, None)
                continue
            submission_id = row.pop("id")
            # Of one that is not public nothing is told, not even where else it may belong.
            if row.setdefault("kernel_id", kernel_id) != kernel_id:
                problem_in_words = f"it is of kernel {row['kernel_id']}, listed under kernel {kernel_id}"
                self.quarantine(f"submission {submission_id}", problem_in_words, position)
                continue
            self.leave_out(f"submission {submission_id}", problems)
            if submission_id in rows:
                item_before = f"submission {submission_id} at {places[submission_id]}"
                self.quarantine(item_before, "it stands on the page again, and counts as it stands last")
            places[submission_id] = position
            rows[submission_id] = {"submission_id": submission_id, **row, "page_digest": page_digest}
        self.records.submissions = list(rows.values())

    def leave_out(self, item: str, problems: Mapping[str, str]) -> None:
        """Note the fields of an item that could not be read and are left out."""
        for name, problem in problems.items():
            self.quarantine(f"{name} of {item}", f"{problem}; the field is left out")

    def quarantine(self, item: str, problem: str, position: int | None = None) -> None:
        """Set an item of the page aside, with the reason in words.

        Where its name does not tell it from those set aside before, its place on the page does.
        """
        if item in {row["item"] for row in self.records.quarantine} or item.endswith(" at"):
            item = f"{item.removesuffix(' at')} at {position}"
        row = {**self.source, "item": item, "problem": problem, "first_seen_at": self.fetched_at}
        self.records.quarantine.append(row)

    def note_unknown(self, answer: Any) -> None:
        """Note the fields of an answer that nobody knows, each once."""
        kind = re.match(r"/kernels/?|/submissions", self.source["locator"])
        known = {**_KNOWN, "data": _KNOWN_OF_DATA[kind[0]] if kind else frozenset()}
        unknown: dict[str, None] = {}
        for path, item in items_of(answer):
            if isinstance(item, dict) and not item.keys() <= known[path]:
                unknown |= {f"{path}.{name}".lstrip("."): None for name in item if name not in known[path]}
        seen = {"change": "appeared", "first_seen_at": self.fetched_at, "last_seen_at": self.fetched_at}
        self.records.drift += [
            {**self.source, "field": _printable(name), **seen}
            for name in unknown
            if not _KNOWN_FAMILIES.match(name)
        ]


# Of a field's name, `":`: orjson writes them as they are.
_ESCAPED_END = re.compile(rb"\\u00(22|3[aA])")


def _loads(body: bytes) -> Any:
    """Any JSON, with _Repeated for each object that names a field twice."""
    try:
        value = orjson.loads(body)
        again = orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass  # The slow way also takes NaN and Infinity: those cost the item that holds them, not the page.
    else:
        # orjson keeps the last of two fields of one name; then the text that it writes has fewer names.
        fields = body.translate(None, b" \t\r\n").count(b'":')
        if not _ESCAPED_END.search(body) and fields == again.count(b'":'):
            return value
    return json.loads(body, object_pairs_hook=_object, parse_int=_integer)


def _integer(digits: str) -> int | float:
    # Python reads no integer of thousands of digits; as a float it is infinite, which nothing takes.
    return int(digits) if len(digits) < 1000 else float(digits)


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
    try:
        text = repr(value)
    except RecursionError:
        return "what is nested too deep"
    return text if len(text) <= 60 else text[:60] + "..."


def _printable(text: str) -> str:
    """Text that can be kept, whatever names of the source's stand in it."""
    return text.encode("utf-8", "backslashreplace").decode()


def _item(noun: str, item: Any) -> str:
    """The name of an item by its id; where that can't be read, its place on the page is to follow."""
    identifier = _id_of(item)
    return f"{noun} at" if identifier is None else f"{noun} {identifier}"


def _id_of(item: Any) -> int | None:
    identifier = item.get("id") if isinstance(item, dict) else None
    return identifier if isinstance(identifier, int) and not isinstance(identifier, bool) else None


def _dumps(value: Any) -> str:
    return orjson.dumps(value).decode()
