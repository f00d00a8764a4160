"""warpmill.triton where no Triton is installed: what its driver makes of launches, by a stand-in for Triton that keeps
PTX of ours under the names of its kernels. tests/python/with_triton has the same with Triton itself."""

import importlib
import mmap
import sys
import threading
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

import ml_dtypes
import numpy as np
import warpmill as wm

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
"""


class Tensor:
    """What the driver asks a torch tensor for."""

    def __init__(self, array, where="cpu"):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape
        self.device = SimpleNamespace(type=where)

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


class WithStandIn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ptx = wm.Kernel(SOURCE, "add").on("virtual").ptx
        folder = TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        for name in ("add", "all_write", "reads_nothing", "numbers", "scratch", "corner"):
            (cls.folder / f"{name}.ptx").write_text(ptx)

    def setUp(self):
        self.modules = stand_in(self.folder)
        replaced = patch.dict(sys.modules, self.modules)
        replaced.start()
        self.addCleanup(replaced.stop)
        sys.modules.pop("warpmill.triton", None)
        self.virtual = importlib.import_module("warpmill.triton")
        self.addCleanup(sys.modules.pop, "warpmill.triton")

    def launch(self, name, signature, values, grid=(1, 1, 1), warps=1, **metadata):
        driver = self.modules["triton.runtime"].driver.active
        source = SimpleNamespace(name=name, signature=dict(zip("abcdefghijkl", signature)))
        described = SimpleNamespace(hash="", name=name, num_warps=warps, num_ctas=1, shared=0, **metadata)
        driver.launcher_cls(source, described)(*grid, 0, None, None, None, None, None, *values)


class Launches(WithStandIn):
    def add(self, x, y, n):
        self.launch("add", ("*fp32", "*fp32", "i32"), (x, y, n))

    def test_tensors_are_read_and_written_where_they_lie(self):
        self.virtual.use("virtual:sm_90a")
        x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
        self.add(Tensor(x), self.virtual.pointer(y), 7)
        self.assertEqual(x.tolist(), [1, 2, 3, 4, 5, 6, 7, 7])
        self.add(Tensor(x[4:]), Tensor(x[:4]), 4)  # of one storage
        self.assertEqual(x.tolist(), [1, 2, 3, 4, 6, 8, 10, 11])
        y.flags.writeable = False
        self.add(Tensor(x), self.virtual.pointer(y), 1)
        self.assertEqual(x[0], 2)

    def test_what_no_kernel_can_take_is_refused(self):
        self.virtual.use("virtual:sm_90a")
        x = np.zeros(8, np.float32)
        for wrong, error, words in ((Tensor(x, "cuda"), ValueError, "`a` is on cuda; .*take tensors on the CPU"),
                                    ("x", TypeError, "`a` is a str and no tensor")):
            with self.assertRaisesRegex(error, words):
                self.add(wrong, Tensor(x), 8)
        with self.assertRaisesRegex(TypeError, "pointer.. takes a numpy array, and this is a list"):
            self.virtual.pointer([1.0])
        with self.assertRaisesRegex(RuntimeError, "Triton's cache has no PTX of absent"):
            self.launch("absent", (), ())
        with self.assertRaisesRegex(NotImplementedError, "nothing to measure"):
            self.modules["triton.runtime"].driver.active.get_device_interface()

    def test_memory_is_given_back_after_a_failure(self):
        self.virtual.use("virtual:sm_90a")
        x, y = np.zeros(8, np.float32), np.zeros(4, np.float32)
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "are 0 bytes past the end of `b` of 16 bytes"):
                self.add(Tensor(x), Tensor(y), 8)
        self.add(Tensor(x), Tensor(x), 8)

    def test_addresses_found_elsewhere_are_named(self):
        self.virtual.use("virtual:sm_90a")
        x, both = np.zeros(4, np.float32), np.ones(8, np.float32)
        both.flags.writeable = False  # it is where it lies all the same
        with self.virtual.reachable(both):
            self.launch("add", ("*fp32", "u64", "i32"), (Tensor(x), both.ctypes.data, 4))
            with self.virtual.reachable(Tensor(x)), self.assertRaisesRegex(TypeError, "`reachable 1` is a list"):
                with self.virtual.reachable(x, []):
                    self.fail("it must not come so far")
            other = threading.Thread(target=lambda: self.assertRaises(RuntimeError, self.launch, "add", (
                "*fp32", "u64", "i32"), (Tensor(x), both.ctypes.data, 4)))  # it has named nothing
            other.start()
            other.join()
        self.assertEqual(x.tolist(), [1] * 4)
        with self.assertRaisesRegex(RuntimeError, r"lie in no allocation(.|\n)*reachable\(\)"):
            self.launch("add", ("*fp32", "u64", "i32"), (Tensor(x), both.ctypes.data, 4))

    def test_numbers_as_the_kernel_takes_them(self):
        self.virtual.use("virtual:sm_90a")
        out = np.full(10, np.nan)
        half, brain = int(np.float16(1.7).view(np.uint16)), int(np.float32(1.7).view(np.uint32)) >> 16  # Triton cuts off
        self.assertNotEqual(brain, int(np.array(1.7, ml_dtypes.bfloat16).view(np.uint16)))
        self.launch("numbers", ("*fp64", "i1", "i16", "i64", ("u64", "constexpr", "fp32"), "fp64", "fp16", "bf16"),
                    (Tensor(out), True, -3, -(1 << 40), ((1 << 64) - 2048, 9, 0.5), 0.1, 1.7, 1.7))
        self.assertEqual(out.tolist(), [1, -3, -(1 << 40), (1 << 64) - 2048, 0.5, 0.1, half, brain, 0, 0])
        self.launch("numbers", ("*fp64", "i8", "i16", "i64", "u64", "fp32", "fp64", "fp16", "bf16"),
                    (Tensor(out), -1, 0, 0, 0, 1e40, -1e308, 0, 1e40))
        self.assertEqual(out.tolist(), [-1, 0, 0, 0, np.inf, -1e308, 0, 0x7F80, 0, 0])

    def test_scratch_for_every_block(self):
        self.virtual.use("virtual:sm_90a")
        out = np.full(6, np.nan)
        self.launch("scratch", ("*fp64",), (Tensor(out),), grid=(2, 3, 1), global_scratch_size=16)
        self.assertEqual(out.tolist(), [10, 11, 12, 13, 14, 15])
        self.launch("scratch", ("*fp64",), (Tensor(out),), grid=(0, 3, 1), global_scratch_size=16)  # no blocks: no launch

    def test_descriptors_become_tensor_maps(self):
        self.virtual.use("virtual:sm_90a")
        how = {"swizzle": 0, "elem_size": 4, "elem_type": 7, "block_size": [8, 8], "fp4_padded": False, "is_im2col": False}
        x, out = np.arange(10 * 12, dtype=np.float32).reshape(10, 12), np.full(66, np.nan, np.float32)
        described = SimpleNamespace(base=Tensor(x), shape=x.shape, strides=(12, 1), padding="zero")
        self.launch("corner", ("*fp32", "tensordesc<fp32[8, 8]>"), (Tensor(out), described), tensordesc_meta=[how])
        wanted = np.zeros((8, 8), np.float32)
        wanted[:4, :4] = x[-4:, -4:]
        np.testing.assert_array_equal(out[:64].reshape(8, 8), wanted)
        self.assertEqual(out[64:].tolist(), [12, 1])
        described.padding = "nan"
        self.launch("corner", ("*fp32", "tensordesc<fp32[8, 8]>"), (Tensor(out), described), tensordesc_meta=[how])
        self.assertEqual(int(np.isnan(out[:64]).sum()), 48)
        described.strides = (13, 1)
        with self.assertRaisesRegex(ValueError, "stride"):
            self.launch("corner", ("*fp32", "tensordesc<fp32[8, 8]>"), (Tensor(out), described), tensordesc_meta=[how])


class Judged(WithStandIn):
    def test_an_error_raises_and_every_run_begins_with_the_same_memory(self):
        self.virtual.use("virtual:sm_90a", judge=True, modes=("friendly", "adversarial"), seeds=3)
        x, y = np.zeros(8, np.float32), np.ones(8, np.float32)
        self.launch("add", ("*fp32", "*fp32", "i32"), (Tensor(x), Tensor(y), 8))
        self.assertEqual(x.tolist(), [1] * 8)
        with self.assertRaisesRegex(self.virtual.Flawed, r"add:\n(.|\n)*error\[out-of-bounds\]") as caught:
            self.launch("add", ("*fp32", "*fp32", "i32"), (Tensor(x), Tensor(y), 9))
        self.assertFalse(caught.exception.report.clean)
        self.assertEqual(x.tolist(), [2] * 8)

    def test_memory_is_judged_wherever_it_lies(self):
        below_2_gb = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40)  # MAP_32BIT
        for x in (np.frombuffer(below_2_gb, np.float32), np.zeros(1024, np.float32)):
            self.virtual.use("virtual:sm_90a", judge=True)
            with self.assertRaisesRegex(self.virtual.Flawed, "global-race"):
                self.launch("all_write", ("*fp32",), (Tensor(x),), warps=2)
            x[:] = 0
            with self.assertLogs("warpmill", "WARNING") as logged:  # looked at twice, for what comes of it
                self.launch("reads_nothing", ("*fp32",), (Tensor(x),))
            self.assertIn("warning[uninitialised-read]", logged.output[0])
            self.assertEqual(x.tolist(), [1] * 32 + [0] * 992)

    def test_check_judges_what_a_function_launches(self):
        x, y = Tensor(np.zeros(8, np.float32)), Tensor(np.ones(8, np.float32))
        with self.assertRaisesRegex(ValueError, "call warpmill.triton.use"):
            self.virtual.check(print)
        for judge in (False, True):
            self.virtual.use("virtual:sm_90a", judge=judge)
            report = self.virtual.check(self.launch, "add", ("*fp32", "*fp32", "i32"), (x, y, 9), modes=("friendly",))
            self.assertIn("out-of-bounds", [finding.name for finding in report.findings])
        with self.assertRaises(self.virtual.Flawed):  # the judge is back
            self.launch("add", ("*fp32", "*fp32", "i32"), (x, y, 9))

    def test_modes_devices_and_versions_that_are_none(self):
        for modes in (("friendlier",), ()):
            with self.assertRaisesRegex(ValueError, "is no mode; there are friendly"):
                self.virtual.use(modes=modes)
        with self.assertRaisesRegex(NotImplementedError, "there is no virtual sm_70"):
            self.virtual.use("virtual:sm_70")
        with patch.dict(sys.modules, stand_in(self.folder, "3.4.1")):
            del sys.modules["warpmill.triton"]
            with self.assertRaisesRegex(ImportError, "3.5 and newer, and this is 3.4.1"):
                importlib.import_module("warpmill.triton")
            sys.modules["warpmill.triton"] = self.virtual

    def test_each_device_has_a_number_and_properties_of_its_own(self):
        active = self.modules["triton.runtime"].driver
        seen = {}
        for name, capability in (("sm_80", 80), ("sm_90a", 90), ("sm_120a", 120), ("sm_80", 80)):
            self.virtual.use(f"virtual:{name}:sms=3")
            driver = active.active
            self.assertEqual(driver.get_current_target(), ("cuda", capability, 32))
            self.assertEqual(driver.get_device_properties(driver.index)["multiprocessor_count"], 3)
            self.assertEqual(seen.setdefault(name, driver.index), driver.index)
            with self.assertRaisesRegex(ValueError, "use.. takes another one"):
                driver.set_current_device(0)
        self.assertEqual(len(set(seen.values())), 3)


if __name__ == "__main__":
    unittest.main()
