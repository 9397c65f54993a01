-- exclusions: why runs have no rank, a row a run and reason. A run without a row here is eligible.
-- Who is held, retracted, superseded or rejected is decided elsewhere and comes in as `review`.

create or replace table exclusions as
with reasons as (
    select run_digest, 'NOT_PASSED' as reason from runs where status <> 'passed'
    union
    select run_digest, 'NO_PRIMARY_VALUE' from runs where primary_value is null
    union
    select run_digest, reason from review semi join runs using (run_digest) where until is null
)
select run_digest, reason, 'ranking-v1' as policy
from reasons
order by run_digest, reason;
