-- kernel_bounds: what a kernel's workloads come to, for latencies that are means over them.
-- A bound or a baseline that is missing or not above 0 leaves its mean out: to compare with a mean of
-- the others would be false. So does a kernel's word that its bounds are dummies. Repeats count.

create or replace table kernel_bounds as
with positive as (
    select
        kernel_id,
        position,
        if(sol_ms > 0 and sol_is_dummy is not true, sol_ms, null) as sol_ms,
        if(source_workloads.baseline_latency_ms > 0, source_workloads.baseline_latency_ms, null)
            as baseline_ms
    from source_workloads
    left join source_kernels using (kernel_id)
)
select
    kernel_id,
    if(count(*) = count(sol_ms), min(sol_ms), null) as least_sol_ms,
    -- In order, so that the last digit of a mean is the same each time.
    if(count(*) = count(sol_ms), exp(avg(ln(sol_ms) order by position)), null) as sol_geomean_ms,
    if(count(*) = count(baseline_ms), min(baseline_ms), null) as least_baseline_ms,
    if(count(*) = count(baseline_ms), exp(avg(ln(baseline_ms) order by position)), null)
        as baseline_geomean_ms
from positive
group by kernel_id
order by kernel_id;
