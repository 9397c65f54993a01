"""Tables as Dagster assets: what the UI shows of them, and those that are collected from kernels' parts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.leaderboard.snapshots import file_digest
from pipelines.names import asset_key, own
from pipelines.pools import PUBLISHING, alone_in
from pipelines.progress import log
from pipelines.resources import Pipeline
from warehouse.build import built_from, table_digest
from warehouse.files import written_aside
from warehouse.home import Home
from warehouse.parquet import TableError, first_rows, pieces, row_count, write_tables
from warehouse.parts import PartError, locked_parts, parts_version
from warehouse.tables import Table

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
        home = pipeline.kept()
        with alone_in(PUBLISHING, context):
            if not home.parts("pages"):
                registered = len(context.instance.get_dynamic_partitions(own("kernels")))
                raise dg.Failure(
                    f"nothing was collected: of {registered} kernels that are registered in this Dagster, "
                    f"{home.directory} holds no page; name the home that has them (KERNELINDEX_HOME, or "
                    "`home` of the resource `pipeline`), or run `kernelindex ingest`"
                )
            log.info("collecting tables")
            # Other runs may be fetching: what they bring meanwhile will be collected once more.
            with locked_parts(home, all_of_them=True):
                version = parts_version(home)
                is_collected = home.collected.exists() and home.collected.read_text() == version
                # Files that are those which were published are left as they are; any other can be damaged.
                digests = built_from(home) if is_collected else {}
                # Until all of them are there, those that there are need not fit together.
                _note_collected(home, f"not all, by run {context.run.run_id}")
                selected = {
                    table: stages
                    for table, stages in tables.items()
                    if asset_key(table.name) in context.selected_asset_keys
                }
                stale = {
                    table: stages
                    for table, stages in selected.items()
                    if table.name not in digests
                    or not home.table(table.name).exists()
                    or table_digest(home, table.name) != digests[table.name]
                }
                try:
                    changed = write_tables(home, stale, pieces(home, stale))
                except (PartError, TableError) as problem:
                    raise dg.Failure(f"the tables were not collected: {problem}") from problem
                for table in selected:
                    yield table_result(home, table, table.name in changed)
                if len(context.selected_asset_keys) == len(tables):
                    _note_collected(home, version)

    return collected


def _note_collected(home: Home, version: str) -> None:
    with written_aside(home.collected) as aside:
        aside.write_text(version)


def table_spec(
    table: Table, deps: Iterable[str], group: str, origins: Mapping[str, Sequence[str]] | None = None
) -> dg.AssetSpec:
    """A table as an asset: what a row is, its columns, what it is made of.

    `origins` are, for each column that is made from columns of other tables, those, as `table.column`.
    """
    origins = origins or {}
    columns = [
        dg.TableColumn(
            name=column.name,
            type=column.sql_type,
            # Dagster's open UI does not show column lineage: so it stands here in words.
            description=f"{column.comment}; from {', '.join(origins[column.name])}"
            if column.name in origins
            else column.comment,
            constraints=dg.TableColumnConstraints(nullable=not column.required),
        )
        for column in table.columns
    ]
    lineage = {
        column: [_column(made_from) for made_from in columns_before]
        for column, columns_before in origins.items()
    }
    return dg.AssetSpec(
        asset_key(table.name),
        deps=[asset_key(name) for name in deps],
        description=f"{table.grain[0].upper()}{table.grain[1:]}.\n\nKey: `{', '.join(table.key)}`.",
        group_name=group,
        kinds={"parquet", "duckdb"},
        metadata={
            "dagster/column_schema": dg.TableSchema(columns=columns),
            "dagster/column_lineage": dg.TableColumnLineage(lineage),
        },
    )


def _column(name: str) -> dg.TableColumnDep:
    table, column = name.split(".")
    return dg.TableColumnDep(asset_key(table), column)


def table_result(home: Home, table: Table, changed: bool) -> dg.MaterializeResult[Any]:
    """What became of a table: its rows, whether they changed, a preview."""
    return dg.MaterializeResult(
        asset_key=asset_key(table.name),
        metadata={
            "dagster/row_count": row_count(home, table),
            "changed": changed,
            "file": dg.MetadataValue.path(home.table(table.name)),
            "preview": preview(first_rows(home, table, PREVIEW_ROWS)),
        },
        data_version=dg.DataVersion(file_digest(home.table(table.name))),
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
