# make demo    set up a light environment (no PyTorch) and run the model in the box on a few reviews
# make test    set up .venv and run the tests, in minutes
# make test-all  the others: browser, Ray, notebooks, site, fuzz, what is slow
# make check   lint, format, types
# make docs    the documentation as a site, in site/; make docs-serve shows it while you write
# make dist    wheel and sdist, checked, and tried in empty environments of every Python there is
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.PHONY: help demo test test-all check docs docs-serve dist format clean
help:
	@sed -n 's/^# make/make/p' Makefile

# torch first and by itself: anything that depends on it must find it installed, pinned by constraints.txt.
$(VENV)/.installed-dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) torch
	$(PIP) -e '.[data,tables,plot,train,serve,docs,dev]'
	touch $@

$(VENV)-use/.installed: pyproject.toml constraints.txt
	test -x $(VENV)-use/bin/python || $(PYTHON) -m venv $(VENV)-use
	$(VENV)-use/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt -e .
	touch $@

demo: $(VENV)-use/.installed
	$(VENV)-use/bin/tabsa demo --out demo.html

EXTRA := browser or fuzz or notebook or ray or site or slow

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 -m "not ($(EXTRA))" $(ARGS)

test-all: test
	$(BIN)/python -m pytest -n 2 -m "$(EXTRA)" $(ARGS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The variable silences the theme's news about another version of MkDocs, which is no warning of ours.
docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

dist: $(VENV)/.installed-dev
	$(BIN)/python tools/dist.py $(ARGS)

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(VENV)-use build dist site .mypy_cache .pytest_cache .ruff_cache
