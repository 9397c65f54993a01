-- record_events: the runs that were faster than all before them in their group.
-- A run without a time cannot be placed before or after another, so it has no part in this.

create or replace table record_events as
with timed as (
    from candidates
    select
        *,
        min(primary_value) over (
            partition by group_number
            order by observed_at, run_number
            rows between unbounded preceding and 1 preceding
        ) as best_before
    where eligible and observed_at is not null
)
select
    comparison_key,
    run_digest,
    lag(run_digest) over (
        partition by group_number order by observed_at, run_number
    ) as previous_run_digest,
    observed_at as taken_at,
    'new_run' as cause,
    'ranking-v1' as policy
from timed
join numbered_groups using (group_number)
where best_before is null or primary_value < best_before
order by group_number, observed_at, run_number;
