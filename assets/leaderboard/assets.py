"""The leaderboard's pages and what they say, as Dagster assets."""

from typing import Any

import dagster as dg

from assets.leaderboard.kernel_pages import fetch_kernel, fetch_kernel_listing, kernel_listing
from assets.leaderboard.records import Unreadable
from assets.leaderboard.sources import SourceError
from pipelines.progress import log, progress
from pipelines.resources import Pipeline

GROUP = "leaderboard"
FETCHING = "fetching"

kernels = dg.DynamicPartitionsDefinition(name="kernels")


@dg.asset(name="kernel_listing", group_name=GROUP, kinds={"json"}, pool=FETCHING)
def kernel_listing_asset(context: dg.AssetExecutionContext, pipeline: Pipeline) -> dg.MaterializeResult[Any]:
    """Which kernels there are: the page of `/kernels`, fetched and stored.

    New kernels become partitions; kernels that vanish from the listing stay, marked as not listed.
    """
    try:
        rows = fetch_kernel_listing(pipeline.open_source(), pipeline.home())
    except (SourceError, Unreadable) as problem:
        raise dg.Failure(f"the listing of kernels is not to be had: {problem}") from problem
    known = set(context.instance.get_dynamic_partitions(kernels.name or ""))
    new = [row["kernel_key"] for row in rows if row["kernel_key"] not in known]
    context.instance.add_dynamic_partitions(kernels.name or "", new)
    vanished = [row["kernel_name"] for row in rows if not row["listed"]]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(rows),
            "new": len(new),
            "not_listed": len(vanished),
            "names_not_listed": dg.MetadataValue.json(vanished),
        }
    )


@dg.asset(
    group_name=GROUP,
    kinds={"json"},
    partitions_def=kernels,
    deps=[kernel_listing_asset],
    backfill_policy=dg.BackfillPolicy.single_run(),
    pool=FETCHING,
)
def kernel_pages(context: dg.AssetExecutionContext, pipeline: Pipeline) -> dg.MaterializeResult[Any]:
    """A kernel's pages: its definition and all listings of its submissions.

    Every page is stored by digest before anything reads it. A kernel's new pages count all at once, or not
    at all where one of them is not to be had; then the kernel keeps those that it had.
    """
    home, source = pipeline.home(), pipeline.open_source()
    ids = {row["kernel_key"]: row["kernel_id"] for row in kernel_listing(home) if row["listed"]}
    kernels_fetched, pages, changed, failed = 0, 0, 0, []
    for key in progress(context.partition_keys, "fetching"):
        if key not in ids:
            context.add_asset_metadata({"listed": False}, partition_key=key)
            continue
        try:
            fetched = fetch_kernel(source, home, key, ids[key])
        except SourceError as problem:
            log.error("kernel %s was not fetched: %s", key, problem)
            context.add_asset_metadata({"problem": str(problem)}, partition_key=key)
            failed.append(f"{key} ({problem})")
            continue
        kernels_fetched += 1
        pages += fetched.pages
        changed += fetched.changed
        if fetched.changed:
            what = {"pages": fetched.pages, "size_bytes": fetched.size_bytes}
            context.add_asset_metadata(what, partition_key=key)
    if failed and len(failed) == len(context.partition_keys):
        raise dg.Failure(f"no kernel was fetched: {'; '.join(failed[:3])}")
    summary = {"kernels_fetched": kernels_fetched, "pages_fetched": pages}
    return dg.MaterializeResult(
        metadata={**summary, "kernels_changed": changed, "kernels_failed": dg.MetadataValue.json(failed)}
    )
