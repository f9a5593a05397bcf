# One-time set-up happens by itself: every target first makes the virtual environment it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BROWSER := $(VENV)/.browser
DOCS := $(VENV)/.docs

# The second distribution of this repository, where the checkout has it.
RIVALS := $(if $(wildcard rivals/pyproject.toml),--editable ./rivals)

# Whatever is made here starts many programs: without their byte code each would compile all of BiFE anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo check test long layers browser screenshots lint docs bench results postgres postgres-tests chaos hostile findings newest clean

help:
	@echo "make demo    discover a branching rule for combinatorial auctions and compare it with SCIP's default"
	@echo "make check   make lint, then the quick half of the tests"
	@echo "make test    run the tests (PYTEST=--cov: with coverage)"
	@echo "make long    run the slow tests that make test leaves out, and the slow cases of others"
	@echo "make layers  solve models of PuLP, Pyomo, linopy, PyPSA, CVXPY and ommx with what was found, each version pinned"
	@echo "make browser open the pages of Prefect and MLflow in Chromium, fill in forms, approve and refuse a rule"
	@echo "make screenshots retake the pictures in docs/images (VIEWS=NAME: this one)"
	@echo "make lint    check style, links, layers, dependencies and types"
	@echo "make docs    build the site of docs/ into site/"
	@echo "make bench   measure features, low fidelity, branching's share, and reference rules against SCIP's default"
	@echo "make results measure what docs/explanation/results.md compares, resumable in STORE=DIR; takes days"
	@echo "make postgres  test store and registry on PostgreSQL, run three searches at once with both servers on it"
	@echo "make chaos   kill pipelines at 25 random moments and count records that were lost or calls billed twice"
	@echo "make hostile run the corpus of hostile rules in the sandbox (CORPUS=DIR: another corpus)"
	@echo "make findings run the scripts in findings/ and say which behave otherwise (NAMES='ONE TWO': these); downloads"
	@echo "make newest  run one pipeline with the newest versions that pyproject.toml allows, not those of constraints.txt"
	@echo "make setup   only make the virtual environment $(VENV)"
	@echo "make clean   remove the virtual environment and caches of tools (not your results)"

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt $(wildcard rivals/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "BiFE needs Python 3.11 to 3.13, found $$($(PYTHON) --version); set PYTHON=python3.12, say."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[dev]' $(RIVALS)
	@echo "Making machine code of the feature extractor ..."
	@$(BIN)/python -c 'from bife_core.solver.units import FEATURES; FEATURES.prepare()'
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/bife demo

# No server, no run, few solves: what fits into a minute with style and types.
QUICK := $(addprefix tests/test_,documents.py layering.py packaging.py) $(wildcard tests/bife_core/run/test_*.py) \
  $(addprefix tests/bife_core/,base language search) \
  $(addprefix tests/bife_core/cli/test_cli_,options.py program.py watching.py)

check: lint
	$(BIN)/python -m pytest -n 2 -m "not slow and not long and not browser" $(QUICK)

# Four processes on two cores: tests also wait, for servers, limits and clocks; each makes what its tests share anew.
test: $(STAMP)
	$(BIN)/python -m pytest -n 4 --no-loadscope-reorder $(PYTEST)

long: $(STAMP)
	$(BIN)/python -m pytest -m long
	$(MAKE) layers

# Each extra in an environment of its own, where the layers of the other are skipped.
LAYERS := layers ommx

layers: $(LAYERS:%=.venv-%/.installed)
	for extra in $(LAYERS); do .venv-$$extra/bin/python -m pytest -m layers tests/layers || exit 1; done

.venv-%/.installed: pyproject.toml
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]' certifi pytest pytest-timeout
	@touch $@

$(BROWSER): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[browser]'
	@touch $(BROWSER)

browser: $(BROWSER)
	$(BIN)/python -m pytest -m browser tests/browser

screenshots: $(BROWSER)
	BIFE_SCREENSHOTS=1 $(BIN)/python -m pytest -m browser tests/browser -k "$(or $(VIEWS),a_view_shows)"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/rumdl check --no-cache .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/deptry bife_core tasks flows
	$(BIN)/mypy
	@$(BIN)/python -m tests.words
	@$(BIN)/python -m bench.pictures

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[docs]'
	@touch $(DOCS)

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: $(STAMP)
	$(BIN)/python -m bench.features
	$(BIN)/python -m bench.low_fidelity
	$(BIN)/python -m bench.hardness --families combinatorial_auction --methods relpscost paper_ca
	$(BIN)/python -m bench.claims --searches --instances 20
	$(BIN)/python -m bench.overhead --families combinatorial_auction --instances 1

STORE ?= results
CLAIMS = $(BIN)/python -m bench.claims --store $(STORE) --solvers default paper
REAL := transmission_switching network_verification unit_commitment item_placement

# A stopped run continues: what was measured is in the store, and all comparisons share one set of searches.
results: $(STAMP)
	mkdir -p $(STORE)
	{ set -e; $(CLAIMS); $(CLAIMS) --families $(REAL); \
	  $(CLAIMS) --instances 8 --searches symbolic --search-seeds 1 --strong-branching; \
	  $(CLAIMS) --instances 20 --size transfer --time-limit 1000 --searches symbolic --search-seeds 1; \
	} > $(STORE)/results.jsonl
	$(BIN)/python -m bench.tables $(STORE)/results.jsonl

# On a server of their own, by Debian's pg_virtualenv, unless BIFE_TEST_POSTGRES is the address of one.
POSTGRES := pg_virtualenv -t sh -c 'createdb bife && createdb mlflow && \
  BIFE_TEST_POSTGRES=postgresql+psycopg2://$$PGUSER:$$PGPASSWORD@$$PGHOST:$$PGPORT exec "$$@"' sh

postgres-tests: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[postgres]'
	$(if $(BIFE_TEST_POSTGRES),,$(POSTGRES)) \
	  $(BIN)/python -m pytest -n 2 tests/bife_core/store tests/bife_core/registry tests/tasks/registry

postgres: postgres-tests
	pg_virtualenv -t $(BIN)/python -m bench.postgres

chaos: $(STAMP)
	$(BIN)/python -m tests.chaos

hostile: $(STAMP)
	@$(BIN)/python -m tests.hostile $(CORPUS)

findings:
	@$(PYTHON) -P bench/findings.py $(NAMES)

# Shows early what a release of Prefect or MLflow breaks; a failure need not come from a change here.
newest:
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --editable '.[dev]'
	.venv-newest/bin/python -m pip freeze --exclude-editable
	.venv-newest/bin/python -m pytest tests/flows/operate
	home=$$(mktemp -d) && BIFE_HOME=$$home .venv-newest/bin/bife run --preset smoke && rm -r $$home

clean:
	rm -rf $(VENV) .venv-newest $(LAYERS:%=.venv-%) site .pytest_cache .hypothesis .mypy_cache .ruff_cache build *.egg-info
