-- comparison_groups: what the runs of a group have in common, how many they are, who leads.

create or replace table comparison_groups as
with groups as (
    select
        comparison_key,
        any_value(operation_digest) as operation_digest,
        any_value(workload_digest) as workload_digest,
        any_value(protocol_digest) as protocol_digest,
        any_value(environment_digest) as environment_digest,
        any_value(correctness_key) as correctness_key,
        any_value(primary_metric || ':' || primary_statistic || ':' || primary_unit) as metric_key,
        count(*) as run_count
    from runs
    group by comparison_key
),
heads as (
    select
        comparison_key,
        count(*) as eligible_count,
        arg_min(run_digest, display_order) as head_run_digest
    from rankings
    group by comparison_key
)
select
    groups.* exclude (run_count),
    profile,
    run_count,
    coalesce(eligible_count, 0) as eligible_count,
    head_run_digest
from groups
join numbered_groups using (comparison_key)
left join heads using (comparison_key)
order by comparison_key;
