"""Tables as Dagster assets: what the UI shows of them, and those that are collected from kernels' parts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.leaderboard.snapshots import digest_of
from pipelines.progress import log
from pipelines.resources import Pipeline
from warehouse.files import written_aside
from warehouse.home import Home
from warehouse.parquet import collect, read_table, write_table
from warehouse.parts import parts_version
from warehouse.tables import Table

# The pool of steps that write tables or the warehouse: one at a time, over all runs, so that of two that
# write the same table the later one has seen all that the other saw.
PUBLISHING = "publishing"

PREVIEW_ROWS = 10
_LONGEST_CELL = 80


def collected_tables(name: str, group: str, tables: Mapping[Table, Sequence[str]]) -> dg.AssetsDefinition:
    """Tables that are collected from the parts of all kernels, each from the stages named with it."""

    @dg.multi_asset(
        name=name,
        specs=[
            table_spec(table, [f"kernel_{stage}" for stage in stages], group)
            for table, stages in tables.items()
        ],
        can_subset=True,
        pool=PUBLISHING,
    )
    def collected(
        context: dg.AssetExecutionContext, pipeline: Pipeline
    ) -> Iterator[dg.MaterializeResult[Any]]:
        home = pipeline.home()
        log.info("collecting tables")
        # Looked at before anything is collected: what changes meanwhile will be collected once more.
        version = parts_version(home)
        for table, stages in tables.items():
            if dg.AssetKey(table.name) in context.selected_asset_keys:
                yield table_result(home, table, write_table(home, table, collect(home, table, stages)))
        if len(context.selected_asset_keys) == len(tables):
            with written_aside(home.collected) as aside:
                aside.write_text(version)

    return collected


def table_spec(table: Table, deps: Iterable[str], group: str) -> dg.AssetSpec:
    """A table as an asset: what a row is, its columns, what it is made of."""
    columns = [
        dg.TableColumn(
            name=column.name,
            type=column.sql_type,
            description=column.comment,
            constraints=dg.TableColumnConstraints(nullable=not column.required),
        )
        for column in table.columns
    ]
    return dg.AssetSpec(
        table.name,
        deps=list(deps),
        description=f"{table.grain[0].upper()}{table.grain[1:]}.\n\nKey: `{', '.join(table.key)}`.",
        group_name=group,
        kinds={"parquet", "duckdb"},
        metadata={"dagster/column_schema": dg.TableSchema(columns=columns)},
    )


def table_result(home: Home, table: Table, changed: bool) -> dg.MaterializeResult[Any]:
    """What became of a table: its rows, whether they changed, a preview."""
    rows = read_table(home, table)
    return dg.MaterializeResult(
        asset_key=table.name,
        metadata={
            "dagster/row_count": rows.num_rows,
            "changed": changed,
            "file": dg.MetadataValue.path(home.table(table.name)),
            "preview": preview(rows),
        },
        data_version=dg.DataVersion(digest_of(home.table(table.name).read_bytes())),
    )


def preview(rows: pa.Table) -> dg.TableMetadataValue:
    """The first rows, as a table that the UI shows as text, whatever stands in it."""
    shown = rows.slice(0, PREVIEW_ROWS).to_pylist()
    records = [
        dg.TableRecord({name: _cell(value) for name, value in row.items() if name != "manifest"})
        for row in shown
    ]
    columns = [dg.TableColumn(name) for name in rows.column_names if name != "manifest"]
    return dg.MetadataValue.table(records, dg.TableSchema(columns=columns))


def _cell(value: object) -> str | int | float | bool:
    if isinstance(value, (bool, int, float)):
        return value
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_CELL else text[:_LONGEST_CELL] + "…"
