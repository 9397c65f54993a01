# `make run` and `make test` are all the set-up there is: both make .venv, and install only what changed.

PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed

.PHONY: run test test-ui test-guest test-staying bench ui

run: $(INSTALLED)
	$(VENV)/bin/kernelindex ingest

test: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/pytest -n 2 -m "not ui and not guest"

# Operating by the UI alone: a webserver, a daemon, backfills, a schedule. Takes minutes, most of them waiting, so
# it is run by hand.
test-ui: $(INSTALLED)
	$(VENV)/bin/pytest -m ui

# In a Dagster that others use too, on a Postgres, and with other releases; these come from the package registry, so
# it is run by hand.
test-guest: $(INSTALLED)
	$(VENV)/bin/pytest -n 2 --dist loadfile -m guest

# Killed, out of room, short of memory, and read from eight sides, as often as it takes to be sure. Takes long: run
# by hand.
test-staying: $(INSTALLED)
	KERNELINDEX_KILLS=100 KERNELINDEX_FULL_DISKS=30 KERNELINDEX_READERS=8 KERNELINDEX_PUBLISHES=50 \
		KERNELINDEX_SUBMISSIONS=60000 $(VENV)/bin/pytest tests/staying

# What the pipeline costs, and how that grows; minutes. SIZES says of how many submissions (with 1000000: an hour
# on a slow machine); DOCS=1 puts what was measured into docs/performance.md.
bench: $(INSTALLED)
	$(VENV)/bin/python -m benchmarks $(SIZES) $(if $(DOCS),--docs)

ui: $(INSTALLED)
	$(VENV)/bin/kernelindex ui

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[dev]'
	touch $@
