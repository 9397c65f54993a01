"""How the pipeline's tables are kept and published."""
