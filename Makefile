# `make demo` and `make test` need make and Python 3.11 or newer, nothing else: .venv is made on the first call.
#     make test PYTEST_ARGS="-x -k signature"    some of the tests, in one process
#     make test WORKERS=0                        all of them in one process
#     make test PYTHON=/path/to/python3          .venv from this interpreter, if it will do
#     make spaces KIND=static                    pages for free accounts of the Hub, without the workbench

PYTHON ?=
PYTEST_ARGS ?=
RELEASE_ARGS ?=
KIND ?= gradio
# Every worker imports PyTorch anew, which a few tests are not worth; each holds about 1.5 GB. There are as many as
# processors, or WORKERS. The tests of a file stay together, so that what they share is made once; files start in the
# order in which they are collected, long ones first (`tests/conftest.py`).
WORKERS ?= $(if $(PYTEST_ARGS),0,auto)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test matrix lowest newest check format bench spaces docs release clean

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# What Python compiles is kept, whatever the surroundings say: else each worker and each process of the tests compiles
# all of it again. `make clean` removes it.
unexport PYTHONDONTWRITEBYTECODE

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' Makefile

demo: .venv/.installed-demo  ## score example captions and stories, write a report
	.venv/bin/python scripts/run_demo.py

test: .venv/.installed-test  ## run the tests, in parallel unless PYTEST_ARGS are given
	.venv/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --maxprocesses 8 $(PYTEST_ARGS)

matrix: .venv/.installed-test  ## run the tests as on other processors, about a dozen times
	.venv/bin/python scripts/run_matrix.py

lowest: .venv/.installed-test  ## run the tests with the lowest versions of what each extra needs
	.venv/bin/python scripts/run_versions.py lowest

newest: .venv/.installed-test  ## run the tests with the newest versions of everything
	.venv/bin/python scripts/run_versions.py newest all

check: .venv/.installed-test  ## lint, formatting, types, spelling, odd English
	.venv/bin/python -m ruff check
	.venv/bin/python -m ruff format --check
	.venv/bin/python -m mypy
	.venv/bin/python -m codespell_lib
	.venv/bin/python scripts/check_english.py

format: .venv/.installed-test  ## mend lint and formatting, write README's table of metrics anew
	.venv/bin/python -m ruff check --fix
	.venv/bin/python -m ruff format
	.venv/bin/python scripts/metric_table.py

bench: .venv/.installed-test  ## run every benchmark of scripts/bench
	@for script in $$(grep -l __main__ scripts/bench/*.py); do echo "$$script"; .venv/bin/python "$$script" || exit 1; done

spaces: .venv/.installed-test  ## assemble the Spaces in build/spaces; KIND=static: pages for free accounts
	.venv/bin/python spaces/builder/assemble.py --all --kind $(KIND)

docs: .venv/.installed-docs  ## build the site in build/site, with warnings as errors
	.venv/bin/python -m sphinx -W --keep-going -q -b html docs build/site
	@echo "build/site/index.html"

release: .venv/.installed-docs  ## build and check what a release uploads; uploads nothing
	.venv/bin/python scripts/check_release.py $(RELEASE_ARGS)

clean:  ## remove caches and build products; .venv stays
	rm -rf build dist *.egg-info .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find metrics scripts shared spaces tests -name __pycache__ -prune -exec rm -rf {} +

usable := import sys, venv, ensurepip; sys.version_info < (3, 11) and sys.exit(1)
no_python := vlgauge needs Python 3.11 or newer with its modules venv and ensurepip, and none was found \
    (Debian, Ubuntu: apt install python3-venv; installed elsewhere: make PYTHON=/path/to/python3).

# An editable install holds absolute paths: in a moved or copied checkout it is made again.
ifneq ($(CURDIR),$(shell cat .venv/.checkout 2>/dev/null))
.PHONY: .venv/.installed-demo .venv/.installed-docs .venv/.installed-test
endif

# The stamp is written last, so an interrupted install is resumed by the next call. What the interruption left half made
# goes first: a .venv whose Python does not run, and packages without INSTALLER, which pip writes after their files.
.venv/.installed-demo .venv/.installed-docs .venv/.installed-test: setup.cfg pyproject.toml constraints.txt
	@if ! .venv/bin/python -c '$(usable); sys.prefix == sys.base_prefix and sys.exit(1)' 2>/dev/null; then \
	    found=; \
	    for python in "$(PYTHON)" python3 python3.13 python3.12 python3.11; do \
	        if "$$python" -c '$(usable)' 2>/dev/null; then found=$$python; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then echo "$(no_python)" >&2; exit 1; fi; \
	    echo "Making .venv with $$found ($$("$$found" --version))"; \
	    rm -rf .venv && "$$found" -m venv --without-pip .venv || exit 1; \
	fi
	@rm -rf .venv/lib/python3.*/site-packages/~*
	@for info in .venv/lib/python3.*/site-packages/*.dist-info; do [ -f "$$info/INSTALLER" ] || rm -rf "$$info"; done
	@.venv/bin/python -m ensurepip --upgrade --default-pip >/dev/null
	@echo "Installing vlgauge and what it needs into .venv: about 6 GB, mostly PyTorch, and a few minutes the first time"
	.venv/bin/python -m pip install -c constraints.txt -e ".[$(@:.venv/.installed-%=%)]"
	@echo "$(CURDIR)" >.venv/.checkout
	@touch $@ $(if $(filter %-demo,$@),,.venv/.installed-demo)
