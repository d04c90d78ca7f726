# The front door. Every target works alone on a fresh machine with Python 3.11 or newer: it makes .venv and
# installs what it needs by the lock files in requirements/. ARGS is handed on: make test ARGS="-k produce".

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-all check bench docs lock clean kcat

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/run.stamp ## start a broker on 127.0.0.1:9092, with its data in ./inkless-data
	$(BIN)/inkless serve $(ARGS)

test: $(VENV)/test.stamp kcat ## run all tests but the slow ones
	$(BIN)/python -m pytest -m "not slow" $(ARGS)

test-all: $(VENV)/test.stamp kcat ## run all tests
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/check.stamp ## lint, formatting, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench.stamp ## measure this machine
	$(BIN)/python -m bench $(ARGS)

docs: $(VENV)/run.stamp ## write the pages that come out of the code
	$(BIN)/python -m inkless.settings.reference > $(VENV)/configuration.md
	$(BIN)/python -m inkless.server.protocol_page > $(VENV)/protocol.md
	$(BIN)/python -m inkless.metrics_page > $(VENV)/metrics.md
	mv $(VENV)/configuration.md $(VENV)/protocol.md $(VENV)/metrics.md docs/

clean: ## remove everything but the data
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The build tools are locked and installed like everything else, so that no build fetches its own.
$(VENV)/run.stamp: requirements/build.txt requirements/run.txt pyproject.toml | $(VENV)/bin/python
	$(PIP) install --quiet -r requirements/build.txt -r requirements/run.txt
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/test.stamp $(VENV)/check.stamp $(VENV)/bench.stamp: $(VENV)/%.stamp: requirements/%.txt $(VENV)/run.stamp
	$(PIP) install --quiet -r $<
	@touch $@

# Its tests are skipped where there is no kcat and we may not install it.
kcat:
	@command -v kcat >/dev/null || { \
	    [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    { timeout 120 apt-get install -y kcat || \
	      { timeout 60 apt-get update && timeout 120 apt-get install -y kcat; }; } >/dev/null 2>&1; \
	} || echo "kcat is not here: its tests will be skipped"

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links

lock: $(VENV)/run.stamp ## resolve the dependencies anew
	$(PIP) install --quiet uv
	printf 'hatchling\neditables\n' | $(LOCK) --upgrade - -o requirements/build.txt
	$(LOCK) --upgrade -c requirements/build.txt pyproject.toml -o requirements/run.txt
	$(LOCK) --upgrade -c requirements/build.txt -c requirements/run.txt pyproject.toml --group test -o requirements/test.txt
	$(LOCK) --upgrade -c requirements/build.txt -c requirements/test.txt pyproject.toml --group check -o requirements/check.txt
	$(LOCK) --upgrade -c requirements/build.txt -c requirements/test.txt pyproject.toml --group bench -o requirements/bench.txt
