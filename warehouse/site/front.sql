-- One row: all that the front page shows.

with seconds as (
    select comparison_key, min(ratio_to_best) as ratio_to_second from rankings where rank = 2 group by all
),
groups as (
    select
        site_groups.*,
        head.* exclude (comparison_key, run_digest, operation_digest),
        head.latency_ms / sol_geomean_ms as ratio_to_bound,
        ratio_to_second,
        records.held_since
    from site_groups
    left join site_runs as head on head.run_digest = head_run_digest
    left join seconds on seconds.comparison_key = site_groups.comparison_key
    left join records on records.comparison_key = site_groups.comparison_key
    left join kernel_bounds on kernel_bounds.kernel_id = site_groups.kernel_id
),
leaders as (
    select standings.*, project_page(slug, project_digest) as project_page
    from standings
    join projects using (project_digest)
)
select
    'index.html' as page,
    (
        select coalesce(list(leaders order by firsts desc, podiums desc, groups desc, project, project_digest), [])
        from leaders
    ) as leaders,
    (
        select coalesce(list(groups order by kernel, stack desc, gpu, comparison_key), []) from groups
    ) as groups,
    (
        select {
            'kernels': (select count(*) from operations),
            'runs': (select count(*) from runs),
            'groups': (select count(*) from named_groups),
            'projects': (select count(*) from projects),
            'gone_kernels': (select count(*) from gone_kernels),
            'incomplete_kernels': (select count(*) from source_kernels where submissions_missing > 0),
            'disagreeing_groups': (select count(*) from order_disagreement where discordant_pairs > 0)
        }
    ) as counts,
