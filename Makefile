# `make demo` and `make test` are all that a machine with Python and make needs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
LOG := tests/corpus/llvm.tuning_record.json
OUT := build/demo

.PHONY: help demo test lint unit coverage docs grammar fuzz bench clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*##/\t/' | expand -t 12

demo: $(VENV)/.core ## install, then encode, show, decode and compare a real log
	@mkdir -p $(OUT)
	$(BIN)/tracescript encode $(LOG) -o $(OUT)/log.trace
	$(BIN)/tracescript show $(OUT)/log.trace --record 0
	$(BIN)/tracescript stats $(OUT)/log.trace
	$(BIN)/tracescript check --quiet $(OUT)/log.trace
	$(BIN)/tracescript decode $(OUT)/log.trace -o $(OUT)/log.json
	cmp $(LOG) $(OUT)/log.json && echo "the decoded log is the log, byte for byte"
	@wc -c $(LOG) $(OUT)/log.trace

test: lint coverage docs ## install what is missing, then lint, all tests, docs

lint: $(VENV)/.dev ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: $(VENV)/.dev ## the tests alone
	$(BIN)/pytest -n auto

coverage: $(VENV)/.dev ## the tests, and every branch of the library reached
	$(BIN)/pytest -n auto --cov --cov-report=term:skip-covered --cov-fail-under=100

docs: $(VENV)/.dev ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet

grammar: $(VENV)/.core ## write what is made from the table of kinds: strict grammars and a page
	$(BIN)/python -m tracescript.strict
	$(BIN)/python docs/_kinds.py

fuzz: $(VENV)/.dev ## a million random traces, a million steps under masks, then a long look by Hypothesis
	$(BIN)/python -m tracescript.testing --traces 1000000
	$(BIN)/python tests/fuzz_masks.py --steps 1000000
	HYPOTHESIS_PROFILE=fuzz $(BIN)/pytest -n auto tests/test_laws.py

bench: $(VENV)/.dev ## measure, and write docs/benchmarks.md
	$(BIN)/python benchmarks/report.py

clean: ## remove what was built and installed
	rm -rf $(VENV) build dist site

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[cli]"
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable ".[cli,testing,tvm]" --group dev
	touch $@
