"""What the pipeline makes, a room a stage: leaderboard, manifests, rankings."""
