-- One row: what stands on every page.

select
    (select count(*) from pages) as pages,
    (
        select strftime(min(fetched_at), '%Y-%m-%d') || ' to ' || strftime(max(fetched_at), '%Y-%m-%d') from pages
    ) as fetched,
    coalesce((select string_agg(distinct policy, ', ' order by policy) from rankings), 'none') as policy
