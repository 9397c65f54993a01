"""The Dagster code location: all assets, jobs and resources."""

import dagster as dg

import assets.leaderboard.assets
import assets.manifests.assets
import assets.rankings.assets
import warehouse.assets
from pipelines.checks import (
    check_fetching,
    check_manifests,
    check_rankings,
    home_is_whole,
    kernel_is_readable,
)
from pipelines.instance import register_where_loaded
from pipelines.jobs import examine, ingest, list_kernels, publish, saved_pages, tidy
from pipelines.resources import Pipeline
from pipelines.schedules import examining, nightly, tidying, weekly
from pipelines.sensors import carry_on, failures, inbox, new_kernels

register_where_loaded()

defs = dg.Definitions(
    assets=dg.load_assets_from_modules(
        [assets.leaderboard.assets, assets.manifests.assets, assets.rankings.assets, warehouse.assets]
    ),
    asset_checks=[check_fetching, kernel_is_readable, check_manifests, check_rankings, home_is_whole],
    jobs=[ingest, publish, saved_pages, list_kernels, examine, tidy],
    schedules=[nightly, weekly, tidying, examining],
    sensors=[carry_on, inbox, new_kernels, failures],
    resources={"pipeline": Pipeline()},
    # One process a run: its steps are short, and all the work of a run is shared in caches.
    executor=dg.in_process_executor,
)
