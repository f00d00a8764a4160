"""A stand-in for Triton, where none is installed: what warpmill.triton needs of it, and PTX of ours under the names of its
kernels."""

import importlib
import logging
import re
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

import numpy as np
import warpmill as wm

logging.getLogger("warpmill").addHandler(logging.NullHandler())  # advice depends on where numpy's memory lies

SOURCE = r"""
struct alignas(64) Map { unsigned long long words[16]; };

extern "C" __global__ void add(float* x, const float* y, int n, const void* global_scratch, const void* profile_scratch) {
  if (threadIdx.x < n) x[threadIdx.x] += y[threadIdx.x];
}
extern "C" __global__ void all_write(float* x, const void*, const void*) { x[0] = threadIdx.x; }
extern "C" __global__ void reads_nothing(float* x, const void*, const void*) {
  volatile __shared__ float unwritten[32];
  x[threadIdx.x] += unwritten[threadIdx.x] == 1e-30f ? 2 : 1;
}
extern "C" __global__ void numbers(double* out, signed char a, short b, long long c, unsigned long long d, float e, double f,
                                   unsigned short half, unsigned short brain, const char* global_scratch,
                                   const void* profile_scratch) {
  const double all[] = {double(a), double(b), double(c), double(d), e, f, double(half), double(brain),
                        double(global_scratch != nullptr), double(profile_scratch != nullptr)};
  for (int i = 0; i < 10; ++i) out[i] = all[i];
}
extern "C" __global__ void scratch(double* out, double* global_scratch, const void* profile_scratch) {
  const int block = blockIdx.x + gridDim.x * blockIdx.y;
  double* own = global_scratch + 2 * block;
  own[0] = block, own[1] = 10;
  out[block] = own[0] + own[1];
}
extern "C" __global__ void corner(float* out, const __grid_constant__ Map map, int rows, int columns, long long pitch,
                                  long long one, const void*, const void*) {
  __shared__ __align__(128) float tile[8 * 8];
  __shared__ __align__(8) unsigned long long barrier;
  const unsigned at = __cvta_generic_to_shared(tile), bar = __cvta_generic_to_shared(&barrier);
  if (threadIdx.x != 0) return;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(bar));
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(bar));
  asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at),
               "l"(&map), "r"(columns - 4), "r"(rows - 4), "r"(bar) : "memory");
  for (unsigned done = 0; !done;)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(bar) : "memory");
  for (int i = 0; i < 64; ++i) out[i] = tile[i];
  out[64] = pitch, out[65] = one;
}
extern "C" __global__ void copy_of(float* out, const float* in, int row, int column, const void*, const void*) {
  if (threadIdx.x < 16) out[threadIdx.x] = in[int(threadIdx.x) / 4 * row + int(threadIdx.x) % 4 * column];
}
extern "C" __global__ void add_one_at(unsigned long long address, const void*, const void*) { *(float*)address += 1; }
extern "C" __global__ void described(float* x, long long size, long long step, signed char nan, int rows, long long pitch,
                                     const void*, const void*) {
  if (threadIdx.x < size && size == rows && step == pitch && !nan) x[threadIdx.x * step] += 1;
}
extern "C" __global__ void ticket(int* counter, int* out, const void*, const void*) {
  if (threadIdx.x == 0) out[atomicAdd(counter, 1)] = blockIdx.x + 1;
}
extern "C" __global__ void profiled(double* out, const void*, double* profile_scratch) {
  profile_scratch[blockIdx.x] = 5;
  out[blockIdx.x] = profile_scratch[blockIdx.x];
}
extern "C" __global__ void before_me(int* out, volatile int* global_scratch, const void*) {
  if (threadIdx.x != 0) return;
  out[0] = global_scratch[0];
  global_scratch[0] = 7;
}
"""


class Tensor:
    """What the driver asks a torch tensor for."""

    def __init__(self, array, where="cpu"):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape
        self.data, self.device = self, SimpleNamespace(type=where)

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        base = self.array.base if isinstance(self.array.base, np.ndarray) else self.array
        return SimpleNamespace(data_ptr=lambda: base.ctypes.data, nbytes=lambda: base.nbytes)


def stand_in(folder, version="3.9.0"):
    """Triton's modules with no more to them than warpmill.triton needs."""
    class Active:
        active = None

        def set_active(self, driver):
            self.active = driver

    names = ("triton", "triton.backends", "triton.backends.compiler", "triton.backends.driver", "triton.runtime",
             "triton.runtime.cache")
    modules = {name: ModuleType(name) for name in names}
    modules["triton"].__version__, modules["triton"].runtime = version, modules["triton.runtime"]
    modules["triton.runtime"].driver = Active()
    modules["triton.backends.compiler"].GPUTarget = lambda *parts: parts
    modules["triton.backends.driver"].DriverBase = object

    def file(name):
        path = folder / name
        return str(path) if path.exists() else None
    modules["triton.runtime.cache"].get_cache_manager = lambda key: SimpleNamespace(get_file=file)
    return modules


class Compiled:
    """What Triton's CompiledKernel does with its driver: a launcher is made where there is no module yet."""

    def __init__(self, driver, name, signature, metadata):
        self.driver, self.name, self.metadata = driver, name, metadata
        self.source = SimpleNamespace(name=name, signature=signature)
        self.module, self.run, self.launchers = None, None, 0

    def _init_handles(self):
        if self.module is not None:
            return
        self.run = self.driver.active.launcher_cls(self.source, self.metadata)
        self.launchers += 1
        self.module, self.function, _, _, most_threads = self.driver.active.utils.load_binary(
            self.name, b"", self.metadata.shared, self.driver.active.get_current_device())
        assert 32 * self.metadata.num_warps <= most_threads

    def __call__(self, grid, *values, enter=None, leave=None):
        self._init_handles()
        self.run(*grid, 0, self.function, None, self.name, enter, leave, *values)


class WithStandIn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ptx = wm.Kernel(SOURCE, "add").on("virtual").ptx
        folder = TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        for name in re.findall(r"__global__ void (\w+)", SOURCE):
            (cls.folder / f"{name}.ptx").write_text(ptx)

    def setUp(self):
        self.modules = stand_in(self.folder)
        replaced = patch.dict(sys.modules, self.modules)
        replaced.start()
        self.addCleanup(replaced.stop)
        sys.modules.pop("warpmill.triton", None)
        self.virtual = importlib.import_module("warpmill.triton")
        self.addCleanup(sys.modules.pop, "warpmill.triton")

    def compiled(self, name, signature, warps=1, **metadata):
        described = SimpleNamespace(hash="", name=name, num_warps=warps, num_ctas=1, shared=0, **metadata)
        return Compiled(self.modules["triton.runtime"].driver, name, dict(zip("abcdefghijkl", signature)), described)

    def launch(self, name, signature, values, grid=(1, 1, 1), warps=1, **metadata):
        self.compiled(name, signature, warps, **metadata)(grid, *values)

    def add(self, x, y, n):
        self.launch("add", ("*fp32", "*fp32", "i32"), (x, y, n))
