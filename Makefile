# Each target does all of its own set-up; python3 (3.11 or later), pip and make are enough.
#
#   make paper    the paper's experiment: figures, a table and a page in results/paper
#   make test     every test
#   make lint     format, lint, types and layers, none of which may complain
#   make bench    timings, as ratios
#   make bench-all  these, every learner, continuous states and the store (takes long)
#   make docs     the site, in site/
#   make docs-serve  the site, shown at http://127.0.0.1:8000 and built again after an edit
#   make docs-check  the site, and every page of it opened in a browser
#   make clean    forget the environment

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
ARGS ?=
WORKERS ?= 2

# One numerical thread a process: trials run side by side, and a fixed order of sums is what makes runs repeat.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export MKL_NUM_THREADS = 1

.DEFAULT_GOAL := help
.PHONY: help paper test lint format bench bench-all docs docs-serve docs-check clean

help:
	@sed -n 's/^#   //p' Makefile

# Where python3 comes without ensurepip, pip is put into the environment by the pip that is there.
$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "noregret needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV) || ($(PYTHON) -m venv --clear --without-pip $(VENV) && \
	$(PYTHON) -m pip --python $(BIN)/python install pip)

# Python compiles what it imports; pip would compile all 14,000 files first, which takes half a minute.
$(VENV)/installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch $@

paper: $(VENV)/installed-report
	$(BIN)/noregret paper $(ARGS)

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff format --check src tests benchmarks examples tools
	$(BIN)/ruff check src tests benchmarks examples tools
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed-dev
	$(BIN)/ruff format src tests benchmarks examples tools
	$(BIN)/ruff check --fix src tests benchmarks examples tools

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/run.py $(ARGS)

bench-all: bench
	for name in learners continuous continuous_regret store; do $(BIN)/python benchmarks/$$name.py || exit 1; done

# NO_MKDOCS_2_WARNING: the theme would print an advertisement.
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict $(ARGS)

docs-serve: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 DOCS_STALE=1 $(BIN)/mkdocs serve --watch src --watch tools $(ARGS)

docs-check: docs $(VENV)/installed-dev
	$(BIN)/python -m pytest tests/site/test_site.py --site site $(ARGS)

clean:
	rm -rf $(VENV)
