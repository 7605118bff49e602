# Every target works on a fresh machine with Python 3.11 or newer: the first one that needs it makes .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The package alone is enough to look at, where nothing more is installed yet.
ALONE := $(VENV)/.package

# Real data sets, where they lie beside the checkout; tests that need them say so and skip elsewhere.
ifneq ($(wildcard ../shared/data),)
export ANML_DATA ?= $(abspath ../shared/data)
endif

# Small networks are fastest with one thread per process; the commands raise it where it pays.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-full machines docs bench fuzz kills lint format clean

demo: $(or $(wildcard $(STAMP)),$(ALONE))
	$(BIN)/anml demo --out anml-demo

# Neighbouring tests run in one process, which computes once what they share; an idle process takes over others.
test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow'

# All tests: those of `make test`, then those that are marked slow.
test-full: test
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow

# As other processors compute: what quotes or compares figures of a fit has to hold there as well.
FITS := tests/docs tests/test_docs.py tests/test_api.py tests/system tests/cli tests/report tests/review \
	tests/pipeline tests/engines tests/assessment tests/sklearn tests/torch tests/federated tests/predictors \
	tests/gradients tests/attribution tests/experiments
machines: $(STAMP)
	OPENBLAS_CORETYPE=Prescott ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=1 \
		$(BIN)/python -m pytest -n auto --dist worksteal $(FITS)
	OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2 OMP_NUM_THREADS=2 \
		$(BIN)/python -m pytest -n auto --dist worksteal $(FITS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tests/no_data.py

# The reference and the picture of the packages from the code, then the site; a link that leads nowhere fails.
docs: $(STAMP)
	$(BIN)/python docs/tools/reference.py
	$(BIN)/python docs/tools/package_map.py
	$(BIN)/properdocs build --strict --quiet --config-file mkdocs.yml

bench: $(STAMP)
	$(BIN)/python bench/bench.py
	$(BIN)/python -m pip install --quiet --constraint constraints.txt 'cleanlab[datalab]'
	$(BIN)/python bench/audit.py
	$(BIN)/python bench/ledger.py
	$(BIN)/python bench/modules.py

# Spoilt inputs from a seed: no traceback, nothing half-written. CI runs 500 of them.
fuzz: $(STAMP)
	$(BIN)/python tests/fuzz.py --count 10000

# Writers that are killed 1,000 times, 500 on each engine, two of them at once.
kills: $(STAMP)
	ANML_KILLS=500 $(BIN)/python -m pytest -q -s tests/ledger/test_crashes.py

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(ALONE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	# Only its Dawid-Skene is used, which needs none of the language models that it asks for.
	$(BIN)/python -m pip install --quiet --no-deps 'crowd-kit>=1.4'
	# It asks for pandas-stubs, which other programs than ours need.
	$(BIN)/python -m pip install --quiet --no-deps 'mlcroissant>=1.1'
	# Flower and what ours are compared with: they ask for older versions than they run with, so pip complains.
	$(BIN)/python -m pip install --quiet --no-deps 'flwr>=1.41,<1.42' 'byzfl>=0.0.11' 'dattri>=0.3' 'pydvl>=0.10'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt 'grpcio>=1.70' 'grpcio-health-checking>=1.70' \
		'protobuf>=6.33,<7' httpx iterators pycryptodome requests pyDeprecate more-itertools
	touch $@

clean:
	rm -rf $(VENV) anml-demo site .mypy_cache .ruff_cache .pytest_cache .hypothesis
