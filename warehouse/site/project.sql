-- One row per project's page: where it stands, and its best run in each group.

with best_runs as (
    -- Of a project's runs in a group, the one shown first; where none is ranked, the fastest.
    from site_runs
    qualify row_number() over (
        partition by comparison_key, project_digest
        order by display_order nulls last, primary_value nulls last, run_digest
    ) = 1
),
places as (
    select
        project_groups.*,
        site_groups.kernel_page,
        site_groups.anchor,
        site_groups.eligible_count,
        best_runs.* exclude (project, project_digest, comparison_key, share_of_gap_closed)
    from project_groups
    join site_groups using (comparison_key)
    join best_runs using (comparison_key, project_digest)
)
select
    project_page(slug, project_digest) as page,
    projects.name as project,
    project_digest,
    coalesce(standing.standings, []) as standings,
    coalesce(listed.places, []) as places,
from projects
left join (
    select project_digest, list(standings_by_stack order by is_newest desc, stack desc) as standings
    from standings_by_stack
    join (select stack, is_newest from stacks) using (stack)
    group by project_digest
) as standing using (project_digest)
left join (
    select project_digest, list(places order by kernel, stack, gpu, comparison_key) as places
    from places
    group by project_digest
) as listed using (project_digest)
