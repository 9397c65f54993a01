"""How the pipeline is run: the Dagster code location, its settings, and the `kernelindex` command."""

import warnings

# Single-run backfills are what partitions are for here; that Dagster calls them beta is no news to a user.
warnings.filterwarnings("ignore", message="Parameter `backfill_policy`")
