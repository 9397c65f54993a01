"""Drift: fields that the source serves and nobody knows, and those that it serves no longer; since when.

Which fields are known belongs in `records`.
"""

from collections.abc import Iterable

import duckdb
import pyarrow as pa

from assets.leaderboard.records import Row, Unreadable, items_of, read_answer
from assets.leaderboard.snapshots import Page
from warehouse.tables import DRIFT

# An axis has other fields for each kind of axis that there is: what one lacks is not missing.
_NOT_ALIKE = "data.axes.*"


def missing_fields(before: Page, page: Page) -> set[str]:
    """The fields that all items of a page had before, and that none of its items has now.

    A field that only some items have comes and goes with them, which is no drift.
    """
    always, ever = _fields(before)[0], _fields(page)[1]
    return {
        _joined(path, name) for path, names in always.items() if path in ever for name in names - ever[path]
    }


def followed(rows: Iterable[Row], page: Page, before: Page | None, unknown: Iterable[Row]) -> list[Row]:
    """The rows of drift, and what one page more says; `before` is what came of it last, if anything did.

    A field that went missing stays so until a page has it again; then the row says when it was missing last.
    """
    drift = {tuple(row[name] for name in DRIFT.key): row for row in rows}
    still = {row["field"] for row in drift.values() if row["locator"] == page.locator and _missing(row)}
    missing = missing_fields(before, page) if before else set()
    missing |= still - _there(page) if still else set()
    seen = {"first_seen_at": page.fetched_at, "last_seen_at": page.fetched_at}
    source = {"locator": page.locator, "page_digest": page.page_digest}
    gone = [{**source, "field": name, "change": "missing", **seen} for name in sorted(missing)]
    for row in [*unknown, *gone]:
        key = tuple(row[name] for name in DRIFT.key)
        drift[key] = {**row, "first_seen_at": drift.get(key, row)["first_seen_at"]}
    return list(drift.values())


def confirmed(drift: pa.Table, pages: pa.Table) -> pa.Table:
    """Drift, its last sights moved on to the last answer that said the page which shows it is unchanged."""
    with duckdb.connect() as connection:
        connection.register("drift", drift)
        connection.register("pages", pages)
        result = connection.sql("""
            with answers as (
                select locator, page_digest, max(fetched_at) as answered_at
                from pages
                where problem is null
                group by all
            )
            select drift.* replace (greatest(last_seen_at, answered_at) as last_seen_at)
            from drift left join answers using (locator, page_digest)
            order by all
        """)
        return result.to_arrow_table().cast(drift.schema)


def _missing(row: Row) -> bool:
    return bool(row["change"] == "missing")


def _fields(page: Page) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """By where items stand, the fields that all of them have and those that any of them has."""
    always: dict[str, set[str]] = {}
    ever: dict[str, set[str]] = {}
    try:
        items = list(items_of(read_answer(page)))
    except Unreadable:
        return always, ever
    for path, item in items:
        if isinstance(item, dict) and path != _NOT_ALIKE:
            always[path] = always.get(path, set(item)) & item.keys()
            ever.setdefault(path, set()).update(item)
    return always, ever


def _there(page: Page) -> set[str]:
    return {_joined(path, name) for path, names in _fields(page)[1].items() for name in names}


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}".lstrip(".")
