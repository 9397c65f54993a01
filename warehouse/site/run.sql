-- One row per run's page: what run_dossier says of it, the run that it is compared with, and where pages lie.

with compared as (
    -- With the first of its group; the first, with the next best.
    select runs.run_digest, first(bests.run_digest order by display_order) as other_digest
    from runs
    join (
        select comparison_key, display_order, run_digest from rankings where display_order <= 2
    ) as bests on bests.comparison_key = runs.comparison_key and bests.run_digest <> runs.run_digest
    group by runs.run_digest
)
select
    run_page(run_dossier.run_digest) as page,
    kernel_page(operations.slug, operations.operation_digest) as kernel_page,
    -- Runs on single cases stand in a table of their own there.
    if(run_dossier.workload_kind = 'case', 'cases', 'group-' || run_dossier.comparison_key[8:19]) as anchor,
    project_page(projects.slug, projects.project_digest) as project_page,
    this,
    other,
    run_dossier
from run_dossier
join operations using (operation_digest)
join projects using (project_digest)
join site_runs as this on this.run_digest = run_dossier.run_digest
left join compared on compared.run_digest = run_dossier.run_digest
left join site_runs as other on other.run_digest = other_digest
