-- record_events: who held each group's record, and from when. `policy.py` says it in Python.
-- A run that is faster than all that stand takes the record. Where the holder leaves (it was retracted,
-- superseded, rejected), the record goes to the fastest of those left, of equals to the one that came
-- first; where none is left, nobody holds it, and there is no event until the next run comes.
-- A run without a time cannot be placed before or after another, so it has no part in this.

create or replace table record_events as
with arrivals as (
    from candidates where stood_from is not null
),
-- The moments at which runs leave cut a group's time into epochs. Most groups have one, without a start.
departures as (
    select group_number, list(distinct left_at order by left_at) as epochs
    from arrivals
    where left_at is not null
    group by group_number
),
-- What is said at one moment counts together: an epoch starts with the best of all who stand then.
leaders as (
    select
        starts.group_number,
        epoch,
        arg_min(run_number, (primary_value, stood_from, run_number)) as run_number
    from (select group_number, unnest(epochs) as epoch from departures) as starts
    left join arrivals
        on starts.group_number = arrivals.group_number
        and stood_from <= epoch
        and (left_at is null or left_at > epoch)
    group by starts.group_number, epoch
),
steps as (
    select
        arrivals.*,
        -- A run that comes at the moment that another leaves comes before.
        list_max(list_filter(epochs, lambda epoch: epoch < stood_from)) as epoch,
        stood_from as taken_at,
        false as inherits
    from arrivals
    left join departures using (group_number)
    union all by name
    select leaders.*, arrivals.* exclude (group_number, run_number), epoch as taken_at, true as inherits
    from leaders
    left join arrivals using (group_number, run_number)
),
timed as (
    select
        *,
        min(primary_value) over (
            partition by group_number, epoch
            order by inherits desc, taken_at, run_number
            rows between unbounded preceding and 1 preceding
        ) as best_before
    from steps
),
holders as (
    select
        *,
        lag(run_digest) over in_order as previous_run_digest,
        lag(left_by) over in_order as previous_left_by
    from timed
    where inherits or best_before is null or primary_value < best_before
    window in_order as (
        partition by group_number order by epoch nulls first, inherits desc, taken_at, run_number
    )
)
select
    comparison_key,
    row_number() over (
        partition by group_number order by epoch nulls first, inherits desc, taken_at, run_number
    ) as event_number,
    run_digest,
    previous_run_digest,
    taken_at,
    case
        when not inherits then if(taken_at = observed_at, 'new_run', 'acceptance')
        when previous_left_by = 'RETRACTED' then 'retraction'
        when previous_left_by = 'SUPERSEDED' then 'supersession'
        when previous_left_by = 'REJECTED' then 'rejection'
    end as cause,
    'ranking-v1' as policy
from holders
join numbered_groups using (group_number)
where run_digest is distinct from previous_run_digest and run_digest is not null
order by group_number, event_number;
