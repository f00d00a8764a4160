"""Arrays of other libraries, by stand-ins for their protocols, and the quick way for torch tensors."""

import gc
import unittest
from unittest.mock import Mock

import ml_dtypes
import numpy as np
import warpmill as wm
from stand_in import DEVICE, CuPyLike, JaxLike, Parameter, Tensor, on_device
from test_matmul import error, random
from warpmill import _dlpack, _fast
from warpmill._arrays import operand


class Protocols(unittest.TestCase):
    def test_cuda_array_interface_is_taken_without_a_copy(self):
        a, b = CuPyLike(random(16, 24)), CuPyLike(random(24, 8, seed=1))
        self.assertEqual(operand(a, "a", "virtual").address, a.address)
        y = wm.matmul(a, b, device="virtual")
        self.assertLess(error(y.numpy(), a.numpy() @ b.numpy()), 1e-3)
        out = CuPyLike(np.zeros((16, 8), np.float32))
        self.assertIs(wm.matmul(a, b, out=out, device="virtual"), out)
        self.assertLess(error(out.numpy(), a.numpy() @ b.numpy()), 1e-3)

    def test_its_strides_are_bytes(self):
        memory = random(8, 6)
        turned = CuPyLike(memory.reshape(6, 8), strides=(4, 24))  # the transpose of an 8 x 6 array
        self.assertEqual(operand(turned, "x", "virtual").strides, (1, 6))
        with self.assertRaisesRegex(ValueError, "multiples"):
            operand(CuPyLike(memory, strides=(23, 4)), "x", "virtual")

    def test_dlpack_goes_in_and_comes_out_without_a_copy(self):
        given = len(_dlpack._given)
        a, b = JaxLike(random(16, 24).astype(ml_dtypes.bfloat16)), JaxLike(random(24, 8).astype(ml_dtypes.bfloat16))
        y = wm.matmul(a, b)
        self.assertEqual((y.dtype, a.capsules, b.capsules), ("bfloat16", 1, 1))
        back = operand(JaxOut(y), "y")
        self.assertEqual((back.address, back.shape, back.dtype), (y.buffer.address, (16, 8), "bfloat16"))
        del back, y
        gc.collect()
        self.assertEqual(len(_dlpack._given), given, "capsules that nobody took over are freed")

    def test_a_result_is_an_operand_again(self):
        x = on_device(random(16, 16))
        y = wm.matmul(wm.matmul(x, x), x)
        self.assertLess(error(y.numpy(), x.numpy() @ x.numpy() @ x.numpy()), 3e-3)

    def test_devices_are_not_mixed(self):
        with self.assertRaisesRegex(ValueError, "a is on virtual:sm_90a and b on virtual:sm_80"):
            wm.matmul(on_device(random(8, 8)), on_device(random(8, 8), "virtual:sm_80"))

    def test_memory_of_the_host_is_refused(self):
        class OnHost:
            def __dlpack__(self, stream=None):
                raise AssertionError("nobody asks")

            def __dlpack_device__(self):
                return (1, 0)

        with self.assertRaisesRegex(ValueError, "numpy"):
            wm.matmul(OnHost(), OnHost())


class JaxOut:
    """A library that takes a result over."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class QuickWay(unittest.TestCase):
    """The part in C, with a stand-in for torch's tensors on the virtual GPU."""

    def setUp(self):
        self.gradients, self.autocast, self.streams = False, False, []

        def stream(index):
            self.streams.append(index)
            return 0

        _fast.use_torch(Tensor, Parameter, lambda: self.gradients, lambda: self.autocast, stream,
                        lambda tensor: tensor.new_empty(tensor.shape), "bfloat16", "float16", "float32",
                        DEVICE.rstrip("0123456789"))

    def test_products_and_attention_are_right(self):
        x, y, bias = random(33, 40), random(40, 24, seed=1), random(24, seed=2)
        result = wm.matmul(Tensor(x), Tensor(y), bias=Tensor(bias), activation="relu")
        self.assertIs(type(result), Tensor)
        self.assertLess(error(result.numpy(), np.maximum(x @ y + bias, 0)), 1e-3)
        out = Tensor(np.zeros((33, 24), np.float16))
        self.assertIs(wm.matmul(Tensor(x), Tensor(y), out=out), out)
        self.assertLess(error(out.numpy(), x @ y), 1e-3)
        self.assertIs(_fast.matmul(Tensor(x), Tensor(y), None, None, Tensor(x)), NotImplemented, "out of another shape")
        turned = Tensor(y.T.copy())
        turned.shape, turned._strides = y.shape, (1, 40)
        self.assertLess(error(wm.matmul(Tensor(x), turned).numpy(), x @ y), 1e-3)
        q = random(1, 2, 70, 64, dtype=np.float16)
        for causal in (False, True):
            np.testing.assert_array_equal(wm.attention(Tensor(q), Tensor(q), Parameter(q), causal=causal).numpy(),
                                          wm.attention(q, q, q, causal=causal, device=DEVICE))
        self.assertEqual(set(self.streams), {4}, "the tensors' device is asked for its stream")

    def test_what_is_not_plain_goes_the_long_way(self):
        x, weight = Tensor(random(8, 8)), Parameter(random(8, 8))
        self.assertIsNot(_fast.matmul(x, weight, None, None, None), NotImplemented)
        self.gradients = True
        self.assertIs(_fast.matmul(x, weight, None, None, None), NotImplemented)
        self.assertIsNot(_fast.matmul(x, x, None, None, None), NotImplemented)
        self.autocast = True
        self.assertIs(_fast.matmul(x, x, None, None, None), NotImplemented)
        self.autocast = False
        for other in (random(8, 8), Tensor(random(2, 8, 8)), Tensor(random(8, 8, dtype=np.float16)), Tensor(random(3, 8)),
                      None):
            self.assertIs(_fast.matmul(x, other, None, None, None), NotImplemented)

    def test_errors_come_through(self):
        x, q = Tensor(random(8, 8)), Tensor(random(1, 1, 8, 36, dtype=np.float16))
        with self.assertRaisesRegex(ValueError, "must have 8"):
            _fast.matmul(x, x, Tensor(random(3)), None, None)
        with self.assertRaisesRegex(ValueError, "head dim of 36"):
            _fast.attention(q, q, q, False)
        for error, comes_through in ((RuntimeError("a sparse tensor has no strides"), False), (KeyError("mine"), True)):
            x.stride = Mock(side_effect=error)
            if comes_through:
                with self.assertRaisesRegex(KeyError, "mine"):
                    _fast.matmul(x, x, None, None, None)
            else:
                self.assertIs(_fast.matmul(x, x, None, None, None), NotImplemented)

    def test_thousands_of_calls_leak_nothing(self):
        def resident():
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        x, q, n = Tensor(random(8, 8)), random(8, 8), wm.device(DEVICE)

        def many(times):
            for _ in range(times):
                wm.matmul(x, x)
                wm.matmul(q, q, device=n)
                with self.assertRaises(ValueError):
                    _fast.matmul(x, x, Tensor(random(3)), None, None)
                operand(JaxOut(on_device(q)), "x")

        many(1200)  # until the library's table of calls that it knows, each with its addresses, is full
        before = resident()
        many(1000)
        self.assertLess(resident() - before, 2 << 20)


if __name__ == "__main__":
    unittest.main()
