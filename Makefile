# Every target makes what it needs: a virtual environment in .venv with the extras it uses.
# A stamp file per extra depends on pyproject.toml, so a second run installs nothing.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# The first interpreter that is Python 3.11 or later; override with `make PYTHON=... test`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && break; done)

VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check
# The whole suite, in one process for each core (at most eight; tests/side_by_side.py says how they
# share the machine). PYTEST_XDIST_AUTO_NUM_WORKERS sets another number; it is 0 for one process.
SUITE := -m pytest -q -n auto --dist worksteal

.PHONY: help demo test test-env lint bench accuracy results statistics campaign mutants mutation \
	coverage lock locked locked-env oldest oldest-env newest newest-env audit docs gallery package clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' \
		| while IFS='|' read -r name text; do printf '%-12s %s\n' "$$name" "$$text"; done

$(VENV)/pyvenv.cfg:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or later was found. Name one: make PYTHON=/path/to/python ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.package: $(VENV)/pyvenv.cfg pyproject.toml
	$(PIP) --editable .
	@touch $@

$(VENV)/.extra-%: $(VENV)/.package
	$(PIP) --editable ".[$*]"
	@touch $@

demo: $(VENV)/.package ## fit, report and plot three small examples into demo-output
	$(RUN) -m banklearn.demo --out demo-output

test-env: $(VENV)/.extra-test

test: test-env ## the test suite without its slow part, a process per core; warnings are errors
	@$(RUN) $(SUITE)

statistics: test-env ## the slow statistical tests of the samplers
	@export OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1; \
	$(RUN) -m pytest -q -m slow --timeout=3600 tests/statistical/test_trust.py & first=$$!; \
	$(RUN) -m pytest -q -m slow --timeout=3600 tests/statistical \
		--ignore=tests/statistical/test_trust.py; second=$$?; \
	wait $$first && exit $$second

campaign: test-env ## 10 000 adversarial examples for each estimator, 20 000 model files, two processes
	$(RUN) benchmarks/campaign.py --examples 10000 --files 20000 --jobs 2

mutants: test-env ## plant errors in copies of the package; every one must be caught
	$(RUN) benchmarks/mutants.py --jobs 2 --out benchmarks/results/mutants.md

mutation: $(VENV)/.extra-trust ## change the code of model/ and sampler/ everywhere and count what tests notice
	$(RUN) benchmarks/mutation.py --jobs 2

coverage: $(VENV)/.extra-trust ## lines and branches that the tests reach, each at least 95 %
	$(RUN) benchmarks/coverage_run.py

lint: $(VENV)/.extra-lint ## style, formatting and types
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

bench: $(VENV)/.package ## speed, as ratios measured in one run
	$(RUN) benchmarks/bench.py

accuracy: $(VENV)/.package ## prediction error on the paper's datasets
	$(RUN) benchmarks/accuracy.py

results: $(VENV)/.package ## write docs/results.md from benchmarks/results/reproduce
	$(RUN) benchmarks/results_page.py

# uv resolves for all supported versions of Python at once; the files name versions and hashes only.
COMPILE := -m uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
	--no-annotate --quiet --upgrade
lock: $(VENV)/.extra-trust ## write requirements/dev.lock and requirements/trust.lock anew
	$(RUN) $(COMPILE) pyproject.toml requirements/build.in \
		--extra test --extra lint --extra docs --output-file requirements/dev.lock
	$(RUN) $(COMPILE) pyproject.toml --extra trust --constraint requirements/dev.lock \
		--output-file requirements/trust.lock

# Three environments beside .venv: as locked, with the oldest supported dependencies, with the newest.
# NAME-env installs, NAME runs the tests there; `.ci/run NAME` does both from a clean checkout.
locked-env:
	$(PYTHON) -m venv .venv-locked
	.venv-locked/bin/python -m pip install --quiet --only-binary :all: --require-hashes \
		-r requirements/dev.lock
	.venv-locked/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .

locked: locked-env ## the tests with exactly the locked packages, hashes checked
	.venv-locked/bin/python $(SUITE)

oldest-env:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || { echo "The oldest" \
		"dependencies do not run on Python 3.13. Name an older one: PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet uv
	.venv-oldest/bin/python -m uv pip install --quiet --resolution lowest-direct --editable ".[test]"

oldest: oldest-env ## the tests with the lower bounds of pyproject.toml (Python 3.11 or 3.12)
	.venv-oldest/bin/python $(SUITE)

newest-env:
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade --pre --editable ".[test]"

newest: newest-env ## the tests with the newest dependencies, development releases included
	.venv-newest/bin/python $(SUITE)

# The tools of the extra trust as locked. One of them comes as source alone: what builds it is in
# the first lock, so that nothing is fetched without a hash.
.venv-trust/.locked: requirements/dev.lock requirements/trust.lock
	$(PYTHON) -m venv .venv-trust
	.venv-trust/bin/python -m pip install --quiet --only-binary :all: --require-hashes \
		-r requirements/dev.lock
	.venv-trust/bin/python -m pip install --quiet --only-binary :all: --no-binary yattag \
		--no-build-isolation --require-hashes -r requirements/trust.lock
	@touch $@

# --strict: a package that could not be looked up fails the audit; else it would be left out.
audit: .venv-trust/.locked ## look the locked packages up in the database of known vulnerabilities
	.venv-trust/bin/python -m pip_audit --strict --require-hashes --disable-pip \
		-r requirements/dev.lock -r requirements/trust.lock

docs: $(VENV)/.extra-docs ## build the documentation into site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict
	$(RUN) docs_tools/links.py site

gallery: $(VENV)/.extra-docs ## run the examples with their full budget; pictures into gallery-output
	@for script in $(filter-out examples/gallery.py,$(wildcard examples/*.py)); do \
		echo "== $$script"; $(RUN) $$script --out gallery-output || exit 1; done

# The wheel is built from the sdist, installed where no source tree is, and tested there.
PACKAGE_TESTS ?= tests/cli tests/tables tests/bridges tests/test_import.py tests/test_package.py
package: $(VENV)/.package ## build wheel and sdist into dist, and test the installed wheel
	$(PIP) build
	rm -rf dist $(VENV)-wheel
	$(RUN) -m build --outdir dist .
	$(RUN) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip install --quiet --disable-pip-version-check \
		"banklearn[test] @ file://$(CURDIR)/$$(ls dist/*.whl)"
	$(VENV)-wheel/bin/bank --version
	BANKLEARN_WHEEL=1 $(VENV)-wheel/bin/python -m pytest -q $(PACKAGE_TESTS)

clean: ## remove the environment, caches and outputs; results in benchmarks/.cache stay
	rm -rf $(VENV) $(VENV)-wheel .venv-locked .venv-oldest .venv-newest .venv-trust statistics-output mutants demo-output \
		gallery-output site build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
