"""Accounting: that every submission which the source lists is a run, no run for a reason, or in quarantine.

What is listed is counted anew from the bytes of the pages that count, so that no step in between is taken at
its word. Which submissions become runs belongs in `assets.manifests`, which runs are ranked in this room.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from assets.leaderboard.kernel_pages import kernel_listing
from assets.leaderboard.pages import Pages
from assets.leaderboard.records import Row, Unreadable, read_answer
from assets.leaderboard.snapshots import Page
from assets.rankings.rank import run_step
from assets.rankings.tables import opened
from warehouse.home import Home
from warehouse.parquet import table_of
from warehouse.tables import QUARANTINE, RUNS, SOURCE_SUBMISSIONS, SUBMISSION_HISTORY

LISTED = pa.schema(
    [
        ("kernel_id", pa.int64()),
        ("kernel_key", pa.string()),
        ("locator", pa.string()),
        ("page_digest", pa.string()),
        ("items", pa.list_(pa.string())),
    ]
)

KERNELS = """
select
    kernel_id,
    any_value(kernel_key) as kernel_key,
    count(*) filter (listed) as listed,
    count(*) filter (listed and account = 'run') as runs,
    count(*) filter (listed and account = 'no run') as no_runs,
    count(*) filter (listed and account = 'quarantined') as quarantined
from accounts
join (select distinct kernel_id, kernel_key from listed) using (kernel_id)
group by kernel_id
order by kernel_id
"""

UNACCOUNTED = """
select
    kernel_id,
    kernel_key,
    accounts.item,
    if(
        accounts.listed,
        'listed, but neither a run, nor no run for a reason, nor in quarantine',
        'read, but on none of the pages that count'
    ) as problem
from accounts
left join (select distinct kernel_id, kernel_key from listed) using (kernel_id)
where account is null or not (accounts.listed or may_be_listed)
order by all
"""


def accounts_by_kernel(home: Home) -> pa.Table:
    """A row a kernel: how many submissions its pages list, and how many are runs, no runs, in quarantine."""
    with _accounts(home) as connection:
        return connection.sql(KERNELS).to_arrow_table()


def unaccounted(home: Home) -> pa.Table:
    """A row a submission that breaks the account of its kernel, with the problem; none where all add up."""
    with _accounts(home) as connection:
        return connection.sql(UNACCOUNTED).to_arrow_table()


@contextmanager
def _accounts(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with opened(home, (RUNS, SOURCE_SUBMISSIONS, SUBMISSION_HISTORY, QUARANTINE)) as connection:
        connection.register("listed", table_of(_listed(home), LISTED))
        run_step(connection, "accounts")
        yield connection


def _listed(home: Home) -> Iterator[Row]:
    for kernel in kernel_listing(home):
        pages = Pages(home, kernel["kernel_key"])
        for row in pages.current:
            lists = row["locator"].startswith("/submissions")
            yield {
                **{name: kernel[name] for name in ("kernel_id", "kernel_key")},
                **{name: row[name] for name in ("locator", "page_digest")},
                "items": _items(pages.read(row)) if lists else [],
            }


def _items(page: Page) -> list[str]:
    """The submissions that a page lists, each by its id, or by its place where it has none."""
    try:
        data = read_answer(page)["data"]
    except Unreadable:
        return []
    items = data.get("submissions") if isinstance(data, dict) else None
    if not isinstance(items, list):
        return []
    ids = [item.get("id") if isinstance(item, dict) else None for item in items]
    return [
        f"submission {id_}" if type(id_) is int else f"submission at {place}" for place, id_ in enumerate(ids)
    ]
