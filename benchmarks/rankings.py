"""How long ranking takes, and how much memory: of made-up runs, in comparison groups of a hundred.

They are of a thousand projects. What counts is, on two threads, from tables in a DuckDB file to tables in it:
flags and review; then `rank`, which makes rankings, record events, evidence and groups; then reading the
views `standings`, and `rankings_as_of` a moment. Making up the runs does not count.
"""

import resource
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import duckdb

from assets.rankings.rank import judge, rank
from warehouse.build import VIEWS
from warehouse.tables import TABLES

RUNS = """
insert into runs by name
with numbered as (
    select i, i % ($runs // 100) as comparison_group, hash(i) as chance, hash(-i) as other_chance
    from range($runs) numbers(i)
)
select
    'sha256:' || sha256('run' || i) as run_digest,
    i::varchar as external_id,
    'sha256:' || sha256('operation' || comparison_group) as operation_digest,
    'sha256:' || sha256('workload' || comparison_group) as workload_digest,
    'sha256:' || sha256('implementation' || i) as implementation_digest,
    'sha256:' || sha256('protocol') as protocol_digest,
    'sha256:' || sha256('environment') as environment_digest,
    'sha256:' || sha256('correctness') as correctness_key,
    'sha256:' || sha256('key' || comparison_group) as comparison_key,
    'passed' as status,
    timestamptz '2026-08-01 00:00:00+00' + to_milliseconds(chance % 5_000_000_000) as observed_at,
    'latency' as primary_metric,
    'mean' as primary_statistic,
    'ns' as primary_unit,
    (100_000 + other_chance % 400_000)::bigint as primary_value,
    primary_value / 1e6 as latency_ms,
    0.4 / latency_ms as avg_speedup,
    other_chance % 1000 / 1000 as sol_score,
    'reported' as evidence_level,
    'sha256:' || sha256('page' || comparison_group) as page_digest,
    -- As long as a real one: with it, whether a group is source-native must be found in all of it.
    '{"apiVersion":"kernelindex.dev/v1alpha1","kind":"BenchmarkRun","metadata":{"name":"'
        || repeat('x', 100) || '"},"spec":{"digests":"' || repeat('x', 400) || '",'
        || if($strict, '', '"sourceNative":{"source":"sol-execbench"},')
        || '"status":"passed"}}' as manifest
from numbered
order by chance
"""
REST = """
insert into implementations by name
select
    implementation_digest,
    'sha256:' || sha256('project' || hash(run_digest) % 1000) as project_digest
from runs;

insert into projects by name
select project_digest, 'project ' || left(project_digest, 17) as name
from implementations
group by project_digest;

insert into operations by name
select
    operation_digest,
    'kernel ' || left(operation_digest, 17) as name,
    'family ' || hash(operation_digest) % 20 as family
from runs
group by operation_digest;

insert into protocols by name select 'sha256:' || sha256('protocol') as protocol_digest, 'v1.1' as version;

insert into environments by name
select 'sha256:' || sha256('environment') as environment_digest, 'NVIDIA B200' as product;

insert into source_submissions by name
select
    external_id::bigint as submission_id,
    submission_id % (select count(*) from operations) as kernel_id
from runs;

insert into source_kernels by name
select distinct kernel_id, false as sol_is_dummy, null::double as baseline_latency_ms from source_submissions;

-- Two of a hundred runs are faster than their kernel's bound.
insert into source_workloads by name
select kernel_id, position, 0.108 as sol_ms, 0.4 as baseline_latency_ms
from source_kernels, range(16) positions(position);
"""
# In strict groups: 2 % about the value, which makes ties of some ten runs and long chains.
INTERVALS = """
select run_digest, primary_value * 0.99 as low, primary_value * 1.01 as high from runs
"""


AS_OF = "select count(*), sum(rank) from rankings_as_of('2026-08-20T00:00:00Z')"


@dataclass(frozen=True)
class Measured:
    """What a measurement came to: seconds by stage, and the process's peak of memory."""

    judge_s: float
    rank_s: float
    standings_s: float
    as_of_s: float
    peak_mb: float


def make_runs(path: Path, runs: int, *, strict: bool) -> None:
    """Make a database with so many runs, and all else that a warehouse has of them."""
    with duckdb.connect(path) as connection:
        connection.execute("set enable_progress_bar = false")
        for table in TABLES.values():
            empty = table.schema.empty_table()  # noqa: F841  # DuckDB reads it by name
            connection.execute(f"create table {table.name} as from empty")
        connection.execute(RUNS, {"runs": runs, "strict": strict})
        connection.execute(REST)


def measure(path: Path, *, strict: bool) -> Measured:
    """Judge and rank a database's runs, and read what is made of that."""
    with duckdb.connect(path, config={"threads": 2}) as connection:
        connection.execute("set enable_progress_bar = false")
        intervals = connection.sql(INTERVALS).to_arrow_table() if strict else None
        judged = _timed(lambda: judge(connection))
        review = connection.table("review").to_arrow_table()
        ranked = _timed(lambda: rank(connection, review, intervals))
        connection.execute(VIEWS.read_text("utf-8"))
        standings = _timed(lambda: connection.execute("from standings").fetchall())
        as_of = _timed(lambda: connection.execute(AS_OF).fetchall())
    return Measured(
        judged, ranked, standings, as_of, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    )


def _timed(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def measured(runs: int, *, strict: bool = False) -> Measured:
    """Make up so many runs and measure, each in a process of its own."""
    with (
        tempfile.TemporaryDirectory() as directory,
        ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as alone,
    ):
        path = Path(directory, "runs.duckdb")
        alone.submit(make_runs, path, runs, strict=strict).result()
        return alone.submit(measure, path, strict=strict).result()
