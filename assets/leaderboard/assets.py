"""The leaderboard's pages and what they say, as Dagster assets."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

import dagster as dg

from assets.leaderboard.kernel_pages import (
    fetch_kernel,
    fetch_kernel_listing,
    kernel_listing,
    longest_ago_first,
)
from assets.leaderboard.pages import Tally
from assets.leaderboard.records import Unreadable
from assets.leaderboard.snapshots import digest_of
from assets.leaderboard.sources import CrawlStopped, SourceError
from pipelines.names import PREFIX, own
from pipelines.partitions import made_partitions
from pipelines.pools import FETCHING, alone_in
from pipelines.progress import log, progress
from pipelines.resources import Pipeline
from warehouse.home import Home
from warehouse.parts import PartError, part_version

GROUP = "leaderboard"

KERNELS = own("kernels")
kernels = dg.DynamicPartitionsDefinition(name=KERNELS)


def register_kernels(instance: dg.DagsterInstance, home: Home) -> list[str]:
    """Make partitions of the kernels that a home knows and an instance does not; give the keys of those."""
    known = set(instance.get_dynamic_partitions(KERNELS))
    new = [row["kernel_key"] for row in kernel_listing(home) if row["kernel_key"] not in known]
    if new:
        instance.add_dynamic_partitions(KERNELS, new)
    return new


def registered_kernels(instance: dg.DagsterInstance, home: Home) -> list[str]:
    """The kernels that a home knows, all of them partitions, in the order that ranges of partitions go by.

    The instance can have partitions of other homes: these are not among them.
    """
    register_kernels(instance, home)
    of_home = {row["kernel_key"] for row in kernel_listing(home)}
    return [key for key in instance.get_dynamic_partitions(KERNELS) if key in of_home]


@dg.asset(name="kernel_listing", key_prefix=PREFIX, group_name=GROUP, kinds={"json"}, pool=FETCHING)
def kernel_listing_asset(context: dg.AssetExecutionContext, pipeline: Pipeline) -> dg.MaterializeResult[Any]:
    """Which kernels there are: the page of `/kernels`, fetched and stored.

    New kernels become partitions; kernels that vanish from the listing stay, marked as not listed.
    """
    try:
        with alone_in(FETCHING, context), pipeline.open_source() as source:
            rows = fetch_kernel_listing(source, pipeline.kept())
    except (SourceError, Unreadable) as problem:
        raise dg.Failure(f"the listing of kernels could not be fetched: {problem}") from problem
    new = register_kernels(context.instance, pipeline.kept())
    vanished = [row["kernel_name"] for row in rows if not row["listed"]]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(rows),
            "new": len(new),
            "not_listed": len(vanished),
            "names_not_listed": dg.MetadataValue.json(vanished),
            **tally_metadata(source.tally),
        },
        # Of the kernels alone: that one has more submissions puts the others' pages not out of date.
        data_version=dg.DataVersion(digest_of("\n".join(row["kernel_key"] for row in rows).encode())),
    )


@dg.asset(
    key_prefix=PREFIX,
    group_name=GROUP,
    kinds={"json"},
    partitions_def=kernels,
    deps=[kernel_listing_asset],
    backfill_policy=dg.BackfillPolicy.single_run(),
    pool=FETCHING,
)
def kernel_pages(context: dg.AssetExecutionContext, pipeline: Pipeline) -> Iterator[Any]:
    """A kernel's pages: its definition and all listings of its submissions.

    Every answer is stored before anything reads it. A kernel's new pages count all at once, or not at all
    where one of them is not to be had; then the kernel keeps those that it had, and shows as failed.
    """
    home = pipeline.kept()
    of_home = {row["kernel_key"]: row for row in kernel_listing(home)}
    listed = {key: row for key, row in of_home.items() if row["listed"]}
    keys = [key for key in longest_ago_first(home, context.partition_keys) if key in listed]
    versions: dict[str, str] = {}
    # A range of partitions can have kernels of another home between: nothing is said of these.
    for key in of_home.keys() & set(context.partition_keys).difference(keys):
        context.add_asset_metadata({"listed": False}, partition_key=key)
        versions[key] = part_version(home.part(key, "pages")) or "never fetched"
    fetched, changed, pages = 0, 0, 0
    failed: list[str] = []
    stopped = ""
    with alone_in(FETCHING, context), ExitStack() as crawl:
        try:
            source = crawl.enter_context(pipeline.open_source())
        except SourceError as problem:
            raise dg.Failure(f"no kernel was fetched: {problem}") from problem
        begun = source.tally.copy()
        source.begin(keys)
        requests = {key: source.expected_requests(listed[key]) for key in keys}
        for key in progress(keys, "fetching", requests):
            if stopped:
                yield _not_made(context, key, {"problem": f"not reached: {stopped}"})
                continue
            before = source.tally.copy()
            try:
                kernel = fetch_kernel(
                    source, home, key, listed[key]["kernel_id"], listed[key]["submission_count"]
                )
            except (SourceError, PartError) as problem:
                log.error("kernel %s was not fetched: %s", key, problem)
                failed.append(f"{key} ({problem})")
                stopped = str(problem) if isinstance(problem, CrawlStopped) else ""
                happened: dict[str, Any] = {"problem": str(problem)}
            else:
                versions[key] = kernel.version
                fetched, changed, pages = fetched + 1, changed + kernel.changed, pages + kernel.pages
                happened = {"pages": kernel.pages, "size_bytes": kernel.size_bytes, "changed": kernel.changed}
            asked = source.tally.since(before)
            if asked.requests or happened.get("changed") or "problem" in happened:
                happened |= {"asked": asdict(asked)}
                context.add_asset_metadata({"happened": dg.MetadataValue.json(happened)}, partition_key=key)
            if "problem" in happened:
                yield _not_made(context, key, happened)
    if failed and not fetched:
        raise dg.Failure(f"no kernel was fetched: {'; '.join(failed[:3])}")
    yield from made_partitions(
        context,
        versions,
        metadata={
            "kernels_fetched": fetched,
            "pages_fetched": pages,
            "kernels_changed": changed,
            "kernels_failed": dg.MetadataValue.json(failed),
            "kernels_not_reached": len(keys) - fetched - len(failed),
            "stopped": stopped,
            **tally_metadata(source.tally.since(begun)),
        },
    )


def _not_made(context: dg.AssetExecutionContext, key: str, happened: dict[str, Any]) -> dg.AssetObservation:
    """What stands in the UI of a kernel that could not be fetched."""
    metadata = {"happened": dg.MetadataValue.json(happened)}
    return dg.AssetObservation(context.asset_key, partition=key, metadata=metadata)


def tally_metadata(tally: Tally) -> dict[str, int]:
    """What asking came to, as metadata of an asset."""
    return {f"answers_{name}" if name in _ANSWERS else name: count for name, count in asdict(tally).items()}


def tally_of(metadata: dict[str, Any]) -> Tally:
    """What asking came to, from an asset's metadata."""
    counts = {name.removeprefix("answers_"): count for name, count in metadata.items()}
    return Tally(**{name: counts[name] for name in asdict(Tally())})


_ANSWERS = ("new", "changed", "unchanged", "failed")
