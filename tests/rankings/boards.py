"""What the ranking tests share: leaderboards of which only what matters is written down, and their ranks."""

import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import yaml

from assets.rankings.decisions import read_decisions, resolve_decisions
from assets.rankings.entries import SetAside
from assets.rankings.policy import (
    EVIDENCE_LEVELS,
    Candidate,
    Profile,
    Reason,
    ReviewReason,
)
from assets.rankings.rank import INTERVALS, judge, rank
from assets.rankings.tables import TABLES as RANKING_TABLES
from warehouse.build import VIEWS, build_warehouse
from warehouse.home import Home
from warehouse.tables import (
    ATTESTATIONS,
    FLAGS,
    IMPLEMENTATIONS,
    KERNEL_BOUNDS,
    PAGES,
    REVIEW,
    RUNS,
    SOURCE_KERNELS,
    SOURCE_SUBMISSIONS,
    SOURCE_WORKLOADS,
    TABLES,
    WORKLOADS,
)

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Leaderboard = dict[str, tuple[Profile, list[Candidate]]]  # by comparison key

AUGUST = datetime(2026, 8, 1, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 30, tzinfo=UTC)  # later than all that happens

ANY_RUN: Row = {
    "external_id": "3268",
    "operation_digest": "sha256:0c",
    "workload_digest": "sha256:3f",
    "protocol_digest": "sha256:29",
    "environment_digest": "sha256:52",
    "correctness_key": "sha256:d2",
    "comparison_key": "sha256:06",
    "status": "passed",
    "primary_metric": "latency",
    "primary_statistic": "mean",
    "primary_unit": "ns",
    "evidence_level": "reported",
    "page_digest": "sha256:aa",
    "user": "Isaac Sun (AES)",
    "profile": "source-native",
    "review": (),
    "accepted_at": None,
    "left_at": None,
    "left_by": None,
    "there": True,
    "kernel_id": 1,
    "outcome": "run",
    "kind": "suite",
}
MANIFESTS = {
    "source-native": '{"kind":"BenchmarkRun","spec":{"sourceNative":{"source":"sol-execbench"}}}',
    "strict": '{"kind":"BenchmarkRun","spec":{"note":"\\"sourceNative\\":{"}}',
}

# Close values and short intervals, so that ties, chains of ties and equal times are the rule; the
# repeats make most runs eligible. An interval can lie beside its value, or have one end only.
REACHES = (None, -1.0, 0.0, 0.5, 1.0, 1.0, 1.5, 2.0, 3.0)
TIMES = (None, *(AUGUST + timedelta(days) for days in range(6)))
STATUSES = ("passed",) * 9 + ("failed",)
LEAVING: tuple[ReviewReason, ...] = ("RETRACTED", "SUPERSEDED", "REJECTED")
HELD: frozenset[Reason] = frozenset({"HELD_FOR_REVIEW"})


def rank_runs(given: Iterable[Row]) -> Tables:
    """Rank runs and return the ranking tables' rows, by the name of the table.

    A run is a row of `runs` of which only `run_digest` must be there, with these beside it: `user`, `kind`
    (of its workload), `profile` (that its manifest asks for), `low` and `high`, `review` (reasons), and as
    the policy has them `accepted_at`, `left_at`, `left_by`. One that is not `there` has no row of its own:
    only what is said of it.
    """
    with ranked(given) as connection:
        return {
            table.name: connection.table(table.name).to_arrow_table().cast(table.schema).to_pylist()
            for table in RANKING_TABLES
            if table not in (KERNEL_BOUNDS, FLAGS, REVIEW)
        }


@contextmanager
def ranked(given: Iterable[Row]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with ranked runs, given as to `rank_runs`."""
    runs = [ANY_RUN | {"implementation_digest": run["run_digest"]} | run for run in given]
    for run in runs:
        run |= {"manifest": MANIFESTS[run["profile"]], "project_digest": run["user"]}
    with duckdb.connect() as connection:
        there = tabled((run for run in runs if run["there"]), RUNS.schema)  # noqa: F841  # DuckDB reads it
        implementations = tabled(runs, IMPLEMENTATIONS.schema)  # noqa: F841
        connection.execute("create table runs as from there")
        connection.execute("create table implementations as from implementations")
        workloads = tabled(runs, WORKLOADS.schema)  # noqa: F841
        connection.execute("create table workloads as from workloads")
        review = tabled((row for run in runs for row in reviewed(run)), REVIEW.schema)
        rank(connection, review, intervals=tabled(runs, INTERVALS))
        connection.execute("create table review as from review")
        yield connection


def reviewed(run: Row) -> list[Row]:
    """The rows of `review` that a run of `rank_runs` has."""
    rows = [
        {"reason": reason, "since": run["left_at"] if reason == run["left_by"] else None}
        for reason in run["review"]
    ]
    if run["accepted_at"]:
        rows.append({"reason": "HELD_FOR_REVIEW", "until": run["accepted_at"]})
    return [{"run_digest": run["run_digest"], **row} for row in rows]


def add_views(connection: duckdb.DuckDBPyConnection, pages: Iterable[Row] = ()) -> None:
    """Add the warehouse's views to a connection; tables that it has not are empty."""
    have = {name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()}
    for table in TABLES.values():
        if table.name not in have:
            rows = tabled(pages if table is PAGES else (), table.schema)  # noqa: F841  # DuckDB reads it
            connection.execute(f"create table {table.name} as from rows")
    connection.execute(VIEWS.read_text("utf-8"))


def leaderboard(rng: random.Random, sizes: list[int]) -> Leaderboard:
    """Make comparison groups of these sizes; digests, as in life, come in no order."""
    digests = [f"sha256:{number:05x}" for number in range(sum(sizes))]
    rng.shuffle(digests)
    return {
        f"sha256:{number:03x}": (
            rng.choice(("source-native", "strict")),
            [candidate(rng, digests.pop(), values=size + 2) for _ in range(size)],
        )
        for number, size in enumerate(sizes)
    }


def candidate(rng: random.Random, run_digest: str, values: int) -> Candidate:
    """Make a run of any kind, its value one of so many, or none."""
    value = rng.choice((None, *range(values)))
    below, above = rng.choice(REACHES), rng.choice(REACHES)
    said: Row = rng.choice(({},) * 6 + ({"review": HELD}, {"accepted_at": moment(rng)}, left(rng), left(rng)))
    if said.get("left_by") and rng.random() < 0.3:  # First held and accepted, or rejected at once.
        said["accepted_at"] = said["left_at"] - timedelta(hours=rng.choice((0, 6, 30)))
    return Candidate(
        run_digest=run_digest,
        primary_value=value,
        low=None if value is None or below is None else value - below,
        high=None if value is None or above is None else value + above,
        evidence_level=rng.choice(EVIDENCE_LEVELS),
        observed_at=rng.choice(TIMES),
        status=rng.choice(STATUSES),
        **said,
    )


def left(rng: random.Random) -> Row:
    """That a run is retracted, superseded or rejected, and since when."""
    reason = rng.choice(LEAVING)
    return {"review": frozenset({reason}), "left_by": reason, "left_at": moment(rng)}


def moment(rng: random.Random) -> datetime:
    """A time between, at, or after those at which runs are observed."""
    return AUGUST + timedelta(hours=rng.choice((0, 12, 24, 36, 48, 60, 96, 150)))


def rows_of(board: Leaderboard) -> list[Row]:
    """A leaderboard's runs as `rank_runs` wants them."""
    return [
        asdict(run) | {"comparison_key": comparison_key, "profile": profile}
        for comparison_key, (profile, group) in board.items()
        for run in group
    ]


def tabled(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    """Make a table of rows; what a row does not say is null, what the table has not is left out."""
    return pa.Table.from_pylist(list(rows), schema=schema)


@contextmanager
def judged(
    runs: Iterable[Row], entries: list[Row], workloads: Iterable[Row] = (), kernels: Iterable[Row] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with runs that are judged and ranked under decisions, given as the file has them.

    A run is a row of `runs`, as `rank_runs` takes it, each of another submission, with the `kernel_id` and
    `outcome` of that. Workloads and kernels are rows of the source's tables.
    """
    every = [ANY_RUN | {"implementation_digest": run["run_digest"]} | run for run in runs]
    for run in every:
        run |= {"manifest": MANIFESTS[run["profile"]], "project_digest": run["user"]}
    submissions = [
        {"submission_id": int(run["external_id"]), "kernel_id": run["kernel_id"], "outcome": run["outcome"]}
        for run in every
    ]
    given = {
        RUNS: [run for run in every if run["there"]],
        IMPLEMENTATIONS: every,
        WORKLOADS: every,
        SOURCE_SUBMISSIONS: submissions,
        SOURCE_WORKLOADS: workloads,
        SOURCE_KERNELS: kernels,
    }
    with duckdb.connect() as connection:
        for table, rows in given.items():
            connection.register(table.name, tabled(rows, table.schema))
        decide(connection, entries)
        yield connection


def decide(connection: duckdb.DuckDBPyConnection, entries: list[Row]) -> SetAside:
    """Judge and rank a connection's runs (anew) under these decisions, read from a file; those set aside."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "decisions.yaml")
        path.write_text(yaml.safe_dump(entries, allow_unicode=True), "utf-8")
        decisions, wrong = read_decisions(path, now=NOVEMBER)
    counting, unapplied = resolve_decisions(connection, decisions)
    connection.register("decisions", counting)
    judge(connection)
    review = connection.table("review").to_arrow_table()
    rank(connection, review, attestations=ATTESTATIONS.schema.empty_table())
    return wrong | unapplied


def made(connection: duckdb.DuckDBPyConnection) -> Tables:
    """The rows of all ranking tables of a connection."""
    return {
        table.name: connection.table(table.name).to_arrow_table().cast(table.schema).to_pylist()
        for table in RANKING_TABLES
    }


def decision(kind: str, run: object, date: datetime | str, **more: object) -> Row:
    """An entry of decisions.yaml."""
    when = date.isoformat() if isinstance(date, datetime) else date
    said = {"who": "Ada Lovelace", "why": "It reads the answer.", "link": "https://example.org/issues/12"}
    return {"decision": kind, "run": str(run), "date": when, **said, **more}


@contextmanager
def published(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """The warehouse built from a home's tables, opened to be read; the home stays as it is."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Home(Path(directory))
        shutil.copytree(home.directory / "tables", copy.directory / "tables")
        build_warehouse(copy)
        with duckdb.connect(copy.warehouse, read_only=True) as connection:
            connection.execute("set timezone = 'UTC'")
            yield connection


def queried(connection: duckdb.DuckDBPyConnection, query: str) -> list[Mapping[str, Any]]:
    """A query's rows, each by the names of its columns."""
    rows: list[Mapping[str, Any]] = connection.sql(query).to_arrow_table().to_pylist()
    return rows
