"""The names under which this project stands in a Dagster instance: none that another team would choose."""

import dagster as dg

PREFIX = "sol_execbench"


def asset_key(name: str) -> dg.AssetKey:
    """The key of an asset of ours."""
    return dg.AssetKey([PREFIX, name])


def own(name: str) -> str:
    """The name of a job, a schedule, a sensor, a pool or partitions of ours."""
    return f"{PREFIX}_{name}"
