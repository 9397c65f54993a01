-- One row per run's page: what run_dossier says of it, and where the pages lie that it leads to.

select
    run_page(run_digest) as page,
    kernel_page(operations.slug, operation_digest) as kernel_page,
    -- Runs on single cases stand in a table of their own there.
    if(run_dossier.workload_kind = 'case', 'cases', 'group-' || comparison_key[8:19]) as anchor,
    project_page(projects.slug, project_digest) as project_page,
    run_page(head_run_digest) as head_page,
    run_dossier
from run_dossier
join operations using (operation_digest)
join projects using (project_digest)
