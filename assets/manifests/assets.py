"""Manifests, as Dagster assets."""

from typing import Any

import dagster as dg

from assets.leaderboard.assets import kernel_pages, kernels
from assets.leaderboard.kernel_pages import kernel_listing
from assets.leaderboard.snapshots import SnapshotError
from assets.manifests.kernel_manifests import CODE_VERSION, MANIFEST_TABLES, SOURCE_TABLES, make_manifests
from pipelines.progress import progress
from pipelines.resources import Pipeline
from pipelines.table_assets import CARRY_ON, collected_tables
from warehouse.tables import DRIFT, PAGES, QUARANTINE

GROUP = "manifests"


@dg.asset(
    group_name=GROUP,
    kinds={"json", "arrow"},
    partitions_def=kernels,
    deps=[kernel_pages],
    code_version=CODE_VERSION,
    automation_condition=CARRY_ON,
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def kernel_manifests(context: dg.AssetExecutionContext, pipeline: Pipeline) -> dg.MaterializeResult[Any]:
    """A kernel's pages, read and normalised: records, and manifests named by their digests.

    The operation, its workloads, and a run for each submission that qualifies. What can't be read, or makes
    no manifest, is quarantined with its reason. A kernel whose pages did not change is left as it is.
    """
    home = pipeline.home()
    ids = {row["kernel_key"]: row["kernel_id"] for row in kernel_listing(home)}
    changed = 0
    for key in progress(context.partition_keys, "normalising"):
        if not home.part(key, "pages").exists():
            continue
        try:
            made = make_manifests(home, key, ids[key])
        except SnapshotError as problem:
            raise dg.Failure(f"kernel {key}: {problem}") from problem
        changed += made.changed
        if made.changed:
            context.add_asset_metadata(made.rows, partition_key=key)
    return dg.MaterializeResult(metadata={"kernels_changed": changed})


tables = collected_tables(
    "tables",
    GROUP,
    {
        **{table: ["manifests"] for table in (*SOURCE_TABLES, *MANIFEST_TABLES)},
        PAGES: ["listing", "pages"],
        QUARANTINE: ["listing", "manifests"],
        DRIFT: ["listing", "manifests"],
    },
)
