"""Jobs: what is run together."""

import dagster as dg

ingest = dg.define_asset_job(
    "ingest",
    selection=dg.AssetSelection.all(),
    description="The whole way: fetch, read, normalise, rank, publish; for a range of kernels.",
)
