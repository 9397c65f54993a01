"""How long ranking takes, how much memory, and how both grow: `python -m benchmarks.rankings`.

10 thousand, 100 thousand and a million made-up runs, a hundred to a comparison group, on two
threads. Each measurement is a process of its own, so that its peak of memory is its own. What
counts is `rank`, from tables in a DuckDB file to tables in it; making up the runs does not.
"""

import resource
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import duckdb

from assets.rankings.rank import rank

RUNS = """
create table runs as
with numbered as (
    select i, i % ($runs // 100) as comparison_group, hash(i) as chance, hash(-i) as other_chance
    from range($runs) numbers(i)
)
select
    'sha256:' || sha256('run' || i) as run_digest,
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
    other_chance % 1000 / 1000 as sol_score,
    'reported' as evidence_level,
    -- As long as a real one: with it, whether a group is source-native must be found in all of it.
    '{"apiVersion":"kernelindex.dev/v1alpha1","kind":"BenchmarkRun","metadata":{"name":"'
        || repeat('x', 100) || '"},"spec":{"digests":"' || repeat('x', 400) || '",'
        || if($strict, '', '"sourceNative":{"source":"sol-execbench"},')
        || '"status":"passed"}}' as manifest
from numbered
order by chance
"""
IMPLEMENTATIONS = """
create table implementations as
select
    implementation_digest,
    'sha256:' || sha256('project' || hash(run_digest) % 1000) as project_digest
from runs
"""
# In strict groups: 2 % about the value, which makes ties of some ten runs and long chains.
INTERVALS = """
select run_digest, primary_value * 0.99 as low, primary_value * 1.01 as high from runs
"""


def make_runs(path: Path, runs: int, *, strict: bool) -> None:
    """Make a database with so many runs."""
    with duckdb.connect(path) as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute(RUNS, {"runs": runs, "strict": strict})
        connection.execute(IMPLEMENTATIONS)


def measure(path: Path, *, strict: bool) -> tuple[float, float]:
    """Rank a database's runs; give the seconds it took and this process's peak of memory in MB."""
    with duckdb.connect(path, config={"threads": 2}) as connection:
        connection.execute("set enable_progress_bar = false")
        intervals = connection.sql(INTERVALS).to_arrow_table() if strict else None
        start = perf_counter()
        rank(connection, intervals=intervals)
        seconds = perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure both profiles at three sizes and print a row each."""
    print(f"{'profile':<14} {'runs':>9} {'groups':>7} {'seconds':>8} {'peak MB':>8}")
    for strict in (False, True):
        for runs in (10_000, 100_000, 1_000_000):
            with (
                tempfile.TemporaryDirectory() as directory,
                ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as alone,
            ):
                path = Path(directory, "runs.duckdb")
                alone.submit(make_runs, path, runs, strict=strict).result()
                seconds, peak_mb = alone.submit(measure, path, strict=strict).result()
            profile = "strict" if strict else "source-native"
            print(f"{profile:<14} {runs:>9,} {runs // 100:>7,} {seconds:>8.2f} {peak_mb:>8,.0f}")


if __name__ == "__main__":
    main()
