# Every target sets up what it needs by itself: a virtual environment with pinned packages, Java, compiled kernels.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo studio test check unit lint format types layers test-slow test-oldest test-matrix test-browser screenshots bench bench-quick docs clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt tools/bootstrap.py
	@$(PYTHON) tools/bootstrap.py

setup: $(READY) ## create .venv with pinned packages and compiled kernels, and a Java if none is there
	@echo "greta: .venv is ready"

demo: $(READY) ## count down-trends of a stock stream on Spark: rows, and a picture in demo-output/
	@$(BIN)/python examples/demo.py

studio: $(READY) ## open a page to write queries in and see what they mean
	@$(BIN)/greta studio

test: lint types layers unit ## run all checks and tests: what CI runs

check: test ## the same as make test

unit: $(READY) ## run the tests alone, those in a browser included where there is one
	@$(PYTHON) tools/browser.py
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(READY) ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY) ## check types
	$(BIN)/mypy

layers: $(READY) ## check that imports go down only
	PYTHONPATH=research $(BIN)/lint-imports

test-slow: $(READY) ## run the slow tests: more examples, fuzzing, crashes (minutes)
	GRETA_HYPOTHESIS_PROFILE=slow $(BIN)/python -m pytest -m slow
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/engine

test-oldest: ## run a few tests on the oldest Spark, in an environment of its own
	@$(PYTHON) tools/matrix.py --quick

test-matrix: ## run the Spark suite on every version of Spark, and write the table in the docs (long)
	@$(PYTHON) tools/matrix.py

test-browser: $(READY) ## run the studio's tests in headless Chromium alone
	@$(PYTHON) tools/browser.py
	$(BIN)/python -m pytest -m browser tests/studio

screenshots: $(READY) ## take the pictures of the studio in docs/images anew, from its tests
	@$(PYTHON) tools/browser.py
	GRETA_SCREENSHOTS=docs/images $(BIN)/python -m pytest -m "browser and not slow" tests/studio

bench: $(READY) ## run all benchmarks (long)
	PYTHONPATH=research $(BIN)/python -m greta_research.bench

bench-quick: $(READY) ## run small benchmarks (minutes)
	PYTHONPATH=research $(BIN)/python -m greta_research.bench --quick

docs: $(READY) ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean: ## remove caches and built files, keep .venv
	rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .import_linter_cache
	find src research tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
