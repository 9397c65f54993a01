"""Manifests, as Dagster assets."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.leaderboard.assets import kernel_pages, kernels
from assets.leaderboard.drift import confirmed
from assets.leaderboard.inbox import READER_VERSION, InboxError, new_files, take_in
from assets.leaderboard.kernel_pages import kernel_listing, with_listing
from assets.leaderboard.snapshots import SnapshotError
from assets.manifests.case_runs import COLLECTED, MATCHER_VERSION, make_case_runs, page_states, stages_of
from assets.manifests.kernel_manifests import CODE_VERSION, make_all_manifests
from pipelines.names import PREFIX
from pipelines.partitions import made_partitions
from pipelines.pools import PUBLISHING, alone_in
from pipelines.progress import log, progress
from pipelines.resources import Pipeline
from pipelines.table_assets import collected_tables, table_result, table_spec
from warehouse.parquet import collect, write_table
from warehouse.parts import PartError, locked_parts
from warehouse.tables import DRIFT, PAGES, SOURCE_KERNELS

GROUP = "manifests"


@dg.asset(
    key_prefix=PREFIX,
    group_name=GROUP,
    kinds={"json", "arrow"},
    partitions_def=kernels,
    deps=[kernel_pages],
    code_version=CODE_VERSION,
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def kernel_manifests(context: dg.AssetExecutionContext, pipeline: Pipeline) -> Iterator[Any]:
    """A kernel's pages, read and normalised: records, and manifests named by their digests.

    The operation, its workloads, and a run for each submission that qualifies. What can't be read, or makes
    no manifest, is quarantined with its reason. A kernel whose pages did not change is left as it is.
    """
    home = pipeline.kept()
    listed = {row["kernel_key"]: row for row in kernel_listing(home)}
    keys = [key for key in context.partition_keys if key in listed and home.part(key, "pages").exists()]
    making = make_all_manifests(home, [listed[key] for key in keys])
    changed, versions = 0, {}
    for key in progress(keys, "normalising"):
        try:
            made = next(making)
        except (SnapshotError, PartError) as problem:
            raise dg.Failure(f"kernel {key}: {problem}") from problem
        changed += made.changed
        versions[key] = made.version
        if made.changed:
            context.add_asset_metadata(made.rows, partition_key=key)
    yield from made_partitions(context, versions, metadata={"kernels_changed": changed})


@dg.asset(
    key_prefix=PREFIX,
    group_name=GROUP,
    kinds={"html", "arrow"},
    deps=[kernel_manifests],
    code_version=f"{CODE_VERSION}, reader {READER_VERSION}, matcher {MATCHER_VERSION}",
    pool=PUBLISHING,
)
def kernel_cases(context: dg.AssetExecutionContext, pipeline: Pipeline) -> dg.MaterializeResult[Any]:
    """Pages that people saved: those new in the inbox are taken in, and all that count make runs on cases.

    A page whose kernel or submission the leaderboard has not brought yet waits for it. What can't be read or
    matched is quarantined with its reason, and its file left where it is.
    """
    home = pipeline.kept()
    with alone_in(PUBLISHING, context):
        taken_in, failed = 0, []
        for path in new_files(home):
            try:
                take_in(home, path)
                taken_in += 1
            except InboxError as problem:
                log.error("%s", problem)
                failed.append(str(problem))
        made = make_case_runs(home)
        return dg.MaterializeResult(
            metadata={
                "files_taken_in": taken_in,
                "files_failed": dg.MetadataValue.json(failed),
                "case_runs": made.rows.get("run_intervals", 0),
                "disagreements": made.rows.get("page_disagreements", 0),
                "pages": dg.MetadataValue.json(page_states(home)),
            },
            data_version=dg.DataVersion(made.version or "no page"),
        )


tables = collected_tables(
    "tables",
    GROUP,
    {table: stages_of(table) for table in COLLECTED if table not in (DRIFT, SOURCE_KERNELS)},
)


@dg.multi_asset(
    specs=[table_spec(DRIFT, ["kernel_pages", *(f"kernel_{stage}" for stage in stages_of(DRIFT))], GROUP)],
    pool=PUBLISHING,
)
def drift_table(context: dg.AssetExecutionContext, pipeline: Pipeline) -> Iterator[dg.MaterializeResult[Any]]:
    """Fields that came and went; each was seen last when a page that shows it came, or was confirmed."""
    home = pipeline.kept()
    with alone_in(PUBLISHING, context):
        with locked_parts(home, all_of_them=True):
            rows = collect(home, DRIFT, stages_of(DRIFT))
            rows = confirmed(rows, collect(home, PAGES, stages_of(PAGES)))
        yield table_result(home, DRIFT, write_table(home, DRIFT, rows))


@dg.multi_asset(
    specs=[table_spec(SOURCE_KERNELS, ["kernel_listing", "kernel_manifests"], GROUP)], pool=PUBLISHING
)
def source_kernels_table(
    context: dg.AssetExecutionContext, pipeline: Pipeline
) -> Iterator[dg.MaterializeResult[Any]]:
    """The kernels as their pages define them; whether one is listed, and with how many submissions."""
    home = pipeline.kept()
    with alone_in(PUBLISHING, context):
        with locked_parts(home, all_of_them=True):
            rows = with_listing(collect(home, SOURCE_KERNELS, stages_of(SOURCE_KERNELS)), home)
        yield table_result(home, SOURCE_KERNELS, write_table(home, SOURCE_KERNELS, rows))
