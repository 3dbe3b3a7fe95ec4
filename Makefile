# make demo   the main job, from nothing but Python 3.11+ and make
# make test   formatter, linter, type checker and the suite, likewise; make test-slow runs the repetitions it leaves out
# make fuzz   damaged robot files for ten minutes: each is read, or refused by name
# make bench  every speed claim beside the peers, a quarter of an hour: writes benchmarks/results.md
# make counts study    the counts of operations and their page; the study of formulations
# make papers          the pages of the four papers, from their rows
# make questions times what the papers ask, and the times of all formulations: docs/open-questions.md
# make docs clean      the code of the documentation; removal of all that these commands leave
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Processes that tests start, and the next run, find the source and the tests compiled
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-slow fuzz bench counts study papers questions times docs clean
.DEFAULT_GOAL := demo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Linkwise needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[demo]'
	@touch $@

$(VENV)/test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

$(VENV)/bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

demo: $(VENV)/demo
	$(BIN)/python examples/arm_in_motion.py
	$(BIN)/linkwise ridim planar3 --duration 1 --csv pictures/ridim.csv
	$(BIN)/linkwise rfdsim planar3 --torque-history pictures/ridim.csv
	$(BIN)/python examples/saha_figures.py
	$(BIN)/python examples/kozlowski.py
	$(BIN)/python examples/two_links.py

# mypy keeps one core busy: it runs beside the suite, and what it says comes last
test: $(VENV)/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy >$(VENV)/mypy.txt 2>&1 & mypy=$$!; \
	$(BIN)/python -m pytest -n auto --dist worksteal; suite=$$?; \
	wait $$mypy; types=$$?; cat $(VENV)/mypy.txt; \
	test $$suite -eq 0 && test $$types -eq 0

test-slow: $(VENV)/test
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow tests

fuzz: $(VENV)/test
	$(BIN)/python tests/helpers/fuzz.py

bench: $(VENV)/bench
	$(BIN)/python benchmarks/run_all.py

counts: $(VENV)/test
	$(BIN)/python benchmarks/operation_counts.py

study: $(VENV)/test
	$(BIN)/python benchmarks/formulation_study.py

papers: $(VENV)/test
	$(BIN)/python tools/papers

questions: $(VENV)/test
	$(BIN)/python benchmarks/open_questions.py

times: $(VENV)/test
	$(BIN)/python benchmarks/formulation_times.py

docs: $(VENV)/test
	$(BIN)/python -m pytest README.md docs
	@echo "The documentation is in README.md, NOTATION.md and docs/; its code has just run."

clean:
	rm -rf $(VENV) pictures .hypothesis .pytest_cache .mypy_cache .ruff_cache
