-- evidence: how well each run is borne out. The level that follows from its page is in `runs`; only
-- reruns under KernelIndex's control raise it, each person's once, and only those that confirm it.
-- What the community says is counted, and changes nothing.

create or replace table evidence as
with counted as (
    select
        run_digest,
        count(distinct lower(trim(who))) filter (kind = 'controlled_rerun' and confirms)
            as confirming_reruns,
        count(*) filter (kind = 'controlled_rerun') as controlled_reruns,
        count(*) filter (kind = 'replication') as replications,
        count(*) filter (kind = 'note') as notes
    from attestations
    group by run_digest
)
select
    run_digest,
    case
        when confirming_reruns >= 2 or evidence_level = 'replicated' then 'replicated'
        when confirming_reruns = 1 or evidence_level = 'verified' then 'verified'
        else evidence_level
    end as evidence_level,
    coalesce(confirming_reruns, 0) as confirming_reruns,
    coalesce(controlled_reruns, 0) as controlled_reruns,
    coalesce(replications, 0) as replications,
    coalesce(notes, 0) as notes
from runs
left join counted using (run_digest)
order by run_digest;
