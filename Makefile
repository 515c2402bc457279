# The commands of the book; `make` alone lists them.
.PHONY: help book test refresh report bench clean

PYTHON ?= python3
BIN := .venv/bin
ENVIRONMENT := .venv/installed
SITE := _build/html/index.html
NOTEBOOKS := $(wildcard index.ipynb chapters/*.ipynb)
SOURCES := _config.yml _toc.yml references.bib $(wildcard index.*) \
    $(shell find chapters data images src web -type f -not -path '*/.*' -not -path '*/__pycache__/*' -not -path '*.egg-info/*')

# Every kernel imports this checkout; and MPLBACKEND=agg would take all figures out of the notebooks.
export PYTHONPATH := $(CURDIR)/src
unexport MPLBACKEND

help:
	@sed -nE 's/^([a-z]+):.*## (.*)/make \1\t\2/p' Makefile

book: $(SITE)  ## install what is missing into .venv, build the site at _build/html/index.html
	@echo "The site: $(SITE)"

test: book  ## check everything that CI checks: code, data, chapters at three parameter sets, site, numbers
	$(BIN)/pytest -n auto --maxprocesses=4 --dist worksteal
	$(BIN)/pytest -n auto --maxprocesses=4 --dist loadfile --nbval --nbval-current-env $(NOTEBOOKS)

refresh: $(ENVIRONMENT)  ## run all chapters and store their outputs and the picture of the README
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False $(NOTEBOOKS)
	$(BIN)/python images/extract.py

report: $(ENVIRONMENT)  ## a report on your failure log: make report LOG=my_log.csv write_s=40 restart_s=600
	@$(BIN)/python -m youngdaly.report $(foreach name,$(filter-out PYTHON,$(.VARIABLES)),$(if $(filter command,$(origin $(name))),'$(name)=$(subst ','\'',$($(name)))'))

bench: $(ENVIRONMENT)  ## compare speed with NumPy alone, SimPy, mlsysim and formulas written by hand
	$(BIN)/pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	$(BIN)/python bench/bench.py

clean:  ## remove everything that was built; the environment .venv stays
	rm -rf _build .pytest_cache .hypothesis

# Always from nothing: a page that is left over, or a warning that only the first build gives, would go unnoticed.
.DELETE_ON_ERROR:
$(SITE): $(ENVIRONMENT) $(SOURCES)
	rm -rf _build/html
	$(BIN)/jupyter-book build --all -W -n --keep-going .
	test -s $@

$(ENVIRONMENT): requirements.txt constraints.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The book needs Python 3.11 or newer.")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@
