# One command for everything: `make check` is what CI runs.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install -qq --no-input --disable-pip-version-check --root-user-action=ignore

.DEFAULT_GOAL := check
.DELETE_ON_ERROR:
.PHONY: demo test check bench torture docs format lint types layers clean

demo: .venv/runtime
	@$(BIN)/holdfast demo

# Two at a time: much of it waits for servers and processes. Each half has servers of its own.
test: .venv/dev
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

check: lint types layers test

# How fast? `make bench ONLY=postgres SCENARIOS=drain PEERS=none QUICK=1`; partial runs add up in benchmarks/results.json.
# Each peer has an environment of its own under .venv-peers; one that cannot be installed is told in the report.
ONLY ?= postgres,redis,sqlite,memory,library
SCENARIOS ?=
PEERS ?= all
bench: .venv/dev
	$(if $(filter none,$(PEERS)),,$(BIN)/python -m benchmarks.environments)
	$(BIN)/python -m benchmarks --only $(ONLY) --peers "$(PEERS)" $(if $(SCENARIOS),--scenarios $(SCENARIOS)) $(if $(QUICK),--quick)

# What breaks it? `make torture STORE=postgres PROFILE=ci SEED=7`; the reports are text, JSON and a page.
STORE ?= sqlite
PROFILE ?= smoke
SEED ?= 1
torture: .venv/dev
	$(BIN)/python -m torture --store $(STORE) --profile $(PROFILE) --seed $(SEED) \
	    --report torture-$(STORE).json --page torture-$(STORE).html

# The README's and the guides' snippets are tests: they run.
docs: .venv/dev
	$(BIN)/python -m pytest tests/project

format: .venv/dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lint: .venv/dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types: .venv/dev
	$(BIN)/mypy --strict src tests torture benchmarks
	$(BIN)/pyright

layers: .venv/dev
	$(BIN)/lint-imports

clean:
	rm -rf .venv .venv-peers build dist .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: installed again when pyproject.toml changes.
.venv/runtime: pyproject.toml | $(BIN)/python
	@echo "Installing Holdfast into .venv"
	@$(INSTALL) -e .
	@touch $@

.venv/dev: pyproject.toml | $(BIN)/python
	@echo "Installing Holdfast and the development tools into .venv"
	@$(INSTALL) -e '.[dev]'
	@touch .venv/runtime $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Holdfast needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv
