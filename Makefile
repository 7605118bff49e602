# Every target works on a fresh machine with Python 3.11 or newer: the first one that needs it makes .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Real data sets, where they lie beside the checkout; tests that need them say so and skip elsewhere.
ifneq ($(wildcard ../shared/data),)
export ANML_DATA ?= $(abspath ../shared/data)
endif

# Small networks are fastest with one thread per process; the commands raise it where it pays.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test bench lint format clean

demo: $(STAMP)
	$(BIN)/anml demo --out anml-demo

test: lint
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(STAMP)
	$(BIN)/python bench/bench.py
	$(BIN)/python bench/ledger.py
	$(BIN)/python bench/modules.py

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	# Only its Dawid-Skene is used, which needs none of the language models that it asks for.
	$(BIN)/python -m pip install --quiet --no-deps 'crowd-kit>=1.4'
	touch $@

clean:
	rm -rf $(VENV) anml-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
