# `make demo` and `make test` set up their dependencies: .venv, the package, the jars, the JVM part.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
DOCS := build/docs
DBT := build/dbt
LINTERS := build/linters
SOURCES := streamsql cli grammar client dbt tests benchmarks examples scripts hatch_build.py

# Otherwise every test worker, and every process that it starts, compiles all sources again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help docs dbt pictures setup demo check light test conformance conformance-rest
.PHONY: lint lint-python lint-java lint-deploy fmt soak wheel clean

help:
	@echo "make demo   real flights through Kafka and Spark, in about three minutes"
	@echo "make check  lint, types and the tests without Kafka and Spark: before each commit"
	@echo "make test   the same, and all other tests except the long ones"
	@echo "make conformance"
	@echo "            all tests of the conformance suite, if available"
	@echo "make conformance-rest"
	@echo "            the tests of the HTTP interface, against a server"
	@echo "make lint   ruff, mypy, import contracts; for Java Error Prone and google-java-format;"
	@echo "            for deploy/ yamllint and hadolint"
	@echo "make fmt    format the sources"
	@echo "make docs   write docs/functions.md from the declarations, and build the site: site/index.html"
	@echo "make pictures"
	@echo "            regenerate the pictures of the documentation, with Chromium and tmux"
	@echo "make dbt    the tests of dbt-streamsql, with a separate installation of dbt"
	@echo "make soak   the long tests, or one part of them: make soak PART=kills"
	@echo "make wheel  build the wheels of streamsql, including the JVM part, streamsql-client and dbt-streamsql"
	@echo "make clean  remove the results of make"

$(INSTALLED): pyproject.toml client/pyproject.toml scripts/install
	@PYTHON="$(PYTHON)" scripts/install

setup: $(INSTALLED)
	@$(BIN)/python scripts/prepare.py

demo: setup
	@$(BIN)/python -m examples.demo

PYTEST := $(BIN)/python -m pytest -q -rs
LIGHT := not spark and not kafka and not slow

check: setup
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target lint-java light lint-python lint-deploy

light: $(INSTALLED)
	$(PYTEST) -n logical -m "$(LIGHT)"

# Three processes, each with a Spark and a broker, keep two cores busy, since each sometimes waits.
test: check
	$(PYTEST) -n 3 --dist loadscope --no-loadscope-reorder -m "(spark or kafka) and not slow"

SUITE ?= ../shared/conformance/qtt

# Failures are written to the report, which is then compared with the known failures.
conformance: setup
	@if [ ! -d "$(SUITE)" ]; then echo "skipped: there is no conformance suite in $(SUITE)"; \
	else mkdir -p build; \
	  $(BIN)/streamsql test "$(SUITE)" --report build/conformance.jsonl > build/conformance.txt; \
	  $(BIN)/python -m tests.conformance build/conformance.jsonl --suite "$(SUITE)"; fi

conformance-rest: setup
	@mkdir -p build
	@$(BIN)/python -m tests.conformance.rest --report build/conformance_rest.jsonl

lint: lint-python lint-java lint-deploy

lint-python: $(INSTALLED)
	$(BIN)/ruff check $(wildcard $(SOURCES))
	$(BIN)/ruff format --check $(wildcard $(SOURCES))
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy
	$(BIN)/mypy --config-file dbt/pyproject.toml

lint-java: $(INSTALLED)
	@$(BIN)/python scripts/java.py lint

# In a separate environment. hadolint is a binary that is not available for every system; an
# unavailable linter is reported and skipped.
$(LINTERS)/.installed: deploy/linters.txt
	@echo "Installing the linters of deploy/ into $(LINTERS)"
	@$(PYTHON) -m venv $(LINTERS)
	@while read -r linter; do $(LINTERS)/bin/python -m pip install -q --disable-pip-version-check \
	  "$$linter" || echo "skipped: $$linter is not available for this system"; done < $<
	@touch $@

# Debian's mirrors keep one version of a package: a Dockerfile with a pinned version fails with the next.
lint-deploy: $(LINTERS)/.installed
	@if [ -x $(LINTERS)/bin/yamllint ]; then $(LINTERS)/bin/yamllint --strict deploy; fi
	@if [ -x $(LINTERS)/bin/hadolint ]; then \
	  $(LINTERS)/bin/hadolint --ignore DL3008 deploy/Dockerfile; fi

fmt: $(INSTALLED)
	$(BIN)/ruff check --fix $(wildcard $(SOURCES))
	$(BIN)/ruff format $(wildcard $(SOURCES))
	@$(BIN)/python scripts/java.py fmt

# The site generator has a separate virtual environment.
$(DOCS)/.installed: pyproject.toml
	@echo "Installing MkDocs into $(DOCS)"
	@$(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb')) \
	  ['project']['optional-dependencies']['docs'], sep='\n')" > $(DOCS)/requirements.txt
	@$(DOCS)/bin/python -m pip install -q --disable-pip-version-check -r $(DOCS)/requirements.txt
	@touch $@

# Fails for broken links (MkDocs counts warnings only without --quiet), and for pages that load
# resources from other hosts.
docs: $(INSTALLED) $(DOCS)/.installed
	@mkdir -p build
	$(BIN)/python -m streamsql.functions.reference > build/functions.md && mv build/functions.md docs/functions.md
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build
	@! grep -rlE '<(script|link|img|iframe)[^>]* (src|href)="?(https?:)?//' --include='*.html' site

pictures: setup
	PYTHONPATH=tests $(BIN)/python -m scripts.pictures

# dbt has a separate environment: it requires other versions of Protobuf and further packages.
$(DBT)/.installed: dbt/pyproject.toml client/pyproject.toml
	@echo "Installing dbt into $(DBT)"
	@$(PYTHON) -m venv $(DBT)
	@$(DBT)/bin/python -m pip install -q --disable-pip-version-check -e client -e 'dbt[test]'
	@touch $@

dbt: setup $(DBT)/.installed
	$(BIN)/python -m pytest -q tests/dbt_adapter tests/server/test_dbt.py

soak: setup $(DBT)/.installed
	$(BIN)/python scripts/soak.py $(PART)

wheel: setup
	$(BIN)/python -c "from streamsql.jvm.build import package_runtime_jar as p; p()"
	$(BIN)/python -m pip wheel -q --no-deps --wheel-dir dist ./client . ./dbt

clean:
	rm -rf .venv dist build site .build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf .hypothesis streamsql/jvm/streamsql-jvm.jar
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
