"""Whatever a page says: reading and normalising never raise, and nothing is lost on the way."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.leaderboard.records import read_kernel
from assets.leaderboard.snapshots import Page
from assets.manifests.kernel_manifests import MANIFEST_TABLES, SOURCE_TABLES
from assets.manifests.normalise import normalise
from tests.examples import AUDIO_ENCODER, GEMM, ROPE_FREQUENCY, STRIDED_CONV, Row, answer, recorded
from warehouse.parquet import table_of

Path = tuple[str | int, ...]

# Each was put where it does not belong by somebody, some day.
STRANGE: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**53 - 1, 2**53, 2**64, 10**30, 1.0, -0.0, 0.5, 1e16, 1e20, 1e-320),
    *(float("nan"), float("inf"), -float("inf"), [], {}, [1], [[]], ["x"], [None], {"a": 1}),
    *("", " ", "0", "00", "128", "M", "a b", "x" * 300, "é", "日本", "😀", "a\0b", "NaN", "１２"),
    *("-1", "a//0", "K % 0", "\ud800"),
    *("const", "expr", "var", "(" * 30, "lambda: 1", "__import__('os')", "M ** M", "K // (M - M)"),
    *({"type": "var"}, {"type": "const"}, {"type": "const", "value": 3}, {"type": "expr", "expression": "M"}),
    *({"shape": None, "dtype": "x"}, "B200", "NVIDIA_H100", "COMPLETED", "FAILED"),
    *("2026-08-14T05:38:44.902912", "2026-02-30T00:00:00", "2026-08-14", 213, "213"),
    *("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"),
]  # fmt: skip
STRANGE_TEXTS = [*map(json.dumps, STRANGE), "[" * 260 + "]" * 260]
NAMES = ["new", "id", "latency_ms", "K", "k", "M", "", "é", 'a":b', "\0", "1a", "type", "axes", "\ud800"]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where one can change something."""
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from places(item, (*path, name))
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from places(item, (*path, position))


def strange(draw: st.DrawFn) -> Any:
    return json.loads(draw(st.sampled_from(STRANGE_TEXTS)))


def changed(draw: st.DrawFn, document: Row) -> None:
    """Change one thing somewhere: another value, another name, twice, or gone."""
    path: tuple[Any, ...] = draw(st.sampled_from([*places(document)][1:] or [("new",)]))
    *way, last = path
    holder: Any = document
    for step in way:
        holder = holder[step]
    match draw(st.sampled_from(["replace", "remove", "repeat", "rename", "add"])):
        case "remove" if last in holder or isinstance(holder, list):
            del holder[last]
        case "repeat" if isinstance(holder, list):
            holder.insert(draw(st.integers(0, len(holder))), holder[last])
        case "rename" if isinstance(holder, dict) and last in holder:
            holder[draw(st.sampled_from(NAMES))] = holder.pop(last)
        case "add" if isinstance(holder, dict):
            holder[draw(st.sampled_from(NAMES))] = strange(draw)
        case _:
            holder[last] = strange(draw)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[int, list[Page]]:
    """A real kernel's pages, in which one to three things were changed, and perhaps some bytes."""
    kernel = recorded(draw(st.sampled_from([AUDIO_ENCODER, GEMM, ROPE_FREQUENCY, STRIDED_CONV])))
    first = f"/submissions?kernel_id={kernel.id}"
    cut = draw(st.integers(1, len(kernel.submissions)))
    listings = [kernel.submissions[:cut], kernel.submissions[cut - draw(st.integers(0, 1)) :]]
    total = len(kernel.submissions)
    documents: dict[str, Row] = {
        f"/kernels/{kernel.id}": kernel.definition,
        first: {"submissions": listings[0], "total": total},
        f"{first}&offset={cut}": {"submissions": listings[1], "total": total},
    }
    documents = json.loads(json.dumps(documents))  # so that no two share a part
    for _ in range(draw(st.integers(1, 3))):
        changed(draw, documents[draw(st.sampled_from(sorted(documents)))])
    pages = [answer(locator, document) for locator, document in documents.items()]
    if draw(st.integers(0, 3)) == 0:
        which, place = draw(st.integers(0, 2)), draw(st.integers(0, 400))
        body = pages[which].body
        rest = body[place + draw(st.integers(0, 8)) :]
        put_in = draw(
            st.sampled_from([b"", b",", b"{", b"]", b'"', b'"id": 1,', b"NaN", b"\\u0022", b"\xff"])
        )
        pages[which] = Page(
            pages[which].locator, body[:place] + put_in + rest, pages[which].fetched_at, "test:"
        )
    return kernel.id, pages


def listed(page: Page) -> list[Any]:
    items: list[Any] = json.loads(page.body)["data"]["submissions"]
    return items


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
def test_nothing_raises_and_nothing_is_lost(given_pages: tuple[int, list[Page]]) -> None:
    kernel_id, pages = given_pages
    records = read_kernel(kernel_id, pages)
    unread = [row["item"] for row in records.quarantine if row["item"].startswith("submission ")]
    made = normalise(records, pages)
    tables = {
        table.name: table_of(made[table.name], table.schema).to_pylist()
        for table in (*SOURCE_TABLES, *MANIFEST_TABLES)
    }
    assert all(row["problem"] for row in tables["quarantine"])
    digests = {page.page_digest for page in pages}
    assert {row["page_digest"] for rows in tables.values() for row in rows if "page_digest" in row} <= digests
    if any(row["item"] == "page" for row in tables["quarantine"]):
        # An unreadable page costs its kernel.
        assert not any(rows for name, rows in tables.items() if name not in ("quarantine", "drift"))
        return

    # Every submission that is listed was read or is quarantined,
    items = [item for page in pages[1:] for item in listed(page)]
    submissions = tables["source_submissions"]
    known = Counter(
        item["id"] for item in items if isinstance(item, dict) and isinstance(item.get("id"), int)
    )
    repeats = sum(count - 1 for count in known.values())
    assert len(submissions) <= len(items) - len(unread) <= len(submissions) + repeats
    # and what was read is a run, has a reason code, or is quarantined: one of these.
    used = [row["item"] for row in tables["quarantine"] if row["item"].startswith("submission ")]
    for item in unread:
        used.remove(item)
    by_outcome: dict[str, set[int]] = {"run": set(), "QUARANTINED": set()}
    for row in submissions:
        by_outcome.setdefault(row["outcome"], set()).add(row["submission_id"])
    assert {int(run["external_id"]) for run in tables["runs"]} == by_outcome["run"]
    assert sorted(used) == sorted(f"submission {submission}" for submission in by_outcome["QUARANTINED"])

    # So with workloads: each is a case, or quarantined once.
    workloads = json.loads(pages[0].body)["data"]["workloads"]
    quarantined = [row for row in tables["quarantine"] if row["item"].startswith("workload ")]
    if tables["operations"]:
        cases = [row for row in tables["workloads"] if row["kind"] == "case"]
        assert len(cases) + len(quarantined) == len(workloads)
    else:
        assert len(tables["source_workloads"]) + len(quarantined) == len(workloads)
