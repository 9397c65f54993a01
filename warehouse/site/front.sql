-- One row: all that the front page shows.

with seconds as (
    select comparison_key, min(ratio_to_best) as ratio_to_second from rankings where rank = 2 group by all
),
groups as (
    select
        site_groups.*,
        head.* exclude (comparison_key, run_digest, operation_digest),
        ratio_to_second,
        records.held_since
    from site_groups
    left join site_runs as head on head.run_digest = head_run_digest
    left join seconds on seconds.comparison_key = site_groups.comparison_key
    left join records on records.comparison_key = site_groups.comparison_key
),
-- A kernel on which nobody has a run on the newest stack has no group there, but a row.
open_kernels as (
    select
        kernel,
        kernel_stacks.family,
        kernel_stacks.tags,
        stack,
        submissions,
        kernel_page(slug, operation_digest) as kernel_page
    from kernel_stacks
    left join operations using (kernel_id)
    where is_newest and runs = 0 and is_open
),
listed as (
    select *, null as submissions from groups
    union all by name
    from open_kernels
),
leaders as (
    select standings_by_stack.*, project_page(slug, project_digest) as project_page
    from standings_by_stack
    join projects using (project_digest)
),
stack_leaders as (
    select
        stack,
        is_newest,
        stacks.groups,
        list(
            leaders
            order by
                firsts desc, contested_firsts desc, podiums desc, leaders.groups desc, project, project_digest
        ) as leaders
    from stacks
    join leaders using (stack)
    group by all
)
select
    'index.html' as page,
    (
        select coalesce(list(stack_leaders order by is_newest desc, stack desc), []) from stack_leaders
    ) as stacks,
    (
        select coalesce(list(listed order by kernel, stack desc, gpu, comparison_key), []) from listed
    ) as groups,
    (
        select {
            'kernels': (select count(*) from operations),
            'runs': (select count(*) from runs),
            'groups': (select count(*) from named_groups),
            'projects': (select count(*) from projects),
            'open_kernels': (select count(*) from open_kernels),
            'gone_kernels': (select count(*) from gone_kernels),
            'incomplete_kernels': (select count(*) from source_kernels where submissions_missing > 0),
            'disagreeing_groups': (select count(*) from order_disagreement where discordant_pairs > 0)
        }
    ) as counts,
