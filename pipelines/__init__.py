"""How the pipeline is run: the Dagster code location, its settings, and the `kernelindex` command."""

import warnings

# Single-run backfills, data versions and checks of partitions are what a kernel being a partition is for;
# that Dagster calls them beta and preview is no news to a user.
warnings.filterwarnings("ignore", message="Parameter `backfill_policy`")
warnings.filterwarnings("ignore", message="Specifying a partitions_def on an AssetCheckSpec")
warnings.filterwarnings("ignore", message="Parameter `data_version`")
