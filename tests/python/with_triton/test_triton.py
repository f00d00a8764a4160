"""warpmill.triton with Triton itself: kernels of both its languages, compiled and run, right and wrong ones."""

import logging
import unittest

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
import warpmill.triton as virtual
from triton.tools.tensor_descriptor import TensorDescriptor

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
THOROUGH = {"modes": ("friendly", "random", "adversarial"), "seeds": 2}
logging.getLogger("warpmill").setLevel(logging.ERROR)  # Triton leaves fences out by the dozen: docs/findings.md


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < (n if MASKED else n + BLOCK)
    tl.store(z + index, tl.load(x + index, mask=mask) + tl.load(y + index, mask=mask), mask=mask)


@triton.jit
def product(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns, depth = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        inside = start + depth < k
        left = tl.load(a + rows[:, None] * k + (start + depth)[None, :], (rows < m)[:, None] & inside[None, :], 0.0)
        right = tl.load(b + (start + depth)[:, None] * n + columns[None, :], inside[:, None] & (columns < n)[None, :], 0.0)
        sums = tl.dot(left, right, sums)
    tl.store(c + rows[:, None] * n + columns[None, :], sums.to(c.dtype.element_ty), (rows < m)[:, None] & (columns < n)[None, :])


@triton.jit
def product_of_tiles(a, b, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        sums = tl.dot(a.load([row, start]), b.load([start, column]), sums)
    c.store([row, column], sums.to(tl.bfloat16))


@triton.jit
def scalars(out, small, large, unsigned, flag, half: tl.float16, single, double: tl.float64, brain: tl.bfloat16,
            NUMBER: tl.constexpr):
    tl.store(out, small.to(tl.float64))
    tl.store(out + 1, large.to(tl.float64))
    tl.store(out + 2, unsigned.to(tl.float64))
    tl.store(out + 3, flag.to(tl.float64))
    tl.store(out + 4, half.to(tl.float64))
    tl.store(out + 5, single.to(tl.float64))
    tl.store(out + 6, double)
    tl.store(out + 7, brain.to(tl.float64))
    tl.store(out + 8, NUMBER * 1.0)


@triton.jit(repr=lambda specialization: "under_another_name")
def renamed(x):
    tl.store(x, 5.0)


@triton.jit
def fill(arrays, value, N: tl.constexpr):
    for each in tl.static_range(len(arrays)):
        tl.store(arrays[each] + tl.arange(0, N), value + each)


@triton.jit
def double(x, N: tl.constexpr):
    index = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(x + index, tl.load(x + index) * 2)


@triton.jit
def copy_of_tiles(a, b):
    b.store([0, 0], a.load([0, 0]))


@triton.jit
def fill_once(x, value, N: tl.constexpr):  # in one test alone: Triton keeps what it has compiled
    tl.store(x + tl.arange(0, N), value)


@triton.jit
def fill_through(addresses, N: tl.constexpr):
    where = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(where + tl.arange(0, N), 7.0)


tuned_product = triton.autotune([triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_stages=9),  # too much shared memory
                                 triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_stages=2),
                                 triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_stages=2)], key=["k"])(product)


@triton.jit
def row_sums(x, out, n, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * n + columns, columns < n, -float("inf"))
    numerator = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * n + columns, numerator / tl.sum(numerator, 0), columns < n)


def random(*shape, dtype=np.float32):
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(dtype)


class OnEveryArchitecture(unittest.TestCase):
    def each(self, **judged):
        for name in ARCHITECTURES:
            with self.subTest(name):
                virtual.use(f"virtual:{name}", **judged)
                yield name

    def test_elements_with_a_tail(self):
        x, y = random(1000), random(1000)
        for _ in self.each(judge=True, **THOROUGH):
            z = np.full(1100, np.nan, np.float32)
            add[(8,)](*map(virtual.pointer, (x, y, z)), 1000, BLOCK=128, MASKED=True)
            np.testing.assert_array_equal(z[:1000], x + y)
            self.assertTrue(np.isnan(z[1000:]).all())

    def test_a_mask_that_is_forgotten_is_an_error_at_its_line_in_python(self):
        x, y, z = random(1000), random(1000), random(1000)
        for _ in self.each(judge=True):
            with self.assertRaisesRegex(virtual.Flawed, r"out-of-bounds(.|\n)*test_triton\.py:\d+") as caught:
                add[(8,)](*map(virtual.pointer, (x, y, z)), 1000, BLOCK=128, MASKED=False)
            self.assertFalse(caught.exception.report.clean)

    def test_products_with_tails(self):
        for _ in self.each(judge=True, **THOROUGH):
            for dtype, bound in ((np.float16, 2e-3), (ml_dtypes.bfloat16, 1e-2), (np.float32, 5e-3)):
                a, b, c = random(70, 100, dtype=dtype), random(100, 50, dtype=dtype), np.full((70, 50), np.nan, dtype)
                product[(2, 1)](*map(virtual.pointer, (a, b, c)), 70, 50, 100, BM=64, BN=64, BK=32)
                wanted = a.astype(np.float64) @ b.astype(np.float64)
                self.assertLess(np.abs(c.astype(np.float64) - wanted).max() / np.abs(wanted).max(), bound, dtype)

    def test_softmax(self):
        x = random(5, 100)
        for _ in self.each(judge=True, **THOROUGH):
            out = np.full_like(x, np.nan)
            row_sums[(5,)](virtual.pointer(x), virtual.pointer(out), 100, BLOCK=128)
            wanted = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
            np.testing.assert_allclose(out, wanted / wanted.sum(1, keepdims=True), rtol=1e-5)


class TensorMaps(unittest.TestCase):
    def test_products_through_descriptors_of_the_host(self):
        a, b = random(256, 128, dtype=ml_dtypes.bfloat16), random(128, 128, dtype=ml_dtypes.bfloat16)
        wanted = a.astype(np.float64) @ b.astype(np.float64)
        for name in ARCHITECTURES:
            with self.subTest(name):
                virtual.use(f"virtual:{name}", judge=True, **THOROUGH)
                c = np.full((256, 128), np.nan, ml_dtypes.bfloat16)
                maps = [TensorDescriptor.from_tensor(virtual.pointer(each), box)
                        for each, box in ((a, [128, 64]), (b, [64, 64]), (c, [128, 64]))]
                product_of_tiles[(2, 2)](*maps, 128, BM=128, BN=64, BK=64)
                self.assertLess(np.abs(c.astype(np.float64) - wanted).max() / np.abs(wanted).max(), 1e-2)

    def test_clusters(self):
        a, b = random(256, 64, dtype=np.float16), random(64, 64, dtype=np.float16)
        virtual.use("virtual:sm_90a", judge=True)
        c = np.full((256, 64), np.nan, np.float16)
        product[(2, 1)](*map(virtual.pointer, (a, b, c)), 256, 64, 64, BM=128, BN=64, BK=64, num_ctas=2)
        np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=0.05)


class Arguments(unittest.TestCase):
    def setUp(self):
        virtual.use("virtual:sm_90a")

    def test_numbers_of_every_kind(self):
        out = np.full(9, np.nan)
        scalars[(1,)](virtual.pointer(out), -5, -(1 << 40), (1 << 64) - 2048, True, 0.5, 1.25, 3.1, 2.0, NUMBER=11)
        np.testing.assert_allclose(out, [-5, -(1 << 40), (1 << 64) - 2048, 1, 0.5, 1.25, 3.1, 2, 11], rtol=1e-7)

    def test_a_kernel_under_another_name(self):
        x = np.zeros(1, np.float32)
        renamed[(1,)](virtual.pointer(x))
        self.assertEqual(x[0], 5)

    def test_tuples_and_missing_tensors(self):
        arrays = [np.zeros(32, np.float32) for _ in range(3)]
        fill[(1,)](tuple(map(virtual.pointer, arrays)), 4.0, N=32)
        self.assertEqual([each.tolist() for each in arrays], [[4.0] * 32, [5.0] * 32, [6.0] * 32])

    def test_views_reach_all_of_their_array_and_nothing_behind_it(self):
        whole = np.zeros(96, np.float32)
        fill[(1,)]((virtual.pointer(whole[32:64]),), 3.0, N=32)
        self.assertEqual(whole.tolist(), [0.0] * 32 + [3.0] * 32 + [0.0] * 32)

    def test_addresses_in_memory_need_to_be_named(self):
        arrays = [np.zeros(32, np.float32) for _ in range(2)]
        table = np.array([each.ctypes.data for each in arrays], np.int64)
        with self.assertRaisesRegex(RuntimeError, r"lie in no allocation(.|\n)*reachable\(\)"):
            fill_through[(2,)](virtual.pointer(table), N=32)
        with virtual.reachable(*arrays):
            fill_through[(2,)](virtual.pointer(table), N=32)
        self.assertEqual([each.tolist() for each in arrays], [[7.0] * 32] * 2)

    def test_a_launcher_is_made_once(self):
        driver, made = triton.runtime.driver.active, []
        driver.launcher_cls = lambda *what: made.append(virtual.Launcher(*what)) or made[-1]
        x = np.zeros(32, np.float32)
        for value in (3.0, 4.0, 5.0):
            fill_once[(1,)](virtual.pointer(x), value, N=32)
        self.assertEqual((len(made), x.tolist()), (1, [5.0] * 32))

    def test_autotune_takes_the_first_that_can_be_launched(self):
        a, b, c = random(64, 256, dtype=np.float16), random(256, 64, dtype=np.float16), np.zeros((64, 64), np.float16)
        tuned_product[lambda meta: (triton.cdiv(64, meta["BM"]), triton.cdiv(64, meta["BN"]))](
            *map(virtual.pointer, (a, b, c)), 64, 64, 256)
        self.assertEqual(tuned_product.best_config.kwargs, {"BM": 32, "BN": 32, "BK": 32})
        np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=0.1)

    def test_autotune_resets_and_restores_and_types_are_reinterpreted(self):
        for how in ({"reset_to_zero": ["x"]}, {"restore_value": ["x"]}):
            x = np.arange(32, dtype=np.float32)
            grow = triton.autotune([triton.Config({"N": 32}), triton.Config({"N": 16})], key=[], **how)(double)
            grow[(1,)](virtual.pointer(x))
            self.assertEqual(x.tolist(), [0.0] * 32 if "reset_to_zero" in how else [2.0 * i for i in range(32)])
        whole = np.zeros(32, np.int32)
        fill[(1,)]((triton.reinterpret(virtual.pointer(whole), tl.float32),), 3.0, N=32)
        self.assertEqual(whole.view(np.float32).tolist(), [3.0] * 32)

    def test_arrays_for_reading(self):
        x, y = random(64, 64), random(64, 64)
        z = np.zeros((64, 64), np.float32)
        for each in (x, y):
            each.flags.writeable = False
        judged = {"judge": True, **THOROUGH}
        for how in ({}, judged):
            virtual.use("virtual:sm_90a", **how)
            add[(1,)](virtual.pointer(x.T), virtual.pointer(y[:, ::2]), virtual.pointer(z), 64, BLOCK=64, MASKED=True)
            np.testing.assert_array_equal(z[0], x.T.T[0] + y[0])
            failure = (virtual.Flawed, RuntimeError)[not how]
            with self.assertRaisesRegex(failure, "lends for reading cannot be written(.|\n)*of `z` of 16384 bytes"):
                add[(1,)](*map(virtual.pointer, (z, z, y)), 64, BLOCK=64, MASKED=True)
            maps = [TensorDescriptor.from_tensor(virtual.pointer(each), [64, 64]) for each in (z, x)]
            with self.assertRaisesRegex(failure, "tensor copy: memory that .* for reading cannot be written"):
                copy_of_tiles[(1,)](*maps)

    def test_check_reports_and_judges_once(self):
        x, y, z = random(1000), random(1000), random(1000)
        virtual.use("virtual:sm_90a", judge=True)
        report = virtual.check(lambda: add[(8,)](*map(virtual.pointer, (x, y, z)), 1000, BLOCK=128, MASKED=False))
        self.assertIn("out-of-bounds", {each.name for each in report.findings})
        self.assertTrue(virtual.check(
            lambda: add[(8,)](*map(virtual.pointer, (x, y, z)), 1000, BLOCK=128, MASKED=True)).clean)
        ones = np.ones(256, np.float32)
        report = virtual.check(lambda: [double[(2,)](virtual.pointer(ones), N=128) for _ in range(3)])
        self.assertTrue(report.clean, report)
        self.assertEqual((report.runs, ones.tolist()), (21, [8.0] * 256))


if __name__ == "__main__":
    unittest.main()
