"""The Dagster code location: all assets, jobs and resources."""

import dagster as dg

import assets.leaderboard.assets
import assets.manifests.assets
import assets.rankings.assets
import warehouse.assets
from pipelines.jobs import ingest
from pipelines.resources import Pipeline

defs = dg.Definitions(
    assets=dg.load_assets_from_modules(
        [assets.leaderboard.assets, assets.manifests.assets, assets.rankings.assets, warehouse.assets]
    ),
    jobs=[ingest],
    resources={"pipeline": Pipeline()},
    # One process a run: its steps are short, and all the work of a run is shared in caches.
    executor=dg.in_process_executor,
)
