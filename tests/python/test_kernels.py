"""Kernels of the caller's own, tensor maps, plans and the judge."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import warpmill as wm

ROOT = Path(os.environ["WARPMILL_TEST_ROOT"])

SCALE = """
template <int times> __global__ void scale(float* x, float factor, int elements) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) x[i] *= factor * times;
}
"""


class Kernels(unittest.TestCase):
    def test_a_template_with_numbers_of_every_kind(self):
        x = np.arange(100, dtype=np.float32)
        wm.Kernel(SCALE, "scale<3>")[(2, 1), 64](x, 0.5, 100)
        np.testing.assert_array_equal(x, np.arange(100, dtype=np.float32) * 1.5)
        wm.Kernel(SCALE, "scale<1>")[2, 64](x, np.float32(2), np.int32(100))
        np.testing.assert_array_equal(x, np.arange(100, dtype=np.float32) * 3)

    def test_defines_and_strides_reach_the_kernel(self):
        source = 'extern "C" __global__ void set(short* x) { x[threadIdx.x] = VALUE; }'
        x = np.zeros((4, 8), np.int16).T  # as it lies in memory
        wm.Kernel(source, "set", defines={"VALUE": 7})[1, 8](x)
        self.assertEqual(x[:, 0].tolist(), [7] * 8)
        self.assertEqual(int(x.sum()), 56)

    def test_an_array_given_twice_is_one_memory_and_overlapping_ones_are_refused(self):
        source = 'extern "C" __global__ void both(float* x, float* y) { if (threadIdx.x) y[3] = 2; else x[1] = 1; }'
        kernel, x = wm.Kernel(source, "both"), np.zeros(4, np.float32)
        kernel[1, 2](x, x)
        self.assertEqual(x.tolist(), [0, 1, 0, 2])
        for other in (x[:], x[::-1], x[3:]):
            with self.assertRaisesRegex(ValueError, "argument 2 overlaps another array"):
                kernel[1, 2](x, other)
        with self.assertRaisesRegex(ValueError, "overlaps"):
            wm.check(kernel[1, 2], x, x[1:])
        pairs = np.zeros((4, 2), np.float32)
        kernel[1, 2](pairs[:, 0], pairs[:, 1])  # one between the other's elements, but none in common
        self.assertEqual(pairs.T.tolist(), [[0, 1, 0, 0], [0, 0, 0, 2]])
        x.flags.writeable = False
        kernel[1, 2](x, x[:])  # nothing comes back

    def test_the_compiler_is_asked_and_answers(self):
        kernel = wm.Kernel(SCALE, "scale<2>")
        self.assertIn(".entry", kernel.on("virtual").ptx)
        with self.assertRaisesRegex(RuntimeError, "broken.cu"):
            wm.Kernel("nonsense", "x", name="broken.cu").on("virtual")
        with self.assertRaisesRegex(RuntimeError, "scale"):
            wm.Kernel(SCALE.replace("template <int times>", 'extern "C"').replace("* times", ""), "absent").on("virtual")

    def test_ptx_of_another_compiler_is_launched_and_judged(self):
        ptx = wm.Kernel(SCALE, "scale<2>").on("virtual").ptx
        entry = next(line for line in ptx.splitlines() if ".entry" in line).split()[-1].rstrip("(")
        kernel, x = wm.Kernel.of_ptx(ptx, entry), np.ones(4, np.float32)
        kernel[1, 32](x, 1.5, 4)
        self.assertEqual(x.tolist(), [3] * 4)
        self.assertTrue(wm.check(kernel[1, 32], x, 1.5, 4).clean)
        report = wm.check(kernel[1, 32], x, 1.5, 5)
        self.assertEqual({finding.name for finding in report.findings}, {"out-of-bounds"})
        with self.assertRaisesRegex(RuntimeError, "absent"):
            wm.Kernel.of_ptx(ptx, "absent")[1, 32](x, 1.5, 4)
        with self.assertRaisesRegex(RuntimeError, "mine.ptx"):
            wm.Kernel.of_ptx(ptx.replace("ret;", "nonsense;"), entry, name="mine.ptx").on("virtual")

    def test_what_the_library_tells_is_logged(self):
        source = f'extern "C" __global__ void once() {{}} // {os.urandom(8).hex()}'  # not in the cache
        with self.assertLogs("warpmill", "INFO") as logged:
            wm.Kernel(source, "once", name="fresh.cu").on("virtual")
        self.assertIn("fresh.cu", logged.output[0])

    def test_refusals_say_what_and_why(self):
        kernel, x = wm.Kernel(SCALE, "scale<2>"), np.zeros(4, np.float32)
        for launch, arguments, words in ((kernel[1, 5000], (x, 1.0, 4), "5000"), (kernel[1, 32], (x, 1.0), "2 arguments"),
                                         (kernel[1, 32], (x, x, 4), "argument 2 of 3"),
                                         (kernel[1, 32, 3], (x, 1.0, 4), "cluster")):
            with self.assertRaisesRegex(ValueError, words):
                launch(*arguments)
        with self.assertRaisesRegex(ValueError, r"kernel\[grid, block\]"):
            kernel[1]


class TensorMaps(unittest.TestCase):
    def test_the_copy_engine_reads_and_writes_what_the_maps_say(self):
        source = (ROOT / "examples/first_light/tma_copy.cu").read_text()
        x = np.random.default_rng(0).random((100, 76), np.float32)
        y = np.zeros((100, 80), np.float32)
        part = y[:, :76]
        wm.Kernel(source, "tma_copy")[(3, 4), 64](wm.TensorMap(x, box=(32, 32)), wm.TensorMap(y, box=(32, 32)))
        np.testing.assert_array_equal(part, x)

    def test_a_map_and_its_array_are_the_same_memory(self):
        source = """
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void fill(const __grid_constant__ Map map, float* x) { x[threadIdx.x] = 3; }
"""
        x = np.zeros((8, 8), np.float32)
        wm.Kernel(source, "fill")[1, 64](wm.TensorMap(x, box=(8, 8)), x)
        self.assertTrue((x == 3).all())

    def test_two_maps_of_an_array_are_the_same_memory(self):
        source = (ROOT / "examples/first_light/tma_copy.cu").read_text()
        x = np.zeros((64, 64), np.float32)
        first = wm.TensorMap(x, box=(32, 32))
        x[:] = np.arange(64)
        wm.Kernel(source, "tma_copy")[(2, 2), 64](first, wm.TensorMap(x, box=(32, 32)))
        np.testing.assert_array_equal(x, np.tile(np.arange(64, dtype=np.float32), (64, 1)))
        fill = """
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void fill(const __grid_constant__ Map a, const __grid_constant__ Map b, float* x) { x[5] = 3; }
"""
        wm.Kernel(fill, "fill")[1, 1](first, wm.TensorMap(x, box=(8, 8)), x)
        self.assertEqual(x[0, 5], 3)
        with self.assertRaisesRegex(ValueError, "overlaps"):
            wm.Kernel(fill, "fill")[1, 1](first, first, x[0])

    def test_refusals_name_the_rule(self):
        for shape, box, options, words in (((64, 65), (8, 64), {}, "multiple of 16"),
                                           ((64, 64), (8, 300), {}, "300"), ((64, 64), (8,), {}, "1 dimensions"),
                                           ((64, 64), (8, 64), {"swizzle": "127B"}, "128B")):
            with self.assertRaisesRegex(ValueError, words):
                wm.TensorMap(np.zeros(shape, np.float16), box=box, **options)
        with self.assertRaisesRegex(ValueError, "contiguous"):
            wm.TensorMap(np.zeros((64, 64), np.float16).T, box=(8, 64))
        self.assertIn("64", str(wm.TensorMap(np.zeros((64, 64), np.float16), box=(8, 64))))


class Judge(unittest.TestCase):
    RACE = """
extern "C" __global__ void shift(float* x) {
  __shared__ float row[64];
  row[threadIdx.x] = x[threadIdx.x];
  BARRIER;
  x[threadIdx.x] = row[(threadIdx.x + 1) % 64];
}
"""

    def judged(self, barrier, **options):
        x = np.arange(64, dtype=np.float32)
        kernel = wm.Kernel(self.RACE, "shift", defines={"BARRIER": barrier}, name="shift.cu")
        report = wm.check(kernel[1, 64], x, **options)
        np.testing.assert_array_equal(x, np.arange(64))  # as it was
        return report

    def test_a_missing_barrier_is_found_at_its_lines_and_its_twin_is_clean(self):
        self.assertTrue(self.judged("__syncthreads()").clean)
        report = self.judged("")
        self.assertFalse(report.clean)
        finding = report.findings[0]
        self.assertEqual((finding.severity, {place.file for place in finding.places}), ("error", {"shift.cu"}))
        self.assertEqual({place.line for place in finding.places}, {4, 6})
        self.assertTrue(finding.help and finding.message and finding.count > 0 and report.instructions > 0)
        self.assertIn(f"error[{finding.name}]", str(finding))
        self.assertIn("1 error", str(report))

    def test_modes_and_seeds_are_runs(self):
        self.assertEqual(self.judged("__syncthreads()").runs, 7)
        self.assertEqual(self.judged("__syncthreads()", modes=["random"], seeds=5).runs, 5)
        self.assertEqual(self.judged("__syncthreads()", modes=(mode for mode in ["friendly"])).runs, 1)
        with self.assertRaisesRegex(ValueError, "friendly"):
            self.judged("", modes=["angry"])

    def test_what_a_function_raises_comes_through(self):
        with self.assertRaisesRegex(KeyError, "mine"):
            wm.check(lambda: {}["mine"])

    def test_what_runs_elsewhere_is_not_called_clean(self):
        x, kernel = np.zeros(64, np.float32), wm.Kernel(self.RACE, "shift", defines={"BARRIER": ""})
        device = "virtual:sm_90a:sms=3"
        self.assertTrue(wm.check(wm.matmul, np.ones((16, 16), np.float32), np.ones((16, 16), np.float32)).clean)
        for run in (lambda: None, lambda: kernel[1, 64](x, device=device)):
            with self.assertRaisesRegex(ValueError, "launched nothing on virtual:sm_90a, the device that is checked"):
                wm.check(run)
        self.assertFalse(wm.check(lambda: kernel[1, 64](x, device=device), device=device).clean)

    def test_a_device_does_one_check_at_a_time(self):
        with self.assertRaisesRegex(NotImplementedError, "is being checked already"):
            wm.check(lambda: self.judged(""))
        self.assertTrue(self.judged("__syncthreads()").clean)

    def test_findings_print_like_the_command_lines(self):
        report = self.judged("")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "shift.cu").write_text(self.RACE)
            case = {"module": "shift.cu", "entry": "shift", "arch": "sm_90a", "grid": [1], "block": [64],
                    "buffers": {"x": {"dtype": "f32", "shape": [64], "fill": "zeros"}}, "arguments": [{"buffer": "x"}]}
            (Path(folder) / "shift.json").write_text(json.dumps(case))
            program = subprocess.run([sys.executable, "-m", "warpmill", "check", f"{folder}/shift.json", "--define",
                                      "BARRIER="], capture_output=True, text=True)
        self.assertIn(str(report.findings[0]), program.stdout, program.stderr)


class Plans(unittest.TestCase):
    def test_a_plan_by_hand_is_one_of_the_ranking(self):
        a = np.ones((128, 64), np.float16)
        plans = wm.plan("matmul", 128, 128, 64, dtype=a.dtype, device="virtual")
        self.assertEqual([plan.taken for plan in plans[:2]], [True, False])
        self.assertTrue((wm.matmul(a, a.T, plan=plans[1].text) == 64).all())
        self.assertIn("taken", str(plans[0]))

    def test_what_cannot_be_planned_is_refused(self):
        for arguments in (("matmul", 1, 2), ("product", 1, 2, 3)):
            with self.assertRaisesRegex(ValueError, r"plan\('matmul', m, n, k\)"):
                wm.plan(*arguments)
        with self.assertRaisesRegex(ValueError, "head dim"):
            wm.plan("attention", 1, 1, 64, 84, device="virtual")


if __name__ == "__main__":
    unittest.main()
