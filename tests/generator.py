"""Made-up leaderboards of any size, as directories of saved answers: for tests and benchmarks.

Kernels are the recorded sample's, each copy told apart by one constant axis. Submissions, users and times are
drawn by chance from a seed, in shapes like the real ones: few kernels and few users have most submissions,
latencies fall from the baseline towards the bound as days go by, few runs are faster than their bound. All of
it can be read, and passes every check.

    python -m tests.generator DIR [--kernels 235] [--submissions 60000] [--users 500] [--days 180] [--seed 0]
    python -m tests.generator DIR --next-day 0.01 [--seed 0]
"""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from assets.leaderboard.sources import RecordedSource

PAGE_LIMIT = 50
FIRST_ID = 10_000
FIRST_DAY = datetime(2026, 2, 1, tzinfo=UTC)

# What a name may hold; the rest are numbered.
HOSTILE_NAMES = (
    "Amir M. Mir | SF Tensor",
    "AM I RSI?",
    "Proud Wren @ NVIDIA",
    "Proud Wren @NVIDIA",
    "Robert'); DROP TABLE runs;--",
    '<script>alert("1")</script>',
    "=cmd|' /C calc'!A0",
    "[bold]bold[/bold]",
    "\x1b[31mred\x1b[0m",
    "two\nlines\tand a tab",
    "../../etc/passwd",
    "ΩMEGA 計算 🚀",
    '"quoted", with, commas',
    "| pipe | and `tick` |",
)

# What becomes of submissions: how many of a thousand, status, and whether what came is correct, disqualified.
_FATES = (
    (830, "COMPLETED", True, False),
    (80, "COMPLETED", False, False),
    (10, "COMPLETED", True, True),
    (50, "FAILED", False, False),
    (25, "TIMEOUT", False, False),
    (5, "RUNNING", None, False),
)
_FASTER_THAN_THE_BOUND = 0.0005

_ABSENT = (
    "collection_id", "collection_submission_id", "collection_title", "benchmark_results",
    "disqualification_reason", "disqualification_source", "error_log", "original_filename",
)  # fmt: skip

Row = dict[str, Any]


def generate(
    directory: Path,
    *,
    submissions: int = 60_000,
    kernels: int = 235,
    users: int = 500,
    days: int = 180,
    seed: int = 0,
) -> Path:
    """Write a leaderboard as DirectorySource reads it, listings in pages of 50; return the directory.

    The same arguments write the same bytes.
    """
    chance = np.random.default_rng(seed)
    for name in ("kernels", "submissions"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    definitions = [_definition(number) for number in range(1, kernels + 1)]
    weights = chance.lognormal(sigma=1.0, size=kernels)
    kernel_of = chance.choice(kernels, size=submissions, p=weights / weights.sum())
    times = np.sort(chance.random(submissions)) * days * 86_400
    in_groups = np.argsort(kernel_of, kind="stable")
    starts = np.searchsorted(kernel_of[in_groups], np.arange(kernels + 1))
    listed = []
    for number, definition in enumerate(definitions):
        _write(directory / f"kernels/{definition['id']}.json", definition)
        mine = in_groups[starts[number] : starts[number + 1]]
        progress = times[mine] / (days * 86_400)
        rows = _submissions(chance, definition, users, FIRST_ID + mine, times[mine], progress)
        _write_listing(directory, definition["id"], rows[::-1])
        listed.append(_listed(definition, len(rows)))
    _write(directory / "kernels.json", {"kernels": listed})
    return directory


def next_day(directory: Path, *, share: float = 0.01, users: int = 500, seed: int = 0) -> None:
    """Let a day go by: kernels that have about this share of all submissions change, at least one.

    Each gets new submissions, a hundredth of those that it has, at the head of its listing, which moves all
    others on; and one old one is disqualified.
    """
    chance = np.random.default_rng(seed)
    listed = orjson.loads((directory / "kernels.json").read_bytes())["data"]["kernels"]
    total = sum(kernel["submission_count"] for kernel in listed)
    next_id = FIRST_ID + total
    changing = 0
    for place in chance.permutation(len(listed)).tolist():
        kernel = listed[place]
        if changing and changing + kernel["submission_count"] > share * total:
            continue
        changing += kernel["submission_count"]
        definition = orjson.loads((directory / f"kernels/{kernel['id']}.json").read_bytes())["data"]
        rows = list(_read_listing(directory, kernel["id"]))
        if rows:
            rows[chance.integers(len(rows))]["is_disqualified"] = True
        newest = max((datetime.fromisoformat(row["submitted_at"]) for row in rows), default=FIRST_DAY)
        count = max(1, len(rows) // 100)
        since_s = (newest.replace(tzinfo=UTC) - FIRST_DAY).total_seconds()
        times = since_s + np.sort(chance.random(count)) * 86_400
        ids = next_id + np.arange(count)
        new = _submissions(chance, definition, users, ids, times, np.ones(count))
        next_id += count
        kernel["submission_count"] += count
        _write_listing(directory, kernel["id"], new[::-1] + rows)
    _write(directory / "kernels.json", {"kernels": listed})


@cache
def _sample() -> list[Row]:
    source = RecordedSource()
    (listing,) = source.kernel_listing()
    ids = [kernel["id"] for kernel in orjson.loads(listing.body)["data"]["kernels"]]
    return [orjson.loads(next(iter(source.kernel(id_))).body)["data"] for id_ in ids]


def _definition(number: int) -> Row:
    """The definition of the kernel of this id: one of the sample's, or a copy that is another operation."""
    copy, place = divmod(number - 1, len(_sample()))
    kernel = _sample()[place]
    name = f"{kernel['name']}_copy_{copy}" if copy else kernel["name"]
    variant = {"variant": {"type": "const", "value": copy}} if copy else {}
    return {**kernel, "id": number, "name": name, "title": name, "axes": {**kernel["axes"], **variant}}


def _listed(definition: Row, submission_count: int) -> Row:
    names = ("id", "name", "title", "gpu_types", "tags")
    return {**{name: definition[name] for name in names}, "submission_count": submission_count}


def _submissions(
    chance: np.random.Generator,
    definition: Row,
    users: int,
    ids: np.ndarray[Any, Any],
    times: np.ndarray[Any, Any],
    progress: np.ndarray[Any, Any],
) -> list[Row]:
    """Submissions to a kernel, the oldest first; `times` in seconds since the first day, `progress` 0-1."""
    count = len(ids)
    workloads = definition["workloads"]
    baseline_ms, bound_ms = (
        float(np.exp(np.mean(np.log([workload[name] for workload in workloads]))))
        for name in ("baseline_latency_ms", "sol_ms")
    )
    # What people have not won yet of the way from the baseline to the bound.
    left = np.exp(-3 * progress + chance.normal(0, 0.7, count))
    latency_ms = bound_ms * 1.02 + max(baseline_ms - bound_ms, bound_ms) * left
    smallest_bound_ms = min(workload["sol_ms"] for workload in workloads)
    too_fast = chance.random(count) < _FASTER_THAN_THE_BOUND
    latency_ms = np.maximum(np.where(too_fast, smallest_bound_ms / 2, latency_ms), 1e-5).round(6)
    # A mean of ratios is no smaller than the ratio of means.
    speedup = (baseline_ms / latency_ms * (1.002 + chance.exponential(0.02, count))).round(6)
    score = (1 / (1 + np.maximum(latency_ms - bound_ms, 0) / max(baseline_ms - bound_ms, 1e-6))).round(6)
    faster = np.clip(len(workloads) * (speedup - 0.5), 0, len(workloads)).astype(int)
    shares = np.array([fate[0] for fate in _FATES])
    fates = chance.choice(len(_FATES), size=count, p=shares / shares.sum())
    # A user's rank by how much they submit, as in Zipf's law.
    by_rank = 1 / np.arange(1, users + 1) ** 1.1
    people = chance.choice(users, size=count, p=by_rank / by_rank.sum())
    workers = chance.integers(1, 9, count)
    gpus = chance.integers(len(definition["gpu_types"]), size=count)
    took_s = chance.integers(20_000, 400_000_000, count) / 1e6
    columns = (ids, times, took_s, fates, people, workers, gpus, latency_ms, speedup, score, faster, progress)
    rows = []
    for id_, time, took, fate, person, worker, gpu, latency, speed, sol, fast, done in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        _, status, is_correct, is_disqualified = _FATES[fate]
        measured = status == "COMPLETED" and is_correct
        rows.append(
            {
                "id": id_,
                "type": "kernel",
                "username": _name(person),
                "kernel_id": definition["id"],
                "kernel_name": definition["name"],
                "kernel_title": definition["title"],
                "submission_mode": "release",
                "status": status,
                "is_correct": is_correct,
                "sol_score": sol if measured else None,
                "latency_ms": latency if measured else None,
                "fast_1_count": fast if measured else None,
                "fast_1_total": len(workloads) if measured else None,
                "avg_speedup": speed if measured else None,
                "gpu_type": definition["gpu_types"][gpu],
                "worker_id": f"external-prod-b200-modal-{worker}",
                # The second stack came after a third of the time.
                "evaluation_stack_version": "v1.0" if done < 1 / 3 else "v1.1",
                "is_disqualified": is_disqualified,
                "disqualified_at": None,
                "submitted_at": _time(time),
                "finished_at": None if status == "RUNNING" else _time(time + took),
                **dict.fromkeys(_ABSENT),
            }
        )
    return rows


@cache
def _name(person: int) -> str:
    # Hostile ones are among those who submit most, and among the others.
    place, other = divmod(person, 3)
    return f"User {person}" if other or place >= len(HOSTILE_NAMES) else HOSTILE_NAMES[place]


def _time(seconds: float) -> str:
    return (FIRST_DAY + timedelta(seconds=seconds)).isoformat(timespec="microseconds")[:26]


def _write_listing(directory: Path, kernel_id: int, rows: list[Row]) -> None:
    for offset in range(0, max(len(rows), 1), PAGE_LIMIT):
        page = {"submissions": rows[offset : offset + PAGE_LIMIT], "total": len(rows)}
        more = f".{offset}" if offset else ""
        path = directory / f"submissions/{kernel_id}{more}.json"
        _write(path, {**page, "offset": offset, "limit": PAGE_LIMIT})


def _read_listing(directory: Path, kernel_id: int) -> Iterator[Row]:
    offset = 0
    path = directory / f"submissions/{kernel_id}.json"
    while path.exists():
        yield from orjson.loads(path.read_bytes())["data"]["submissions"]
        offset += PAGE_LIMIT
        path = directory / f"submissions/{kernel_id}.{offset}.json"


def _write(path: Path, data: Row) -> None:
    path.write_bytes(orjson.dumps({"data": data}))


def main() -> None:
    """Write a leaderboard, or let a day go by on one."""
    parser = argparse.ArgumentParser(description="Make up a leaderboard.")
    parser.add_argument("directory", type=Path, metavar="DIR")
    sizes = ("submissions", "kernels", "users", "days", "seed")
    for name in sizes:
        parser.add_argument(f"--{name}", type=int, default=(generate.__kwdefaults__ or {})[name])
    parser.add_argument("--next-day", type=float, metavar="SHARE", help="of a leaderboard that is there")
    options = parser.parse_args()
    if options.next_day is not None:
        next_day(options.directory, share=options.next_day, users=options.users, seed=options.seed)
    else:
        generate(options.directory, **{name: getattr(options, name) for name in sizes})


if __name__ == "__main__":
    main()
