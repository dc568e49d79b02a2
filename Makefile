# Two commands: `make demo` shows what Shortlist does, `make test` checks everything.
# Each makes its own .venv from Python 3.11 or later and installs what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test docs fuzz lint types clean

demo: $(VENV)/.demo
	@$(BIN)/python -m benchmarks.demo

# One BLAS thread a process: the tests already run one process a core.
test: export OPENBLAS_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1
test: lint types
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --quiet
	@echo "The site is in build/site: open build/site/index.html"

# Files that try everything: more of the tests' own, then libFuzzer for SECONDS.
SECONDS ?= 600
fuzz: export OMP_NUM_THREADS = 1
fuzz: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	SHORTLIST_FUZZ=100 $(BIN)/python -m pytest tests/persist/test_fuzz.py
	$(BIN)/python -m tests.persist.fuzz_files build/fuzz -max_total_time=$(SECONDS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Shortlist needs Python 3.11 or later; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
