"""Rankings: each run in its comparison group."""
