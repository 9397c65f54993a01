-- What ranking needs of every run, in narrow columns; dropped when the ranking is done.
-- Digests of 71 characters are slow to sort and join by, so groups, projects and runs get numbers:
-- a run's is its place by digest within its group. What ranking makes of it belongs in other files.

create or replace temp table numbered_groups as
select
    row_number() over (order by comparison_key) as group_number,
    comparison_key,
    -- Manifests are canonical JSON, and strings in it have their quotes escaped: this is a name.
    if(
        bool_and(contains(manifest::varchar, '"sourceNative":{')), 'source-native', 'strict'
    ) as profile
from runs
group by comparison_key;

create or replace temp table candidates as
with numbered_projects as (
    select row_number() over () as project_number, project_digest
    from (select distinct project_digest from implementations)
),
-- From when until when a run could be ranked, for the few that people or flags have to do with.
reviewed as (
    select
        run_digest,
        max(until) as accepted_at,
        min(since) as left_at,
        arg_min(reason, (since, reason)) as left_by,
        bool_or(since is null and until is null) as never_stood
    from review
    group by run_digest
)
select
    group_number,
    row_number() over (partition by group_number order by run_digest) as run_number,
    project_number,
    run_digest,
    not exists (from exclusions where exclusions.run_digest = runs.run_digest) as eligible,
    status = 'passed' as passed,
    primary_value,
    low,
    high,
    list_position(
        ['replicated', 'verified', 'reproducible', 'reported'], evidence.evidence_level
    ) as evidence_order,
    observed_at,
    -- When the run came to stand among those that can hold a record; null if it never did.
    if(
        passed and primary_value is not null and never_stood is not true
            and (left_at is null or greatest(observed_at, accepted_at) < left_at),
        if(observed_at is null, null, greatest(observed_at, accepted_at)),
        null
    ) as stood_from,
    left_at,
    left_by,
    -- The leaderboard orders suites. Single cases, which saved pages give, have no place in its order.
    if(workload_digest in (select workload_digest from workloads where kind = 'case'), null, sol_score)
        as sol_score
from runs
join numbered_groups using (comparison_key)
join evidence using (run_digest)
left join reviewed using (run_digest)
left join implementations using (implementation_digest)
left join numbered_projects using (project_digest)
left join intervals using (run_digest);
