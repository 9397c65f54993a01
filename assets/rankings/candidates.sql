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
        ['replicated', 'verified', 'reproducible', 'reported'], evidence_level
    ) as evidence_order,
    observed_at,
    sol_score
from runs
join numbered_groups using (comparison_key)
left join implementations using (implementation_digest)
left join numbered_projects using (project_digest)
left join intervals using (run_digest);
