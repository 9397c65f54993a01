-- flags: the runs whose numbers are not plausible, and the numbers that say so (DESIGN section 5).
-- A flag excludes nobody; which flag holds a run until people decide is said in `review.sql`.
--
-- The source rounds a latency to the nanosecond and a speedup to four digits. What rounding alone can
-- explain is no flag: each number counts as half of its last digit kinder to the run than it was served.
-- So a latency that equals a bound is not below it, and a speedup that was computed from the geometric
-- mean of the baselines, as it should be, does not fall short of it by its own last digit. Bounds count
-- as served: they are a model's, and no finer than it.

create or replace table flags as
with half_digits as (
    select 0.5e-6 as latency_ms, 0.5e-4 as speedup
),
measured as (
    select
        run_digest,
        runs.latency_ms,
        runs.avg_speedup,
        runs.latency_ms + half_digits.latency_ms as most_latency_ms,
        runs.avg_speedup + half_digits.speedup as most_speedup,
        least_sol_ms,
        sol_geomean_ms,
        baseline_geomean_ms,
        baseline_geomean_ms * (1 - half_digits.latency_ms / least_baseline_ms)
            as least_baseline_geomean_ms
    from runs
    join source_submissions on external_id = source_submissions.submission_id::varchar
    join kernel_bounds using (kernel_id)
    cross join half_digits
),
raised as (
    select run_digest, 'BELOW_CASE_BOUND' as flag, latency_ms as observed_ms, least_sol_ms as bound_ms
    from measured
    where most_latency_ms < least_sol_ms
    union all
    select run_digest, 'BELOW_SUITE_BOUND', latency_ms, sol_geomean_ms
    from measured
    where most_latency_ms < sol_geomean_ms
    union all
    select run_digest, 'INCONSISTENT_SPEEDUP', latency_ms * avg_speedup, baseline_geomean_ms
    from measured
    where most_latency_ms * most_speedup < least_baseline_geomean_ms
)
select run_digest, flag, observed_ms, bound_ms, 'ranking-v1' as policy
from raised
order by run_digest, flag;
