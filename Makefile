# Every target builds what it needs in .venv; nothing is installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
STAMPS := pyproject.toml constraints.txt

.PHONY: demo test test-lowest test-slow lint format bench bench-audit bench-extraction reproduction clean help

help:          ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | sort

demo: $(VENV)/.user   ## the main job on embedded data: every method, then an audit of the labels
	@$(BIN)/twohot demo

# Workers share the cores: more BLAS threads than one each would only wait for each other.
test: $(VENV)/.dev    ## the tests, every extra they use installed, with branch coverage
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=auto --cov --cov-report=term

test-slow: $(VENV)/.dev   ## the longer checks
	$(BIN)/python -m pytest -m slow

LOWEST := .venv-lowest
test-lowest:   ## some fast tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest_versions.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		-c $(LOWEST)/constraints.txt -e ".[frames,onnx,parquet,plot]" \
		hypothesis onnxruntime pillow pytest
	OPENBLAS_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -o filterwarnings=default \
		tests/noise tests/rows/test_feature_scale.py tests/distill/test_onnx_file.py \
		tests/tables/test_spreadsheet_cells.py tests/cli/test_option_words.py

lint: $(VENV)/.dev    ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Benchmarks keep one record per run, and runs that have one are skipped: remove their lines to
# measure again. FEATURES=folder adds real features; see benchmarks/real_features.py for the files.
bench: $(VENV)/.bench ## passes, ratios and memory; rewrites docs/benchmarks.md
	$(BIN)/python -m benchmarks.solver.run $(if $(FEATURES),--features $(FEATURES)) \
		--records benchmarks/solver/runs.jsonl --output docs/benchmarks.md

RUNS := benchmarks/audit/runs.jsonl
COSTS := benchmarks/audit/costs.jsonl
bench-audit: $(VENV)/.bench ## AutoProbe against others on noisy labels; docs/audit_benchmark.md
	$(if $(FEATURES),$(BIN)/python -m benchmarks.audit.cost --features $(FEATURES) --records $(COSTS))
	$(BIN)/python -m benchmarks.audit.run $(if $(FEATURES),--features $(FEATURES)) \
		--records $(RUNS) --costs $(COSTS) --output docs/audit_benchmark.md

# The paper's figures, tables and claims; finished runs are skipped.
reproduction: $(VENV)/.dev ## continues the paper's runs on FEATURES=folder; docs/reproduction.md
	$(BIN)/python docs/reproduce_paper.py $(FEATURES) --run --jobs 2

bench-extraction: $(VENV)/.bench ## throughput of extract() beside its parts alone
	$(BIN)/python -m benchmarks.extraction

clean:         ## remove the environment and caches
	rm -rf $(VENV) $(LOWEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: $(VENV)/bin/python $(STAMPS)
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python $(STAMPS)
	$(PIP) -e ".[dev]"
	@touch $@ $(VENV)/.user

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) -e ".[dev,bench]"
	@touch $@
