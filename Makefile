# `make help` lists the targets. `make check` is what CI runs.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install -qq --no-input --disable-pip-version-check --root-user-action=ignore
NO_SERVER := -m "not (postgres or redis or valkey or nats)"

# Empty, also where the environment forbids bytecode: without it, each process that a test starts compiles all modules.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := check
.DELETE_ON_ERROR:
.PHONY: plain-server help demo quick test check matrix servers others django cron interrupts bench torture ha docs docs-check diagrams browser screenshots schema dist test-lowest format lint types mypy pyright layers clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s  %s\n", $$1, $$2 }' Makefile

demo: .venv/runtime  ## run chains in the terminal, on a temporary SQLite file
	@$(BIN)/holdfast demo

# Left out: child processes, which take longer to start than the other worker tests together, conformance cases by async
# calls and on shards, and workers without wake-ups.
QUICK_CASES := not polling and (not keeps_the_contract or (sync and not async and not sharded))
quick: lint  ## under a minute: lint, unit tests, memory and SQLite conformance, worker tests
	$(BIN)/python -m pytest -q --numprocesses 2 --dist worksteal $(NO_SERVER) -k "$(QUICK_CASES)" \
	    tests/unit tests/conformance/test_stores.py tests/worker --ignore tests/worker/test_processes.py \
	    --ignore tests/worker/test_process_aborts.py

# Three processes, also on two cores: most of the time the tests wait for servers. Each process starts its own servers.
# Conformance cases make blocking calls on Redis and async calls on Valkey; both on both with HOLDFAST_EVERY_CASE=1.
test: .venv/dev  ## the whole suite, on real servers
	$(BIN)/python -m pytest --numprocesses 3 --dist worksteal

check: .venv/dev  ## lint, types, layers and the whole suite
	$(MAKE) --jobs 2 --output-sync lint mypy pyright layers
	$(MAKE) test

matrix: .venv/dev  ## the whole suite on every interpreter, conformance on every server, that the machine has
	$(BIN)/python -m nox

servers: .venv/dev  ## the conformance cases on every PostgreSQL, Redis and Valkey that the machine has
	$(BIN)/python -m nox -s servers

others: .venv/dev  ## a short selection on the other interpreters
	$(BIN)/python -m tools.matrix --others

# One environment per pair of interpreter and Django under .venv-django. pip downloads Django's own tests.
django: .venv/dev  ## the Django integration, on every pair of Python and Django, with Django's own tests of tasks
	$(BIN)/python -m tools.django

# pip downloads the source distributions of cronsim and croniter, whose tests define the expressions.
cron: .venv/dev  ## cron expressions, compared with the tests of cronsim and croniter
	$(BIN)/python -m tools.cron

# The suite interrupts blocking calls at a sample of these points. All of them take about five minutes.
interrupts: .venv/dev  ## interrupt blocking calls at every point where a signal handler can run
	HOLDFAST_EVERY_POINT=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal tests/interrupts

plain-server: .venv/dev  ## every conformance case on PostgreSQL without LISTEN and advisory locks
	HOLDFAST_EVERY_CASE=1 $(BIN)/python -m pytest tests/stores/postgres/test_plain_server.py

# How fast? `make bench ONLY=postgres SCENARIOS=drain PEERS=none QUICK=1`; partial runs add up in benchmarks/results.json.
# Each peer has an environment of its own under .venv-peers; one that cannot be installed is named in the report.
ONLY ?= postgres,redis,sqlite,memory,library
SCENARIOS ?=
PEERS ?= all
bench: .venv/dev  ## the benchmarks, beside peers
	$(if $(filter none,$(PEERS)),,$(BIN)/python -m benchmarks.environments)
	$(BIN)/python -m benchmarks --only $(ONLY) --peers "$(PEERS)" $(if $(SCENARIOS),--scenarios $(SCENARIOS)) $(if $(QUICK),--quick)

# What breaks it? `make torture STORE=postgres PROFILE=ci SEED=7`; the reports are text, JSON and a page.
STORE ?= sqlite
PROFILE ?= smoke
SEED ?= 1
torture: .venv/dev  ## faults against a real store
	$(BIN)/python -m torture --store $(STORE) --profile $(PROFILE) --seed $(SEED) \
	    --report torture-$(STORE).json --page torture-$(STORE).html

# The programs of a cluster, as root, from Debian's packages. A missing package is installed; none is upgraded.
ha: .venv/dev  ## fail over a Patroni cluster under load, with synchronous and asynchronous replication (as root)
	@which patroni etcd haproxy >/dev/null && test -d /usr/lib/postgresql || { apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends --no-upgrade postgresql patroni etcd-server haproxy; }
	$(BIN)/python -m ha --report ha-report.json

# The README's and the guides' snippets are tests: they run.
snippets: .venv/dev  ## run the snippets of the README and the guides
	$(BIN)/python -m pytest tests/project

docs: .venv/dev  ## build the documentation site in build/site
	$(INSTALL) -e '.[docs]'
	$(BIN)/python -m tools.site

docs-check: docs  ## open every page of the site in a browser: links, console, axe, phone, keyboard, search
	$(BIN)/python -m tools.site.check

diagrams: .venv/dev  ## draw the diagrams of docs/diagrams, in light and dark
	$(BIN)/python -m tools.diagrams

# The browser tests are collected where a browser is installed. `BROWSER` may name another Chromium or Chrome.
browser:  ## install Debian's chromium, which the browser tests and screenshots use (as root)
	apt-get update -qq
	apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core

screenshots: .venv/dev  ## pictures of the dashboard for docs/ and the README, light and dark
	$(BIN)/python -m tools.screenshots

dist: .venv/dev  ## build twice, compare, install the wheel in a clean environment and run the README
	$(BIN)/python -m tools.sbom
	$(BIN)/python -m tools.dist

# Only while the version of pyproject.toml is not released. Afterwards a change of the schema is a new migration.
schema: .venv/dev  ## write the schema and the Redis layout of this version to tests/migrations
	$(BIN)/python -m tests.migrations.releases

test-lowest: .venv/dev  ## the tests that call dependencies, with the oldest release of each
	$(BIN)/python -m tools.lowest

format: .venv/dev  ## rewrite the code to the agreed format
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lint: .venv/dev  ## format and lint checks
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python -m tools.language

types: mypy pyright  ## mypy and pyright

mypy: .venv/dev
	$(BIN)/mypy --strict src tests torture benchmarks ha tools

pyright: .venv/dev
	$(BIN)/pyright

layers: .venv/dev  ## which package may import which
	$(BIN)/lint-imports

clean:  ## remove environments and caches
	rm -rf .venv .venv-peers .venv-matrix .venv-django build dist .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
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
