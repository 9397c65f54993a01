-- accounts: what became of every submission that the pages which count list, a row a submission.
-- `listed` has a row for each of these pages, with the items that stand on it, named as the quarantine names
-- them. `accounting.py` says what must hold.

create or replace temp table accounts as
with listed_items as (
    select kernel_id, item
    from (select kernel_id, locator, unnest(items) as item from listed)
    -- An item without an id is known by its place alone; any other is one, on however many pages.
    group by kernel_id, item, if(item like 'submission at %', locator, null)
),
read_submissions as (
    select
        kernel_id,
        'submission ' || source_submissions.submission_id as item,
        case
            when outcome = 'run' and run_digest is not null then 'run'
            when outcome not in ('run', 'QUARANTINED') then 'no run'
        end as account
    from source_submissions
    left join runs on runs.external_id = source_submissions.submission_id::varchar
),
-- One page that can't be read costs its kernel: all that is new there is set aside with it. What was read
-- before stays, and whether the page still lists it is not known.
aside as (
    select distinct kernel_id, quarantine.item
    from listed
    join quarantine using (locator, page_digest)
),
set_aside as (
    select distinct listed_items.kernel_id, listed_items.item
    from listed_items
    join aside
        on listed_items.kernel_id = aside.kernel_id
        and aside.item in (listed_items.item, 'page')
),
-- What another kernel came to list counts there, and here it is none for that reason.
moved as (
    select distinct kernel_id, 'submission ' || submission_id as item
    from submission_history
    semi join source_submissions using (submission_id)
    where end_reason = 'MOVED'
)
select
    kernel_id,
    item,
    listed_items.item is not null as listed,
    kernel_id in (select kernel_id from aside where item = 'page') as may_be_listed,
    case
        when account is not null then account
        when set_aside.item is not null then 'quarantined'
        when moved.item is not null then 'no run'
    end as account
from listed_items
full join read_submissions using (kernel_id, item)
left join set_aside using (kernel_id, item)
left join moved using (kernel_id, item);
