# `make` lists the targets. Everything runs in .venv, which is made on demand with the versions of constraints.txt.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help env quickstart quick test test-all bench lint format clean

# What would put packages elsewhere, or take those of other places for installed.
unexport PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX
# Without bytecode on the disk each of the tests' many processes compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.complete
EXTRAS := ja,zh,ko,align,formats,comet,embed,llm,onnx,lid,ctranslate2,cluster,dev
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt
WORKERS ?= 2

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(STAMP) ## make .venv with everything pinned

# The stamp is written last: an installation that was killed has none and starts over. fairseq-fixed is compiled
# without pip's build isolation, which would download torch again, and with cheap optimization of the three small
# extensions that include all of torch's headers (two thirds of its build time; none is in a training loop of ours),
# and without those for CUDA, which nothing here needs and which want the very CUDA of torch.
$(STAMP): setup.py pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 14) else \
	  "error: $(PYTHON) is Python %d.%d, expected 3.11, 3.12 or 3.13; choose another with: make PYTHON=python3.11" % v)'
	@include=$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))'); \
	  echo '#include <Python.h>' | $${CXX:-c++} -std=c++20 -fsyntax-only "-I$$include" -x c++ - || \
	  { echo "error: $${CXX:-c++} does not compile C++20 with Python.h, expected it to build fairseq (Ubuntu: g++ 10 or later, python3-dev)" >&2; exit 2; }
	test -e $@ || rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) setuptools wheel cython numpy torch
	env -u CUDA_HOME -u CUDA_PATH CFLAGS="-O1 -g0" $(PIP_INSTALL) --no-build-isolation fairseq-fixed
	$(PIP_INSTALL) --no-build-isolation --editable '.[$(EXTRAS)]'
	touch $@

quickstart: $(STAMP) ## build a corpus, train two models, translate every direction, score, report
	PATH="$(CURDIR)/$(BIN):$$PATH" bash recipes/quickstart/run.sh

quick: $(STAMP) ## run the tests of what changed since the last commit (SINCE=COMMIT: since that one)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.quick $(SINCE)

test: $(STAMP) ## run all tests but the slow ones
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

test-all: $(STAMP) ## run all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --slow

bench: quickstart ## run the benchmarks, one after the other; two of them measure the models of the quickstart
	for file in benchmarks/[a-z]*.py; do echo "== $$file"; $(BIN)/python -m "benchmarks.$$(basename "$$file" .py)"; done
	if $(BIN)/python -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then $(BIN)/python -m benchmarks.training_speed --gpu --max-tokens 8192 --updates 100 --warmup 20; fi

lint: $(STAMP) ## check style and shell scripts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	find recipes benchmarks .ci -type f \( -name '*.sh' -o -name run \) -print0 | xargs -0 -n 1 bash -n
	if [ -x $(BIN)/shellcheck ]; then find recipes benchmarks .ci -type f \( -name '*.sh' -o -name run \) -exec $(BIN)/shellcheck -x {} +; fi

format: $(STAMP) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove .venv and caches (results stay)
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
