-- Where a thing's page lies. The slug is for people; the digest's start keeps two of one slug apart. Nothing but
-- lower-case letters, digits and hyphens is in a name, whatever the warehouse holds.

create temp macro kernel_page(slug, digest) as
    'kernels/' || left(regexp_replace(lower(slug), '[^a-z0-9]+', '-', 'g'), 60) || '-' || digest[8:19] || '.html';

create temp macro project_page(slug, digest) as
    'projects/' || left(regexp_replace(lower(slug), '[^a-z0-9]+', '-', 'g'), 60) || '-' || digest[8:19] || '.html';

create temp macro run_page(digest) as 'runs/' || digest[8:23] || '.html';

-- Groups of suites, their runs and their projects, with their pages: what the queries of this directory start from.

create temp view site_groups as
select
    named_groups.*,
    kernel_page(operations.slug, operation_digest) as kernel_page,
    'group-' || comparison_key[8:19] as anchor,
    run_count,
    eligible_count,
    profile,
    head_run_digest,
    operation_digest,
    workload_digest,
    workloads.case_count
from named_groups
join comparison_groups using (comparison_key)
join operations using (operation_digest)
join workloads using (workload_digest);

create temp view site_runs as
select
    runs.run_digest,
    runs.comparison_key,
    runs.operation_digest,
    runs.external_id,
    runs.observed_at,
    runs.primary_value,
    runs.latency_ms,
    runs.sol_score,
    runs.avg_speedup,
    runs.fast_1_count,
    runs.fast_1_total,
    run_page(run_digest) as run_page,
    projects.name as project,
    project_digest,
    project_page(projects.slug, project_digest) as project_page,
    rank,
    tied,
    source_rank,
    display_order,
    ratio_to_best,
    runs.latency_ms / kernel_bounds.sol_geomean_ms as ratio_to_bound,
    gap_closed(runs.latency_ms, kernel_bounds.baseline_geomean_ms, kernel_bounds.sol_geomean_ms)
        as share_of_gap_closed,
    policy,
    evidence.evidence_level as evidence,
    -- The run's page has the others too.
    coalesce(open_flags.flags, []) as flags,
    coalesce(run_exclusions.reasons, []) as reasons
from runs
join implementations using (implementation_digest)
join projects using (project_digest)
left join rankings using (comparison_key, run_digest)
left join (
    select workload_digest, sol_geomean_ms, baseline_geomean_ms
    from workloads
    join operations using (operation_digest)
    join kernel_bounds using (kernel_id)
    -- Means over a suite say nothing of one case.
    where kind = 'suite'
) as kernel_bounds using (workload_digest)
left join evidence using (run_digest)
left join open_flags using (run_digest)
left join (
    select run_digest, list(reason order by reason) as reasons from exclusions group by all
) as run_exclusions using (run_digest);
