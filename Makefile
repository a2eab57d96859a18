# Two commands for users: `make run` and `make test`. The rest serves them.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp
MANY := -n 3 --dist loadfile

# The tests start many processes; without bytecode each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-here test-cluster coverage demo setup setup-dev system check format docs bench bench-quick constraints clean
.DEFAULT_GOAL := run

run: setup ## the page, with a small library to ask; it prints its address
	@$(BIN)/unchunk --home output/library serve

demo: setup ## the command line: a small library, a question to it, and a recovered store
	@$(BIN)/unchunk --home output/library add examples/*.md
	@$(BIN)/unchunk --home output/library search "What does a night in the harbour cost?" --limit 2
	@$(BIN)/unchunk --home output/library ask "What does a night in the harbour cost?"
	@$(BIN)/unchunk stitch examples/chunks.jsonl --output output
	@echo "Now try your own: $(BIN)/unchunk add FOLDER; $(BIN)/unchunk ask QUESTION"

test: ## everything: checks, then all tests, on one machine and many
	@$(MAKE) --no-print-directory -j 2 check system
	@$(MAKE) --no-print-directory -j 2 --output-sync=target test-here test-cluster

test-here: ## all tests
	$(BIN)/pytest $(MANY)

coverage: setup-dev system ## the same with branch coverage, which takes longer
	$(BIN)/pytest $(MANY) --cov --cov-report=term

test-cluster: ## the end-to-end tests against two servers, three workers, Qdrant nodes, PostgreSQL
	$(BIN)/pytest --stack cluster --no-cov -p no:cacheprovider

setup: $(STAMP) ## .venv with the package in it

setup-dev: $(STAMP).dev ## and what the tests need

$(STAMP): pyproject.toml constraints.txt
	$(call install,.)

$(STAMP).dev: pyproject.toml constraints.txt
	$(call install,.[dev])
	@touch $(STAMP)

define install
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "unchunk needs Python 3.11 or newer: call make with PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing unchunk into .venv ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '$(1)'
	@touch $@
endef

system: ## what the tests use of Debian; what is not there, and cannot be installed, is skipped
	@wanted=""; \
	command -v chromium >/dev/null || wanted="$$wanted chromium"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || wanted="$$wanted postgresql"; \
	command -v valgrind >/dev/null || wanted="$$wanted valgrind"; \
	[ -z "$$wanted" ] || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { echo "Installing for the tests:$$wanted ..."; \
	    case "$$wanted" in *postgresql*) mkdir -p /etc/postgresql-common && \
	      echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf ;; esac; \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends $$wanted >/dev/null \
	      || echo "That failed: what needs$$wanted is skipped."; }

check: setup-dev ## format, lint, strict types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest tests/test_imports.py

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup-dev ## the pages that are made from the program itself
	$(BIN)/python docs/generate.py

bench: setup-dev ## every measure beside the field: docs/benchmarks.md; and the tables of docs/recovery.md
	$(BIN)/python -m bench
	$(BIN)/python -m bench.recovery
	$(BIN)/python -m bench.fuzz --files 20000
	$(BIN)/python -m bench.rescue
	$(BIN)/python -m bench.foreign_stores

bench-quick: setup-dev ## the same, small: five minutes, once the peers are installed; writes to .bench/quick
	$(BIN)/python -m bench --quick

constraints: setup-dev ## pin everything anew
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-emit-index-url \
	  --no-annotate --no-header --upgrade pyproject.toml -o constraints.txt

clean:
	rm -rf .venv .bench output .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
