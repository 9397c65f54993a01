"""The description of tables in CSV: a Data Package (datapackage.org), as Frictionless and its like read it.

Types, comments and what may be null come from the warehouse itself, keys from `warehouse.tables`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse.tables import TABLES

# The table that a column of this name refers to.
ROW_OF = {
    "operation_digest": "operations",
    "workload_digest": "workloads",
    "project_digest": "projects",
    "implementation_digest": "implementations",
    "protocol_digest": "protocols",
    "environment_digest": "environments",
    "run_digest": "runs",
    "head_run_digest": "runs",
    "previous_run_digest": "runs",
    "by_run_digest": "runs",
    "comparison_key": "comparison_groups",
    "kernel_id": "source_kernels",
}
_TYPES = {
    "VARCHAR": "string",
    "BIGINT": "integer",
    "INTEGER": "integer",
    "DOUBLE": "number",
    "BOOLEAN": "boolean",
    "TIMESTAMP WITH TIME ZONE": "datetime",
    "JSON": "object",
}
# As pandas names these types, so that texts of digits stay texts, and integers that are absent integers.
_PANDAS_TYPES = {
    "VARCHAR": "string",
    "BIGINT": "Int64",
    "INTEGER": "Int64",
    "DOUBLE": "float64",
    "BOOLEAN": "boolean",
}
_DESCRIPTION = (
    "NVIDIA's SOL-ExecBench leaderboard as KernelIndex manifests, runs and ranks. What the leaderboard says "
    "is NVIDIA's and comes under its site's terms; it names no licence. Text that begins with = + - @, their "
    "full-width forms, a tab, a line break or an apostrophe has one more apostrophe before it, so that no "
    "spreadsheet takes it for a formula. Lists and JSON are JSON text. Of each file, `pandas` is what "
    "pandas.read_csv has to be told, by name."
)


@dataclass(frozen=True)
class Column:
    """A column of the warehouse: its type as DuckDB names it."""

    name: str
    type: str
    nullable: bool
    comment: str | None

    @property
    def is_nested(self) -> bool:
        """Whether its values have parts: lists, structs, maps."""
        return self.type.endswith("]") or self.type.startswith(("STRUCT", "MAP"))


def columns_of(connection: duckdb.DuckDBPyConnection, table: str) -> list[Column]:
    """The columns of a table or view, in order."""
    rows = connection.execute(
        "select column_name, data_type, is_nullable, comment from duckdb_columns() "
        "where database_name = 'warehouse' and table_name = $1 order by column_index",
        [table],
    ).fetchall()
    return [Column(*row) for row in rows]


def data_package(connection: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> dict[str, Any]:
    """The description of tables that lie beside it as `<table>.csv`."""
    ((version, newest),) = connection.execute(
        "select version, strftime(max(fetched_at) at time zone 'UTC', '%Y-%m-%dT%H:%M:%SZ') "
        "from warehouse_version left join pages on true group by version"
    ).fetchall()
    package = {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "kernelindex-sol-execbench",
        "title": "SOL-ExecBench leaderboard",
        "description": _DESCRIPTION,
        "version": version,
        "created": newest,
        "sources": [
            {
                "title": "NVIDIA SOL-ExecBench leaderboard",
                "path": "https://research.nvidia.com/benchmarks/sol-execbench",
            }
        ],
        "resources": [_resource(connection, table, tables) for table in tables],
    }
    return {name: value for name, value in package.items() if value is not None}


def _resource(connection: duckdb.DuckDBPyConnection, table: str, tables: Sequence[str]) -> dict[str, Any]:
    ((comment,),) = connection.execute(
        "select comment from (select database_name, table_name, comment from duckdb_tables() "
        "union all select database_name, view_name, comment from duckdb_views()) "
        "where database_name = 'warehouse' and table_name = $1",
        [table],
    ).fetchall()
    columns = columns_of(connection, table)
    schema: dict[str, Any] = {"fields": [_field(column) for column in columns]}
    if table in TABLES:
        key = TABLES[table].key
        # Where a part of a key may be absent, a Data Package knows no key.
        if not any(column.nullable for column in columns if column.name in key):
            schema["primaryKey"] = list(key)
        if references := [
            {
                "fields": [column.name],
                "reference": {"resource": target, "fields": list(TABLES[target].key)},
            }
            for column in columns
            if (target := ROW_OF.get(column.name)) and target in tables and target != table
        ]:
            schema["foreignKeys"] = references
    return {
        "name": table,
        "type": "table",
        "path": f"{table}.csv",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "pandas": _pandas(columns),
        **({"description": comment} if comment else {}),
        "schema": schema,
    }


def _pandas(columns: Sequence[Column]) -> dict[str, Any]:
    """What pandas.read_csv has to be told, by name, to read these columns as what they are."""
    times = [column.name for column in columns if column.type == "TIMESTAMP WITH TIME ZONE"]
    return {
        "dtype": {
            column.name: _PANDAS_TYPES.get(column.type, "string")
            for column in columns
            if column.name not in times
        },
        "parse_dates": times,
        # A name can be `NA`: only an empty cell is absent.
        "keep_default_na": False,
        "na_values": [""],
    }


def _field(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": "array" if column.type.endswith("]") else _TYPES.get(column.type, "any"),
        **({"description": column.comment} if column.comment else {}),
        **({} if column.nullable else {"constraints": {"required": True}}),
    }
