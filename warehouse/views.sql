-- Views for people, over the warehouse's tables.

create view leaderboard as
select
    operations.name as kernel,
    operations.family,
    projects.name as project,
    protocols.version as stack,
    environments.product as gpu,
    rankings.rank,
    rankings.tied,
    rankings.source_rank,
    runs.sol_score,
    runs.latency_ms,
    runs.avg_speedup,
    rankings.ratio_to_best,
    runs.fast_1_count,
    runs.fast_1_total,
    runs.observed_at,
    runs.external_id,
    rankings.run_digest,
    rankings.comparison_key,
    rankings.display_order,
    rankings.policy
from rankings
join runs using (run_digest)
join operations using (operation_digest)
join implementations using (implementation_digest)
join projects using (project_digest)
join protocols using (protocol_digest)
join environments using (environment_digest)
order by kernel, stack, gpu, rankings.display_order;

comment on view leaderboard is 'one row per ranked run, with all that a person wants to see of it';
