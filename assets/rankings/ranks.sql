-- rankings: the place of every eligible run in its comparison group, and beside it the
-- leaderboard's own. `policy.py` says the former in Python, of one group.

create or replace table rankings as
with eligible as (
    from candidates where eligible
),
-- In strict groups: the span that all runs of one value share; none where one has no interval.
spans as (
    select
        group_number,
        primary_value as value,
        if(bool_and(low is not null and high is not null), max(low), null) as low,
        if(bool_and(low is not null and high is not null), min(high), null) as high
    from eligible
    semi join (from numbered_groups where profile = 'strict') using (group_number)
    group by all
),
-- A value joins the tie below it if it overlaps every member: no member's low lies above its high,
-- no member's high below its low. So of a tie only the greatest low and the least high matter, and
-- one walk up the values finds where ties begin. It copies those that it found at each step: time grows
-- with the square of the number of ties in one group, to some seconds for 50,000.
walks as (
    select
        group_number,
        list_reduce(
            list({value: value, low: low, high: high} order by value),
            lambda tie, next: if(
                tie.low <= next.high and next.low <= tie.high,
                {
                    low: greatest(tie.low, next.low),
                    high: least(tie.high, next.high),
                    first_values: tie.first_values
                },
                {
                    low: next.low,
                    high: next.high,
                    first_values: list_append(tie.first_values, next.value)
                }
            ),
            {low: null::double, high: null::double, first_values: []::bigint[]}
        ) as walk
    from spans
    group by group_number
),
ties as (
    select group_number, unnest(walk.first_values) as first_value from walks
),
-- In source-native groups every value is a tie of its own.
ranked as (
    select
        eligible.*,
        dense_rank() over (
            partition by eligible.group_number order by coalesce(first_value, primary_value)
        ) as rank
    from eligible
    asof left join ties
        on eligible.group_number = ties.group_number and primary_value >= first_value
),
-- The leaderboard lists each user's best run by SOL score, whatever is held against it here.
users_bests as (
    select group_number, run_number, sol_score
    from candidates
    where passed and project_number is not null and sol_score is not null
    qualify row_number() over (
        partition by group_number, project_number
        order by sol_score desc, primary_value, observed_at, run_number
    ) = 1
),
-- Equal scores share a place, and as many places are skipped: 1, 2, 2, 4.
source_ranks as (
    select
        group_number,
        run_number,
        rank() over (partition by group_number order by sol_score desc) as source_rank
    from users_bests
)
select
    comparison_key,
    run_digest,
    rank,
    coalesce(rank in (lag(rank) over shown, lead(rank) over shown), false) as tied,
    row_number() over shown as display_order,
    primary_value / nullif(min(primary_value) over (partition by group_number), 0) as ratio_to_best,
    source_rank,
    'ranking-v1' as policy
from ranked
join numbered_groups using (group_number)
left join source_ranks using (group_number, run_number)
window shown as (
    partition by group_number
    order by rank, evidence_order, observed_at desc nulls last, run_number
)
order by group_number, display_order;
