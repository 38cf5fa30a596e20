PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Tests run side by side, as many of them wait for processes of their own; what shares a costly fixture stays together.
SIDE_BY_SIDE ?= -n 2 --dist worksteal

.PHONY: dev check test system soak bench report samples

dev:            ## an environment with everything that development needs
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'

check:          ## style, types, layers; `make dev` first
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test:           ## everything but the endurance runs
	$(BIN)/python -m pytest -m "not soak" $(SIDE_BY_SIDE)

system:         ## only the tests with real processes on loopback
	$(BIN)/python -m pytest -m "system and not soak" $(SIDE_BY_SIDE)

soak:           ## endurance runs at full size; their figures are kept under benchmarks/results
	$(BIN)/python -m pytest -m soak
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.cloud_soak

bench:          ## every benchmark, nothing else running; needs TIEROCR_DATA, and PEERS with the peers' environments
	for name in accuracy quantised tiering robustness networks speed "speed --vnni" steps serving overload landing; do \
		case $$name in accuracy|robustness|speed*|serving) peers="--peers $(PEERS)";; *) peers=;; esac; \
		$(BIN)/python -m benchmarks.$$name $$peers || missed="$$missed $$name"; \
	done; \
	[ -z "$$missed" ] || { echo "bars missed:$$missed"; exit 1; }

report:         ## put the measured numbers into the README
	$(BIN)/python -m benchmarks.report README.md

samples:        ## draw the sample pages again; needs the Noto CJK and DejaVu fonts
	$(BIN)/python -m tierocr.cloud.forge.sample_pages edge/tierocr/edge/samples
