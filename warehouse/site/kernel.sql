-- One row per kernel's page: its groups, each with its runs and records; its workload cases; runs on single cases.

with group_runs as (
    select
        comparison_key,
        list(site_runs order by display_order nulls last, primary_value nulls last, run_digest) as runs
    from site_runs
    group by comparison_key
),
group_records as (
    select comparison_key, list(records order by event_number) as records
    from (
        select record_history.*, run_page, project_page, flags
        from record_history
        join site_runs using (run_digest)
    ) as records
    group by comparison_key
),
kernel_groups as (
    select operation_digest, list(groups order by stack desc, gpu, run_count desc, comparison_key) as groups
    from (
        select site_groups.*, runs, coalesce(records, []) as records
        from site_groups
        join group_runs using (comparison_key)
        left join group_records using (comparison_key)
    ) as groups
    group by operation_digest
),
open_stacks as (
    select kernel_id, list({'stack': stack, 'submissions': submissions} order by is_newest desc, stack desc) as open_stacks
    from kernel_stacks
    where runs = 0
    group by kernel_id
),
kernel_workloads as (
    select kernel_id, list(source_workloads order by position) as workloads
    from source_workloads
    group by kernel_id
),
kernel_no_runs as (
    select kernel_id, list(no_runs order by submission_id desc) as no_runs
    from (select * replace (left(why, 300) as why) from no_runs) as no_runs
    group by kernel_id
),
kernel_case_runs as (
    select
        operation_digest,
        list(case_runs order by stack, gpu, case_id, display_order, run_digest) as case_runs
    from (
        select
            case_leaderboard.*,
            operation_digest,
            run_page(case_leaderboard.run_digest) as run_page,
            project_page,
            case_against_head.head_project,
            case_against_head.head_latency_ms,
            case_against_head.ratio_to_head,
            case_against_head.outcome
        from case_leaderboard
        join site_runs using (run_digest)
        left join case_against_head using (run_digest)
    ) as case_runs
    group by operation_digest
)
select
    kernel_page(slug, operation_digest) as page,
    operations.name as kernel,
    operation_digest,
    operations.family,
    operations.tags,
    source_kernels.title,
    source_kernels.description,
    source_kernels.gpu_types,
    source_kernels.sol_is_dummy,
    gone_kernels.gone_since,
    source_kernels.submissions_held,
    source_kernels.submissions_missing,
    sol_geomean_ms,
    baseline_geomean_ms,
    coalesce(groups, []) as groups,
    coalesce(open_stacks, []) as open_stacks,
    coalesce(workloads, []) as workloads,
    coalesce(case_runs, []) as case_runs,
    coalesce(kernel_no_runs.no_runs, []) as no_runs
from operations
left join source_kernels using (kernel_id)
left join gone_kernels on gone_kernels.kernel = operations.name
left join kernel_bounds using (kernel_id)
left join kernel_groups using (operation_digest)
left join open_stacks using (kernel_id)
left join kernel_workloads using (kernel_id)
left join kernel_case_runs using (operation_digest)
left join kernel_no_runs using (kernel_id)
