# The commands of daily work. Each sets up what it needs, so any of them may come first; `make` alone lists them.
#
#   make test PRESET=sanitize      release (default), debug, sanitize, thread, wheels (CUDA from PyPI, no toolkit)
#   make fuzz TARGET=case          ptx (default), case, npy, load; until something is found or Ctrl-C
#   make install PREFIX=$HOME/.local

PRESET ?= release
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
TARGET ?= ptx
WHEELS ?= $(BUILD)/wheels

BUILD := $(if $(filter release,$(PRESET)),build,build-$(PRESET))
SETUP := scripts/setup
CONFIGURE = cmake --preset $(PRESET) --log-level=WARNING
COMPILE = cmake --build --preset $(PRESET) --parallel $(JOBS)

# As on a machine without a toolkit: headers and NVRTC from PyPI, at build time and at run time.
ifeq ($(PRESET),wheels)
SETUP += --ignore-toolkit
export WARPMILL_NVRTC := $(CURDIR)/$(BUILD)/cuda-wheels
export CUDA_HOME :=
endif

# The fuzz targets need clang, which is large: for those who run them.
ifneq ($(filter test test-long fuzz,$(MAKECMDGOALS)),)
SETUP += --fuzz
endif

# Triton is large too.
ifneq ($(filter test-long test-triton,$(MAKECMDGOALS)),)
SETUP += --triton
endif

.PHONY: help setup configure configure-bench build demo test test-long test-cutlass test-triton test-python-programs test-gpu bench bench-vgpu bench-judge fuzz format install wheel
.NOTPARALLEL:

help:
	@echo 'make demo        build, run the first kernels and a matrix product on the best device there is'
	@echo 'make test        build, run all tests that need no GPU, check the formatting'
	@echo 'make test-long   the same, and what takes more than an hour: many more random products, orders of events, fuzz inputs'
	@echo 'make test-cutlass  build CUTLASS examples with nvcc, run and judge them: hours at first, then what has changed'
	@echo 'make test-triton  kernels of Triton and Gluon, by Triton itself, run and judged: a minute, after 1 GB from PyPI'
	@echo 'make test-python-programs  CuPy, Numba, CuTe DSL, torch.compile and others, by themselves, judged: after 7 GB from PyPI'
	@echo 'make test-gpu    build, run the tests and the example cases on a GPU'
	@echo 'make bench       build, measure compile and launch times'
	@echo 'make bench-vgpu  build, measure the speed of the virtual GPU'
	@echo 'make bench-judge build, measure what the judge costs where much is in flight, spinning or read'
	@echo 'make fuzz        build a fuzz target (TARGET=$(TARGET)), run it until it finds something'
	@echo 'make format      format the sources'
	@echo 'make install     compile attention'"'"'s kernels (minutes), install into PREFIX ($(PREFIX))'
	@echo 'make wheel       pack the Python package into WHEELS ($(WHEELS)); pip install . does the same'

setup:
	@$(SETUP) $(BUILD)

configure: setup
	@$(CONFIGURE)

build: configure
	@$(COMPILE)

demo: configure
	@$(COMPILE) --target warpmill_program
	@$(BUILD)/bin/warpmill demo examples/first_light
	@$(BUILD)/bin/warpmill gemm 2048x2048x2048

test: build
	@ctest --preset $(PRESET) --parallel $(JOBS)
	@scripts/format --check $(BUILD)

test-long: build
	@cmake --build $(BUILD)/fuzz --parallel $(JOBS) --target fuzz_load
	@ctest --test-dir $(BUILD) --parallel $(JOBS) --output-on-failure
	@scripts/format --check $(BUILD)

test-cutlass: configure
	@$(COMPILE) --target warpmill_program
	@scripts/cutlass-examples $(BUILD) --table bench/results/cutlass.md

test-triton: build
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -R test_with_triton

test-python-programs: configure
	@$(COMPILE) --target warpmill_program
	@scripts/python-programs $(BUILD) --table bench/results/python-programs.md

test-gpu: build
	@scripts/test-gpu $(BUILD)

# Not `configure`: in `make test bench` that has run already, without what the benchmarks need.
configure-bench:
	@$(SETUP) --bench $(BUILD)
	@$(CONFIGURE)

bench: configure-bench
	@$(COMPILE) --target bench_host
	@$(BUILD)/bin/bench_host
bench-vgpu: configure-bench
	@$(COMPILE) --target bench_vgpu
	@$(BUILD)/bin/bench_vgpu
bench-judge: configure
	@$(COMPILE) --target warpmill_program
	@scripts/judge-costs $(BUILD)/bin/warpmill

fuzz: configure
	@$(COMPILE) --target fuzz_targets
	@cmake --build $(BUILD)/fuzz --parallel $(JOBS) --target fuzz_$(TARGET)
	@scripts/fuzz $(BUILD) $(TARGET)

format: setup
	@scripts/format $(BUILD)

install: configure
	@$(COMPILE) --target installed_parts
	@cmake --install $(BUILD) --prefix $(PREFIX)

wheel: configure
	@$(COMPILE) --target wheel_parts
	@python3 python/pack_wheel.py $(BUILD) $(WHEELS)
