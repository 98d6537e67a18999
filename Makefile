# Bare `make` lists what there is to do. Every target makes .venv by itself, and again when pyproject.toml or
# constraints.txt have changed; nothing is needed but Python (3.11 or newer), pip and make. `make demo` installs what users
# get, other targets their dependency groups of pyproject.toml on top, when they are first asked for.
#   make PYTHON=python3.13 test         another interpreter (VENV=.venv-3.13 keeps both)
#   make bench ONLY=special             one benchmark (benchmarks/bench_special.py)
#   make bench ONLY=noise FULL=1        the whole of one that has a short form (it resumes where it was stopped)
#   make paper REPLICATES=3             a quick look at the paper's experiments (into results-quick/)
#   make test ARGS="-k newick"          further arguments for pytest (or for the demo, the benchmarks, the paper)

RECENT := import sys; sys.exit(sys.version_info < (3, 11))
VERSION := import sys; print("%d.%d" % sys.version_info[:2])
PYTHON ?= $(shell for name in python3.11 python3; do $$name -c '$(RECENT)' 2>/dev/null && echo $$name && break; done)
VENV ?= .venv
ARGS ?=
ONLY ?=

BIN := $(VENV)/bin
STAMP := $(VENV)/installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Bytecode is made of what is imported, when it is, also where the environment forbids it, as in many containers: without
# it every command would compile 3 s of Python again.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(PIP) install --quiet --no-compile --no-build-isolation --constraint constraints.txt --editable .

# Some systems ship Python without ensurepip, which venv wants; pip can help itself.
MAKE_VENV = $(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 || { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --constraint constraints.txt pip; }

# An environment is stale, too, if the checkout has moved, or if it has another Python than the command line asks for.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): FORCE
else ifeq ($(origin PYTHON),command line)
ifneq ($(shell $(BIN)/python -c '$(VERSION)' 2>/dev/null),$(shell $(PYTHON) -c '$(VERSION)'))
$(STAMP): FORCE
endif
endif

# Real data sets are never in the repository; where a folder with them lies beside the checkout, it is used.
ifneq ($(wildcard ../shared/data/.),)
export COALTREE_DATA ?= $(abspath ../shared/data)
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PRECIOUS: $(STAMP)-%
.PHONY: help demo test check javascript verify bench paper docs dist format hooks clean FORCE

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(RECENT)' || \
		{ echo "coaltree needs Python 3.11 or newer; say which: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@test "$$($(BIN)/python -c '$(VERSION)' 2>/dev/null)" = "$$($(PYTHON) -c '$(VERSION)')" || $(MAKE_VENV)
	@rm -f $(STAMP)-*
	$(PIP) install --quiet --upgrade --constraint constraints.txt pip setuptools
	$(INSTALL)
	@echo "$(CURDIR)" > $@

$(STAMP)-%: $(STAMP)
	$(INSTALL) --group $*
	@touch $@

demo: $(STAMP) ## cluster a small bundled data set; leaves tree, clusters, figure and report page in demo-output/
	$(BIN)/python -m coaltree demo --out demo-output --force $(ARGS)

test: $(STAMP)-test ## the tests that take seconds each (everything but `slow`)
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal $(ARGS)

check: $(STAMP)-check javascript ## lint (ruff, Biome), spelling, types (mypy, and basedpyright as users see them), repo-review, zizmor
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/codespell
	$(BIN)/python -m mypy
	$(BIN)/python -m tests.typing.check
	$(BIN)/python -m repo_review --show errskip .
	$(BIN)/zizmor --quiet --offline .github

# The parts of the report page's script share one scope: each part is linted, and the whole asked for names that nothing
# declares or nothing uses. Neither Node nor a network is required; without them this is left out, and said to be.
BIOME_VERSION := 2.6.6
BIOME := $(VENV)/biome-$(BIOME_VERSION)
SCRIPT := src/coaltree/report/script
javascript: | $(STAMP) ## lint of the report page's script (Biome), where there is Node
	@if ! command -v npm >/dev/null; then echo "JavaScript is not linted: there is no npm."; \
	elif ! test -d $(BIOME)/node_modules && ! npm install --silent --no-package-lock --no-save --no-audit --no-fund \
		--fetch-retries=0 --fetch-timeout=20000 --prefix $(BIOME) @biomejs/biome@$(BIOME_VERSION) >/dev/null 2>&1; \
	then rm -rf $(BIOME); echo "JavaScript is not linted: Biome $(BIOME_VERSION) cannot be installed."; \
	else cat $(SCRIPT)/*.js > $(BIOME)/page.js; set -x; \
		$(BIOME)/node_modules/.bin/biome lint --error-on-warnings $(SCRIPT) && \
		$(BIOME)/node_modules/.bin/biome lint --error-on-warnings --only=correctness/noUnusedVariables \
			--only=correctness/noUndeclaredVariables $(BIOME)/page.js; \
	fi

verify: $(STAMP)-test ## the long statistical runs, and many random examples for each Hypothesis test
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m "slow or hypothesis" --hypothesis-profile random $(ARGS)

bench: $(STAMP)-bench ## times, beside what a user would pick instead, in short (ONLY=name for one, FULL=1 for all of it)
	$(BIN)/python -m benchmarks $(ONLY) $(ARGS)

paper: $(STAMP) ## the tables and figures of Henao & Lucas (2012); REPLICATES=3 for a quick look, ONLY=name for one
	$(BIN)/python -m experiments.henao_lucas_2012 $(ONLY) $(if $(REPLICATES),--replicates $(REPLICATES)) $(ARGS)

docs: $(STAMP)-docs ## the documentation site, into site/
	$(BIN)/python -m sphinx --fail-on-warning --nitpicky docs site

# The wheel is built from the sdist, and used in a new environment of each Python named, away from the source tree.
#   make dist PYTHONS="python3.11 python3.12 python3.13 python3.14"
PYTHONS ?= $(BIN)/python
dist: $(STAMP)-dist ## wheel and sdist into dist/, the wheel proved in a clean environment of each of PYTHONS
	rm -rf dist build
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	@test $$(cat dist/*.tar.gz | wc -c) -lt $(MOST_BYTES) || { echo "The sdist is larger than $(MOST_BYTES) bytes." >&2; exit 1; }
	@for python in $(PYTHONS); do $(BIN)/python packaging/try_wheel.py "$$python" dist/*.whl || exit 1; done
MOST_BYTES := 4000000

format: $(STAMP)-check ## let ruff format the code and mend what it can
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

hooks: $(STAMP)-hooks ## quick checks before each commit (pre-commit), switched on for this checkout
	$(BIN)/python -m pre_commit install

clean: ## remove everything that was made, .venv included
	rm -rf $(VENV) build dist site demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
