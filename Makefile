# Every target sets up its environment by itself, .venv or one in build/: a machine needs python3 and
# make, and for Spark and `make proof` also Java 17 and Coq.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# The demo needs a tenth of what the tests need: an environment of its own, unless theirs is there.
DEMO := $(if $(wildcard $(STAMP)),$(VENV),build/demo)
SERVE := $(if $(wildcard $(STAMP)),$(VENV),build/serve)
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup
# The tests start hundreds of processes, which would each compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo serve-demo test test-fast test-long test-lowest test-python check format bench peers test-peers paper docs proof clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) -e '.[dev]'
	@touch $@

build/demo/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv build/demo
	build/demo/bin/python $(PIP_INSTALL) -e '.[plot]'
	@touch $@

demo: $(DEMO)/.installed  ## private means, sums and counts of an example file, and a chart
	$(DEMO)/bin/python examples/demo.py

build/serve/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv build/serve
	build/serve/bin/python $(PIP_INSTALL) -e '.[serve]'
	@touch $@

serve-demo: $(SERVE)/.installed  ## run the service on the example data; prints a sign-in link, stop with Ctrl-C
	@mkdir -p build/serve-demo
	@cp examples/catalogue.toml examples/visits.parquet build/serve-demo/
	@test -e build/serve-demo/visits.ledger || $(SERVE)/bin/hourglass budget init visits-2026 --epsilon 5 \
	  --ledger build/serve-demo/visits.ledger >/dev/null
	$(SERVE)/bin/hourglass serve build/serve-demo/catalogue.toml

test: check  ## everything: style, types, imports, then the whole test suite
	$(PYTEST) --durations=15

test-fast: $(STAMP)  ## for the inner loop, about a minute: no servers, no Spark, no slow tests
	$(PYTEST) -m 'not slow and not long' --engine duckdb --engine sqlite

test-long: $(STAMP)  ## the long tests: statistical ones with ten times the samples, kills, attacks on readers
	$(BIN)/python -m pytest -m long

test-lowest:  ## the engine tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check -c tests/lowest.txt -e '.[dev]'
	build/lowest/bin/python -m pytest -n $(WORKERS) --dist loadgroup -W default -p no:cacheprovider \
	  tests/read tests/ask tests/release

test-python:  ## the quick tests with another Python: make test-python PYTHON=python3.13
	$(PYTHON) -m venv build/python
	build/python/bin/python $(PIP_INSTALL) -e '.[dev]'
	build/python/bin/python -m pytest -n $(WORKERS) --dist loadgroup -p no:cacheprovider \
	  -m 'not slow and not long' --engine duckdb --engine sqlite --engine datafusion

check: $(STAMP)  ## ruff, mypy --strict and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n $(WORKERS)
	$(BIN)/lint-imports

format: $(STAMP)  ## format and fix with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## benchmarks of speed and memory, as ratios of interleaved runs
	$(BIN)/python -m benchmarks

peers: $(STAMP)  ## compare accuracy and speed with other libraries, about half an hour; writes docs/comparison.md
	$(BIN)/python -m benchmarks.peers

test-peers: $(STAMP)  ## test the adapters for OpenDP and dp_accounting with the real packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check opendp
	$(BIN)/python -m pytest tests/contrib tests/peers

paper: $(STAMP)  ## every experiment and figure of the paper, at full size
	$(BIN)/hourglass paper --out paper

# The generator is not needed by any test: it has an environment of its own.
build/docs/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv build/docs
	build/docs/bin/python $(PIP_INSTALL) -e '.[docs]'
	@touch $@

docs: build/docs/.installed  ## the documentation site, in build/site/html
	build/docs/bin/python docs/site/build.py build/site

proof:  ## check the privacy proof in proof/Bodies.v with Coq 8.16 or later
	@command -v coqc >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq coq >/dev/null; } \
	  || { echo "coqc is not installed; install it with: sudo apt-get install coq"; exit 1; }
	@mkdir -p build/proof && cp proof/Bodies.v build/proof/
	cd build/proof && coqc -q Bodies.v

clean:  ## remove what the targets created
	rm -rf $(VENV) build paper spark-warehouse .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
