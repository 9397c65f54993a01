-- review: what keeps runs from being ranked, or kept them, by the word of people or until they give it.
-- A run that is held is so from the first, whatever is found out when; a decision counts from its date.

create or replace table review as
with judged as (
    select run_digest, decided_at from decisions where decision in ('accept', 'reject')
)
select run_digest, 'HELD_FOR_REVIEW' as reason, null::timestamptz as since, decided_at as until
from flags
left join judged using (run_digest)
where flag = 'BELOW_CASE_BOUND'
union all
select
    run_digest,
    case decision
        when 'retract' then 'RETRACTED'
        when 'supersede' then 'SUPERSEDED'
        when 'reject' then 'REJECTED'
    end,
    decided_at,
    null
from decisions
where decision <> 'accept' and run_digest is not null
order by run_digest, reason;
