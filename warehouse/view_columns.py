"""What the columns of views mean, by their names: a name means the same in all of them.

Of the columns that views take over from tables, `tables` says it, the table runs before any other; here are
those that views compute. Where a view means something else by a name, its SQL says so beside it.
"""

from warehouse.tables import RUNS, TABLES

MEANINGS = {
    **{column.name: column.comment for table in (*TABLES.values(), RUNS) for column in table.columns},
    "kernel": "the kernel's name on the leaderboard",
    "project": "the account's name, as the source writes it; of near names project_digest says which",
    "stack": "version of the evaluation stack, as v1.1; runs on two stacks are never compared",
    "gpu": "the GPU, as NVIDIA B200",
    "sol_bound_ms": "geometric mean of the workloads' bounds, milliseconds; null: one is missing or a dummy",
    "baseline_ms": "geometric mean of the scoring baselines, milliseconds; null: one is missing",
    "ratio_to_bound": "latency_ms over sol_bound_ms: 1 is the speed of light; below it the run has a flag",
    "share_of_gap_closed": "how far the run came from baseline_ms (0) to sol_bound_ms (1)",
    # Records.
    "held_since": "when the run took the record, UTC",
    "lost_at": "when the record ended, UTC; null: it stands",
    "lost_to": "the account that took the record; null: it stands, or ended without anyone to take it",
    "days_held": "from taken_at to lost_at, in days of 24 hours; null: it stands",
    # Standings.
    "groups": "comparison groups in which the project has a ranked run",
    "firsts": "groups in which its best run has rank 1: contested and uncontested ones",
    "contested_firsts": "of these, groups in which another project has a ranked run too",
    "uncontested_firsts": "of these, groups in which no other project has a ranked run",
    "podiums": "groups in which its best run has rank 1, 2 or 3",
    "median_rank": "of its best run in each group",
    "mean_share_of_gap_closed": "mean over its groups of share_of_gap_closed in project_groups",
    "records_held": "groups whose record it holds now",
    "records_lost_lately": "records that others took from it, in the 30 days up to the newest run",
}
