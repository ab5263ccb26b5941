# Two commands on a fresh machine with python3 and make:
#     make run     the main job on the example cluster: decisions, and why
#     make test    the quick tests, and a share of each heavy suite
# Everything is installed into .venv; of what is outside this folder, only caches below ~/.cache are
# written to (podwright's, for compiled kernels, and that of pip or uv).

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
EXTRAS ?= dev,live,plots,sweep,tables,tls,tune,ui
ARGS   ?=
AREA   ?=
MUTANTS ?=
SEEDS  ?= 0-199
BENCH_ONLY ?=
BENCH_JSON ?=
AGAINST ?= HEAD~20
FILES ?=
REAL  ?=
# Hundreds of tests start processes; without bytecode on disk, each compiles all modules anew,
# 3 s of CPU. Images of containers often set this variable.
unexport PYTHONDONTWRITEBYTECODE
# Tests run side by side; ARGS=-n0 runs them in one process, as a debugger needs it.
PYTEST = $(BIN)/python -m pytest
SIDE_BY_SIDE = -n auto --maxprocesses=4 --dist=worksteal
# What each test run of `make ci` came to.
REPORTS = .reports

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: strict-kernels conformance real-parts against-real test-e2e e2e-conformance kubectl-suite client-suites mutants mutants-ci help run up demo-sync test rest test-ui test-all lint types imports check ci share share-real format docs soak load-sync bench-sync capacity-real autoscaling-real bench bench-pairs share-pairs bench-real curves long-run bench-page coverage wheel compiled test-compiled clean

help:  ## Show this list
	@awk 'BEGIN {FS = ":.*##"} /^[a-z0-9-]+:.*##/ {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A stamp is remade when dependencies change; an interrupted install leaves none. Each target needs
# the one with its extras: the core, the web page (with sync), or everything.
$(VENV)/.core: pyproject.toml tools/bootstrap.py
	@command -v $(PYTHON) >/dev/null || { echo "No $(PYTHON) on PATH: install Python 3.11 or newer, or run make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) tools/bootstrap.py --venv $(VENV)
	@touch $@

$(VENV)/.page: $(VENV)/.core
	@$(PYTHON) tools/bootstrap.py --venv $(VENV) --extras live,ui
	@touch $@

$(VENV)/.installed: $(VENV)/.core
	@$(PYTHON) tools/bootstrap.py --venv $(VENV) --extras $(EXTRAS) --warm-up
	@touch $@ $(VENV)/.page


run: $(VENV)/.core  ## Schedule the example cluster and explain it; ends by itself
	$(BIN)/podwright schedule examples/quickstart --explain --exit-zero $(ARGS)

up: $(VENV)/.page  ## An example cluster for kubectl, with a pending pod; Ctrl-C stops it
	$(BIN)/podwright up --demo $(ARGS)

demo-sync: $(VENV)/.page  ## Two configurations follow one source; Ctrl-C ends it
	$(BIN)/python examples/sync/demo.py $(ARGS)

test: $(VENV)/.installed  ## Run a choice of the tests of every room and suite (ARGS="-k queue" picks some)
	$(PYTEST) $(SIDE_BY_SIDE) --part quick $(ARGS)

test-all: $(VENV)/.installed  ## Run everything this machine can run
	$(PYTEST) -m "not perf" $(SIDE_BY_SIDE) $(ARGS)

test-ui: $(VENV)/.installed  ## The web page in Chromium; says what it leaves out without
	$(PYTEST) tests/ui -m ui $(ARGS)

lint: $(VENV)/.installed  ## Style: ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed  ## Types: mypy, strict
	$(BIN)/mypy

imports: $(VENV)/.installed  ## Rooms: import-linter
	$(BIN)/lint-imports --no-logo --no-cache

check: lint types imports test  ## What a change must pass

ci: lint types imports tests-elsewhere coverage share share-real strict-kernels share-pairs mutants-ci  ## What .ci/run runs: checks, the tests with coverage, a share of each heavy and each slow suite

rest: $(VENV)/.installed  ## What `make ci` leaves out of the heavy suites, and the properties in full
	$(PYTEST) $(SIDE_BY_SIDE) --part rest $(ARGS)

share: $(VENV)/.installed  ## A fixed small share of each slow suite
	$(PYTEST) tests -m "share and not e2e" $(SIDE_BY_SIDE) --junit-xml=$(REPORTS)/share.xml
	HYPOTHESIS_PROFILE=share $(PYTEST) tests/properties -m slow $(SIDE_BY_SIDE) --junit-xml=$(REPORTS)/histories.xml

share-real: $(VENV)/.installed  ## A share of the tests with binaries of Kubernetes; builds them if there is Go
	$(BIN)/python -m tests.e2e_real.share --junit-xml=$(REPORTS)/real.xml $(ARGS)

strict-kernels: $(VENV)/.installed  ## Kernel tests and golden vectors in plain Python, where NumPy raises for each overflow
	NUMBA_DISABLE_JIT=1 $(PYTEST) -q -p tests.strict_kernels $(SIDE_BY_SIDE) \
		src/podwright/scheduler/kernels tests/golden/test_parity.py \
		--junit-xml=$(REPORTS)/strict.xml $(ARGS)

share-pairs: $(VENV)/.installed  ## Some short benchmarks beside those of twenty commits before
	$(BIN)/python -m tests.perf.pairs --against $(AGAINST) --share

format: $(VENV)/.installed  ## Let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed  ## Run every example of the documentation (PODWRIGHT_UPDATE_DOCS=1 rewrites)
	$(BIN)/python -m pytest docs README.md tests/test_docs.py tests/test_reference_pages.py $(ARGS)

soak: $(VENV)/.installed  ## Play whole clusters with faults, many seeds (SEEDS=0-999)
	PODWRIGHT_SEEDS=$(SEEDS) $(BIN)/python -m pytest tests/world $(ARGS)

load-sync: $(VENV)/.installed  ## Follow a real control plane under load (LOAD_SECONDS=600)
	PODWRIGHT_LOAD_SECONDS=$(or $(LOAD_SECONDS),600) $(PYTEST) tests/e2e_real/test_sync_load.py -m e2e -n0 -s $(ARGS)

bench-sync: $(VENV)/.installed  ## Import of 50,000 pods, and the lag of a sync at 500 changes/s
	$(BIN)/python -m tests.perf.sync $(ARGS)

conformance: $(VENV)/.installed  ## Replay recorded API exchanges (FILES="a.jsonl.gz ..."; default: all; ARGS=--http)
	$(BIN)/python -m tests.conformance $(FILES) $(ARGS)

real-parts:  ## Build kubectl, kube-apiserver, etcd, helm and others from Go modules (REAL="e2e.test kwok decisions" for these)
	$(PYTHON) -m tests.real_parts.binaries $(REAL)

test-e2e: $(VENV)/.installed real-parts  ## kubectl, kube-scheduler and kube-controller-manager on the embedded cluster
	$(PYTEST) -m e2e tests/e2e_real $(ARGS)

e2e-conformance: $(VENV)/.installed  ## Upstream's end-to-end suite on podwright up (ARGS="--again failed --only REGEX")
	$(PYTHON) -m tests.real_parts.binaries kubectl e2e.test
	$(BIN)/python -m tests.e2e_real.conformance $(ARGS)

kubectl-suite: $(VENV)/.installed  ## Upstream's tests of kubectl on podwright up beside its own control plane (ARGS="--only REGEX"); needs Go
	$(PYTHON) -m tests.real_parts.binaries kubectl kube-apiserver etcd kube-controller-manager
	$(BIN)/python -m tests.e2e_real.kubectl_suite $(ARGS)

client-suites: $(VENV)/.installed  ## Suites of controller-runtime, Karpenter and others on podwright up --bare (ARGS="--only REGEX"); needs Go
	$(BIN)/python -m tests.e2e_real.client_suites $(ARGS)

against-real autoscaling-real: SEEDS = 0-19
against-real: $(VENV)/.installed  ## Compare with the real kube-apiserver (AREA="errors apply"), or run on one with faults (CHAOS=scheduler SEEDS=0-19); needs make real-parts
	$(BIN)/python -m $(if $(CHAOS),tests.real_parts.chaos $(CHAOS) --seeds $(SEEDS),tests.conformance.against_real $(AREA:%=--area %)) $(ARGS)

capacity-real: $(VENV)/.installed  ## Capacity beside the real kube-scheduler (SEEDS=0-49); needs make real-parts
	PODWRIGHT_CAPACITY_SEEDS=$(or $(SEEDS),0-49) $(PYTEST) tests/e2e_real/test_capacity.py -m e2e -n0 $(ARGS)

autoscaling-real: $(VENV)/.installed  ## Sizes of node groups beside cluster-autoscaler's binary (SEEDS=0-19), two minutes each; builds it, and kubectl
	$(PYTHON) -m tests.real_parts.binaries kubectl
	$(BIN)/python -m tests.real_parts.autoscaling.compare --seeds $(SEEDS) $(ARGS)

bench: $(VENV)/.installed  ## Benchmarks beside the last release's (BENCH_ONLY=a,b BENCH_JSON=file)
	$(BIN)/python -m tests.perf.bench --only "$(BENCH_ONLY)" --json "$(BENCH_JSON)" $(ARGS)

bench-pairs: $(VENV)/.installed  ## Benchmarks of this commit and of AGAINST=REF in turn, on CPU time (BENCH_ONLY=a,b)
	$(BIN)/python -m tests.perf.pairs --against $(AGAINST) --only "$(BENCH_ONLY)" $(ARGS)

bench-real: $(VENV)/.installed  ## CPU per pod beside the real control plane (ARGS="--apps 300 --modes template,mixed")
	$(PYTHON) -m tests.real_parts.binaries kube-apiserver etcd kube-scheduler
	$(BIN)/python -m tests.perf.apps_real $(ARGS)

curves: $(VENV)/.installed  ## Cost curves of docs/explanation/speed.md, as pictures (ARGS="--only nodes")
	$(BIN)/python -m tests.perf.curves $(ARGS)

long-run: $(VENV)/.installed  ## Memory, files and GETs of a server in 2 hours of its clock, half an hour of ours
	$(BIN)/python -m tests.perf.long_run $(ARGS)

bench-page: $(VENV)/.installed  ## The page at 5,000 nodes, in Chromium (ARGS="--minutes 10 --only paint,scrub")
	$(BIN)/python -m tests.perf.page $(ARGS)

# One target a run, so that a failure of one leaves the others to be run.
.PHONY: tests-elsewhere lines-of-tests lines-without-compiler
COVERED = --cov --cov-append --cov-report= --cov-fail-under=0

tests-elsewhere: $(VENV)/.installed
	$(PYTEST) $(SIDE_BY_SIDE) --part ci --lines none --collected=$(REPORTS)/collected-elsewhere.txt \
		--junit-xml=$(REPORTS)/elsewhere.xml $(ARGS)

lines-of-tests: $(VENV)/.installed
	$(BIN)/coverage erase
	$(PYTEST) $(SIDE_BY_SIDE) --part ci --lines counted --collected=$(REPORTS)/collected.txt \
		$(COVERED) --junit-xml=$(REPORTS)/tests.xml $(ARGS)

lines-without-compiler: $(VENV)/.installed
	NUMBA_DISABLE_JIT=1 $(PYTEST) -q $(SIDE_BY_SIDE) $(COVERED) \
		--junit-xml=$(REPORTS)/without-compiler.xml \
		$(addprefix src/podwright/scheduler/,kernels plugins preemption framework)

coverage: lines-of-tests lines-without-compiler  ## The lines of the deciding rooms that vectors, properties and the tests beside them run
	$(BIN)/coverage report
	$(BIN)/python tools/coverage_of_rooms.py

mutants: $(VENV)/.installed  ## Which small bugs does no test notice? (AREA="queueing store" MUTANTS=70)
	$(BIN)/python -m tests.mutants $(AREA:%=--area %) $(MUTANTS:%=--mutants %) $(ARGS)

mutants-ci: $(VENV)/.installed  ## Twenty of them, fixed; none may survive
	$(BIN)/python -m tests.mutants --share 20 $(ARGS)

# Times in the files are those of the commit, so the same commit gives the same bytes.
wheel: $(VENV)/.installed  ## Build the wheel and the source distribution into dist/
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/hatchling build --target wheel --target sdist

COMPILED = build/compiled
COMPILED_TESTS ?= src/podwright/scheduler tests/golden tests/stories tests/properties tests/world

compiled: $(VENV)/.installed  ## A copy of the tree with modules of the core compiled by mypyc, and its wheel; needs a C compiler
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python tools/compiled.py $(COMPILED) --wheel

test-compiled: $(VENV)/.installed  ## The tests of the core with compiled modules (COMPILED_TESTS="tests/golden")
	$(BIN)/python tools/compiled.py $(COMPILED)
	cd $(COMPILED) && PYTHONPATH=src:. $(CURDIR)/$(PYTEST) $(SIDE_BY_SIDE) $(COMPILED_TESTS) $(ARGS)

clean:  ## Remove .venv and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .mutants .reports .coverage build dist
