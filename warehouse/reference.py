"""The data dictionary, docs/reference.md, as the warehouse itself tells it."""

import duckdb

from warehouse import connect
from warehouse.tables import TABLES

_INTRODUCTION = """\
# Reference

What the warehouse holds: each view, macro and table, and each of their columns. DuckDB shows the same words:
`select column_name, data_type, comment from duckdb_columns() where table_name = 'leaderboard'`.

A key has the same name wherever it stands, so that `join … using (run_digest)` and the like do. A digest is
text, `sha256:` and 64 hex digits. Times are UTC, names say their units, and what the source does not say is
null.

`python -m warehouse.reference > docs/reference.md` makes this page, from a warehouse that was just built.
The words come from `warehouse/tables.py`, `warehouse/view_columns.py` and the views' SQL: change them there.
"""
_KINDS = {
    "Views": ("view_name", "duckdb_views()"),
    "Macros": ("concat(function_name, '(', array_to_string(parameters, ', '), ')')", "duckdb_functions()"),
    "Tables": ("table_name", "duckdb_tables()"),
}
_OURS = "where database_name = current_database() and not internal"


def reference(connection: duckdb.DuckDBPyConnection) -> str:
    """The data dictionary of the warehouse that a connection uses, as Markdown."""
    lines = [_INTRODUCTION]
    for kind, (name_in_sql, things) in _KINDS.items():
        lines.append(f"## {kind}\n")
        found = connection.execute(
            f"select {name_in_sql} as name, comment from {things} {_OURS} order by name"
        )
        for name, comment in found.fetchall():
            key = f" Key: `{', '.join(TABLES[name].key)}`." if name in TABLES else ""
            lines += [f"### {name}\n", f"{comment[:1].upper()}{_escaped(comment[1:])}.{key}\n"]
            if columns := _columns(connection, name):
                lines += ["| column | type | |", "| --- | --- | --- |", *columns, ""]
    return "\n".join(lines)


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    found = connection.execute(
        f"select column_name, lower(data_type), comment from duckdb_columns() {_OURS} and table_name = $1 "
        "order by column_index",
        [name],
    )
    return [
        f"| {column} | `{type_.replace('timestamp with time zone', 'timestamptz')}` | {_escaped(comment)} |"
        for column, type_, comment in found.fetchall()
    ]


def _escaped(comment: str) -> str:
    """A comment in which Markdown finds no markup."""
    return comment.replace("|", r"\|").replace("<", r"\<").replace("*", r"\*")


if __name__ == "__main__":
    with connect() as warehouse:
        print(reference(warehouse), end="")
