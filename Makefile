# Every target builds what it needs in .venv; nothing is installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := -m pip install --quiet --disable-pip-version-check
PIP := $(BIN)/python $(INSTALL) -c constraints.txt -e .
# The first pip that reads [dependency-groups]; Python 3.11 comes with an older one.
GROUPS_PIP := "pip>=25.1"
STAMPS := pyproject.toml constraints.txt

.PHONY: demo docs test test-kernels coverage test-lowest test-newest test-slow package lint format bench bench-audit bench-certificates bench-extraction bench-scale bench-sgd reproduction clean help

help:          ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | sort

demo: $(VENV)/.user   ## the main job on embedded data: every method, then an audit of the labels
	@$(BIN)/twohot demo

# Workers share the cores: more BLAS threads than one each would only wait for each other.
test: $(VENV)/.dev    ## the tests, every extra they use installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=auto

test-kernels: $(VENV)/.dev ## numerical tests with the OpenBLAS kernels of other processors
	$(BIN)/python .ci/kernel_tests.py

coverage: $(VENV)/.dev ## the tests with branch coverage, which takes twice as long
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=auto --cov --cov-report=term

test-slow: $(VENV)/.dev   ## the longer checks
	$(BIN)/python -m pytest -m slow

# Other versions: the tests that take a minute or two and need neither torch nor a cluster.
FAST := @.ci/fast_tests.txt
RUN_FAST := -m pytest --numprocesses=auto -p no:cacheprovider

LOWEST := .venv-lowest
test-lowest:   ## fast tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest_versions.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python $(INSTALL) $(GROUPS_PIP)
	$(LOWEST)/bin/python $(INSTALL) -c $(LOWEST)/constraints.txt -e . --group fast
	OPENBLAS_NUM_THREADS=1 $(LOWEST)/bin/python $(RUN_FAST) -o filterwarnings=default $(FAST)

# Libraries warn the newest Python of what is to come, which is not ours to mend: no warning is an
# error here.
NEWEST := .venv-newest
NEWEST_PYTHON ?= $(shell $(PYTHON) .ci/newest_python.py)
test-newest:   ## fast tests with the newest Python at hand, if that is another
	@if [ -z "$(NEWEST_PYTHON)" ]; then \
		echo "test-newest: skipped, no Python newer than $$($(PYTHON) --version) is here"; \
	else \
		$(NEWEST_PYTHON) -m venv --clear $(NEWEST) && $(NEWEST)/bin/python --version && \
		$(NEWEST)/bin/python $(INSTALL) $(GROUPS_PIP) && \
		$(NEWEST)/bin/python $(INSTALL) -c constraints.txt -e . --group fast && \
		OPENBLAS_NUM_THREADS=1 $(NEWEST)/bin/python $(RUN_FAST) -o filterwarnings=default $(FAST); \
	fi

# The tests run in the unpacked sdist, against the wheel that was built from it.
PACKAGE := .venv-package
PACKAGE_BIN := $(abspath $(PACKAGE))/bin
package:       ## build sdist and wheel into dist/, check both, type-check a client
	rm -rf dist
	$(PYTHON) -m venv --clear $(PACKAGE)
	$(PACKAGE_BIN)/python $(INSTALL) $(GROUPS_PIP) build mypy twine
	$(PACKAGE_BIN)/python -m build
	$(PACKAGE_BIN)/python -m twine check --strict dist/*
	$(PACKAGE_BIN)/python $(INSTALL) -c constraints.txt dist/*.whl --group fast
	mkdir $(PACKAGE)/sdist && tar -xzf dist/*.tar.gz --strip-components=1 -C $(PACKAGE)/sdist
	cd $(PACKAGE)/sdist/.ci && $(PACKAGE_BIN)/python -m mypy --strict --config-file= typed_client.py
	cd $(PACKAGE)/sdist && OPENBLAS_NUM_THREADS=1 $(PACKAGE_BIN)/python $(RUN_FAST) $(FAST)

# What is made on the way is removed first: a page of a name that is gone would stay.
SITE := docs/_build/html
docs: $(VENV)/.docs   ## the site, its tutorials run; opens offline at docs/_build/html/index.html
	rm -rf docs/_build docs/reference/api docs/reference/used_in docs/tutorials
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet docs $(SITE)
	$(BIN)/python .ci/check_site.py $(SITE)

lint: $(VENV)/.dev    ## style and types
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Benchmarks keep one record per run, and runs that have one are skipped: remove their lines to
# measure again. FEATURES=folder adds real features; see benchmarks/real_features.py for the files.
bench: $(VENV)/.dev ## passes, ratios and memory; docs/solver_benchmark.md
	-$(BIN)/python $(INSTALL) -c constraints.txt scikit-learn-intelex
	$(BIN)/python -m benchmarks.solver.run $(if $(FEATURES),--features $(FEATURES)) \
		--records benchmarks/solver/runs.jsonl --output docs/solver_benchmark.md

RUNS := benchmarks/audit/runs.jsonl
bench-audit: $(VENV)/.dev ## regret of AutoProbe and audits; docs/audit_benchmark.md
	$(BIN)/python -m benchmarks.audit.run $(if $(FEATURES),--features $(FEATURES)) \
		--records $(RUNS) --output docs/audit_benchmark.md

bench-certificates: $(VENV)/.dev ## certificates by simulation; docs/certificates_benchmark.md
	$(BIN)/python -m benchmarks.certificates.run $(if $(FEATURES),--features $(FEATURES)) \
		--records benchmarks/certificates/runs.jsonl --output docs/certificates_benchmark.md

# The paper's figures, tables and claims; finished runs are skipped.
reproduction: $(VENV)/.dev ## continues the paper's runs on FEATURES=folder; docs/reproduction.md
	$(BIN)/python docs/reproduce_paper.py $(FEATURES) --run --jobs 2

bench-sgd: $(VENV)/.dev ## the paper's SGD beside exact solves on FEATURES=folder; docs/reproduction/trainers.md
	$(BIN)/python -m benchmarks.sgd.run $(FEATURES)

# On an idle machine: all of it is CPU time and clock of passes.
SCALE := benchmarks/scale
bench-scale: $(VENV)/.dev ## passes over stores and clusters; docs/scale_benchmark.md
	rm -f $(SCALE)/passes.jsonl
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.scale.passes $(SCALE)/passes.jsonl
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.scale.scaling $(SCALE)/scaling.jsonl
	$(BIN)/python -m benchmarks.scale.model_page $(SCALE) docs/scale_benchmark.md

bench-extraction: $(VENV)/.dev ## throughput of extract() beside its parts alone
	$(BIN)/python -m benchmarks.extraction

clean:         ## remove the environment and caches
	rm -rf $(VENV) $(LOWEST) $(NEWEST) $(PACKAGE) dist docs/_build docs/reference/api docs/reference/used_in docs/tutorials .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: $(VENV)/bin/python $(STAMPS)
	$(PIP)
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python $(STAMPS)
	$(BIN)/python $(INSTALL) $(GROUPS_PIP)
	$(PIP) --group dev
	@touch $@ $(VENV)/.user

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) --group docs
	@touch $@
