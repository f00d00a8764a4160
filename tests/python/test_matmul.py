"""wm.matmul of numpy arrays on the virtual GPU."""

import ctypes
import unittest
from unittest.mock import patch

import ml_dtypes
import numpy as np
import warpmill as wm
from warpmill import _library


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def error(result, expected):
    result, expected = np.asarray(result, np.float64), np.asarray(expected, np.float64)
    return np.linalg.norm(result - expected) / max(np.linalg.norm(expected), 1e-30)


class Launched(_library.Sized):
    _fields_ = [("size", ctypes.c_size_t), ("plan", ctypes.c_char_p), ("path", ctypes.c_char_p)]


def path_of(*operands, **options):
    """A product, and who brought its operands."""
    paths, gemm = [], _library.lib.wm_gemm

    def watched(stream, request, ignored):
        launched = Launched()
        status = gemm(stream, request, ctypes.byref(launched))
        paths.append(launched.path.decode())  # the text goes with the thread's next call
        return status

    with patch.object(_library.lib, "wm_gemm", watched):
        return wm.matmul(*operands, **options), paths[0]


class Matmul(unittest.TestCase):
    def test_every_type_is_right(self):
        for dtype, bound in ((ml_dtypes.bfloat16, 3e-3), (np.float16, 4e-4), (np.float32, 1e-3)):
            a, b = random(40, 72, dtype=dtype), random(72, 24, dtype=dtype, seed=1)
            y = wm.matmul(a, b)
            self.assertEqual(y.dtype, np.dtype(dtype))
            self.assertLess(error(y, a.astype(np.float64) @ b.astype(np.float64)), bound)

    def test_small_floats_take_scales_and_give_bf16(self):
        a = random(32, 64).astype(ml_dtypes.float8_e4m3fn)
        b = random(48, 64, seed=1).astype(ml_dtypes.float8_e5m2)
        rows, columns = random(32, 1) ** 2, random(1, 48, seed=2) ** 2
        y = wm.matmul(a, b.T, scale_a=rows, scale_b=columns)
        self.assertEqual(y.dtype, np.dtype(ml_dtypes.bfloat16))
        self.assertLess(error(y, (a.astype(np.float64) @ b.astype(np.float64).T) * rows * columns), 4e-3)

    def test_integers_are_exact(self):
        a = np.arange(-32, 32, dtype=np.int8).reshape(4, 16)
        y = wm.matmul(a, a.T)
        self.assertEqual(y.dtype, np.int32)
        np.testing.assert_array_equal(y, a.astype(np.int32) @ a.T.astype(np.int32))

    def test_shapes_are_numpys(self):
        shapes = [((3,), (3,)), ((3,), (3, 5)), ((4, 3), (3,)), ((2, 4, 3), (3, 5)), ((2, 1, 4, 3), (6, 3, 5)),
                  ((2, 4, 3), (2, 3, 5)), ((2, 4, 3), (3,))]
        for first, second in shapes:
            a, b = random(*first), random(*second, seed=1)
            y = wm.matmul(a, b)
            self.assertEqual(y.shape, (a @ b).shape, (first, second))
            self.assertLess(error(y, a @ b), 2e-3, (first, second))

    def test_any_strides_are_read_as_they_are(self):
        a, b = random(64, 96), random(48, 96, seed=1)
        for x, y in ((a, b.T), (a[::2, ::-1], b.T), (a.T[:, :48], b), (a[8:24, 4:], b.T[4:])):
            self.assertLess(error(wm.matmul(x, y), x @ y), 1e-3)

    def test_odd_rows_are_copied_to_aligned_ones_unless_told_not_to(self):
        a, b = random(16, 1003), random(16, 1003, seed=1)
        for align, words in ((True, "copied to aligned lines"), (False, "threads, element by element")):
            y, path = path_of(a, b.T, align=align)
            self.assertIn(words, path)
            self.assertLess(error(y, a @ b.T), 1e-3, path)

    def test_the_epilogue_is_in_order(self):
        a, b, c, bias = random(16, 32), random(32, 8, seed=1), random(16, 8, seed=2), random(8, seed=3)
        y = wm.matmul(a, b, bias=bias, c=c, alpha=0.5, beta=2.0, activation="relu")
        self.assertLess(error(y, np.maximum(0.5 * (a @ b) + 2 * c + bias, 0)), 1e-3)
        y = wm.matmul(a, b, activation="x * sigmoid(1.702f * x)")
        x = a @ b
        self.assertLess(error(y, x / (1 + np.exp(-1.702 * x))), 2e-3)

    def test_out_is_filled_and_given_back(self):
        a, out = random(16, 16), np.full((16, 40), 7, np.float32)
        part = out[:, 3:19]
        self.assertIs(wm.matmul(a, a, out=part), part)
        self.assertLess(error(part, a @ a), 1e-3)
        self.assertTrue((out[:, :3] == 7).all() and (out[:, 19:] == 7).all())

    def test_nothing_to_do_is_done(self):
        self.assertEqual(wm.matmul(random(0, 8), random(8, 4)).shape, (0, 4))

    def test_refusals_say_what_and_why(self):
        a = random(8, 8)
        for arguments, options, kind, words in (
                ((a, a[:3]), {}, ValueError, "the shapes do not fit"),
                ((a, a.astype(np.float16)), {}, ValueError, "a holds f32 and b holds f16"),
                ((a.astype(complex), a), {}, TypeError, "complex128"),
                ((a.astype(np.float64), a.astype(np.float64)), {}, ValueError, "f64"),
                ((a, a), {"bias": a[0, :3]}, ValueError, "must have 8"),
                ((a, a), {"activation": "x; y"}, ValueError, "no expression"),
                ((a, a), {"out": np.zeros((3, 3), np.float32)}, ValueError, r"\(3, 3\)"),
                ((a, a), {"out_dtype": "complex64"}, TypeError, "complex64"),
                ((a, a), {"device": "cuda:77"}, RuntimeError, "no such device"),
                ((a, a), {"device": 3}, TypeError, "'cuda:0'"),
                ((a, a), {"plan": "999x999"}, ValueError, "plan"),
                (([1.0], a), {}, TypeError, "is a list"),
                ((np.float32(1), a), {}, TypeError, "float32"),
                ((np.zeros(()), a), {}, ValueError, "no dimension")):
            with self.assertRaisesRegex(kind, words):
                wm.matmul(*arguments, **options)

    def test_another_chip_serves_too(self):
        a = random(16, 16, dtype=np.float16)
        self.assertLess(error(wm.matmul(a, a, device="virtual:sm_80"), a.astype(np.float64) @ a), 1e-3)


if __name__ == "__main__":
    unittest.main()
