# `make run` and `make test` are all the set-up there is: both make .venv, and install only what changed.

PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed

.PHONY: run test test-ui ui

run: $(INSTALLED)
	$(VENV)/bin/kernelindex ingest

test: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/pytest -n 2 -m "not ui"

# Operating by the UI alone: a webserver, a daemon, backfills, a schedule. Takes minutes, most of them waiting, so
# it is run by hand.
test-ui: $(INSTALLED)
	$(VENV)/bin/pytest -m ui

ui: $(INSTALLED)
	$(VENV)/bin/kernelindex ui

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[dev]'
	touch $@
