# Every target sets up what it needs by itself: a virtual environment with pinned packages, Java, compiled kernels.
PYTHON ?= python3
BIN := .venv/bin
PACKAGES := .venv/.packages
READY := .venv/.ready
# a second Python for all tests but those on Spark; where there is none, test-python says so and does nothing
SECOND ?= 3.13
# how many tests run at once; more than there are cores starve those in a browser
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 40 --durations-min 2

.DEFAULT_GOAL := help
.PHONY: help setup demo studio test check static compiled fetch sample-beside browser-beside unit-beside unit lint format types layers test-slow test-soak test-plain test-sample \
  test-mutants test-python test-oldest test-matrix test-browser coverage screenshots bench bench-quick docs clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(PACKAGES): pyproject.toml constraints.txt tools/bootstrap.py
	@$(PYTHON) tools/bootstrap.py packages

$(READY): $(PACKAGES)
	@$(PYTHON) tools/bootstrap.py kernels

setup: $(READY) ## create .venv with pinned packages and compiled kernels, and a Java if none is there
	@echo "greta: .venv is ready"

demo: $(READY) ## count down-trends of a stock stream on Spark: rows, and a picture in demo-output/
	@$(BIN)/python examples/demo.py

studio: $(READY) ## open a page to write queries in and see what they mean
	@$(BIN)/greta studio

# What keeps one core busy runs beside others: packages of the shares on another Python and Spark are fetched while the
# usual ones are installed, and types checked while kernels are compiled. Then the tests in a browser come first, which
# must not wait, and those on the oldest Spark after them; a sample takes what all others leave of two cores while they
# wait for Java. The output of these comes at their end.
test: ## run all checks and tests: what CI runs
	@$(MAKE) --no-print-directory -j 2 $(PACKAGES) fetch
	@$(MAKE) --no-print-directory -j 3 compiled static
	@$(MAKE) --no-print-directory -j 3 sample-beside browser-beside unit-beside

sample-beside:
	@nice -n 19 $(MAKE) --no-print-directory test-sample > .venv/sample.log 2>&1; code=$$?; tail -n 40 .venv/sample.log; exit $$code

browser-beside:
	@$(MAKE) --no-print-directory test-browser > .venv/browser.log 2>&1; code=$$?; cat .venv/browser.log; exit $$code
	@$(MAKE) --no-print-directory test-oldest

unit-beside:
	nice -n 5 $(PYTEST) -m "not slow and not browser"

static: lint types layers

# what several processes of tests would each compile
compiled: compiled-double compiled-exact

compiled-%: $(READY)
	@PYTHONPATH=research $(BIN)/python -W ignore tests/support/compiled.py $*

# what the shares on another Python and on the oldest Spark need
fetch:
	@$(PYTHON) tools/second_python.py $(SECOND) --sample --prepare
	@$(PYTHON) tools/matrix.py --prepare
	@$(PYTHON) tools/browser.py

check: test ## the same as make test

unit: $(READY) ## run the tests alone, those in a browser included where there is one
	@$(PYTHON) tools/browser.py
	$(PYTEST)

lint: $(PACKAGES) ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(PACKAGES) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(PACKAGES) ## check types
	$(BIN)/mypy

layers: $(PACKAGES) ## check that imports go down only
	PYTHONPATH=research $(BIN)/lint-imports

test-slow: $(READY) test-plain ## run the slow tests: more examples, fuzzing, the demo, pip's Java (minutes)
	GRETA_HYPOTHESIS_PROFILE=slow $(BIN)/python -m pytest -m "slow and not soak"

test-soak: $(READY) ## run a night: a million random cases, 100 kills, an hour of stream; GRETA_SOAK_MINUTES=60 bounds it
	$(BIN)/python -m pytest -m soak -s

test-plain: $(READY) ## run the engine's tests on kernels that are plain Python
	NUMBA_DISABLE_JIT=1 GRETA_EXAMPLES=0.2 $(BIN)/python -m pytest -n 2 tests/engine

test-sample: $(PACKAGES) ## run a sample on a second Python with the compiler off; branch coverage of at least 90 %
	@$(PYTHON) tools/second_python.py $(SECOND) --sample

test-mutants: $(PACKAGES) ## make mistakes on purpose, one at a time, and see that a fast test notices each (minutes)
	$(BIN)/python tools/mutants.py --jobs 2

test-oldest: $(READY) ## run a few tests on the oldest Spark
	@$(PYTHON) tools/matrix.py --quick

test-matrix: ## run a part of the Spark suite on every version of Spark, and write the table in the docs (long)
	@$(PYTHON) tools/matrix.py

test-python: ## run all tests but those on Spark and in a browser on a second Python, 3.13 unless SECOND says another
	@$(PYTHON) tools/second_python.py $(SECOND)

coverage: $(READY) ## measure branch coverage of lang, plan and engine by their own tests; at least 90 %
	$(BIN)/python -m pytest -n 2 tests/lang tests/plan tests/engine tests/graph src/greta/lang src/greta/plan src/greta/engine \
	  --cov greta.lang --cov greta.plan --cov greta.engine --cov-branch --cov-report term:skip-covered --cov-fail-under 90

test-browser: $(READY) ## run the studio's tests in headless Chromium alone
	@$(PYTHON) tools/browser.py
	$(BIN)/python -m pytest -m "browser and not slow" tests/studio

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
