"""warpmill.torch where no torch is installed: what the drop-ins and the operators hand on, by a stand-in for torch whose
tensors are numpy arrays on the virtual GPU. tests/python/gpu has the same with torch itself."""

import importlib
import re
import sys
import unittest
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

import ml_dtypes
import numpy as np
import warpmill as wm
from test_attention import reference
from test_matmul import error, random
from warpmill import _matmul


class Tensor(np.ndarray):
    """A numpy array with what the drop-ins ask a torch tensor for."""

    requires_grad = False

    def dim(self):
        return self.ndim

    def stride(self, dimension):
        return self.strides[dimension] // self.itemsize

    def transpose(self, first, second):
        return np.swapaxes(self, first, second)

    def contiguous(self):
        return np.ascontiguousarray(self).view(Tensor)

    def new_empty(self, shape, dtype):
        return np.empty(shape, dtype)


def tensor(array):
    return np.asarray(array).view(Tensor)


def stand_in():
    """A torch with no more to it than warpmill.torch needs, which remembers its operators."""
    torch = MagicMock(name="torch", Tensor=Tensor, float32=np.dtype("float32"), bfloat16=np.dtype(ml_dtypes.bfloat16),
                      float8_e4m3fn=np.dtype(ml_dtypes.float8_e4m3fn), dtype=np.dtype)
    torch.nn.Parameter = type("Parameter", (Tensor,), {})
    torch.is_grad_enabled = torch.is_autocast_enabled = torch.compiler.is_compiling = lambda: False
    torch.empty_like = lambda like, dtype: np.empty(like.shape, dtype)
    torch.schemas, torch.fakes = {}, {}
    torch.library.define = torch.schemas.__setitem__
    torch.library.impl = lambda name, key: lambda function: function
    torch.library.register_fake = lambda name: lambda function: torch.fakes.setdefault(name, function)
    return torch


class WithStandIn(unittest.TestCase):
    def setUp(self):
        self.torch = stand_in()
        for each in (patch.dict(sys.modules, torch=self.torch), patch.object(_matmul, "torch_is_compiling", None)):
            each.start()
            self.addCleanup(each.stop)
        sys.modules.pop("warpmill.torch", None)
        self.module = importlib.import_module("warpmill.torch")
        self.addCleanup(sys.modules.pop, "warpmill.torch")


class FlashAttention(WithStandIn):
    def setUp(self):
        super().setUp()
        self.calls = []

        def attention(*arrays, **options):
            self.calls.append(options)
            plain = {name: np.asarray(each) if isinstance(each, Tensor) else each for name, each in options.items()}
            if "arrays" in options:
                plain["arrays"] = {name: np.asarray(each) for name, each in options["arrays"].items()}
            return [tensor(each) for each in wm.attention(*map(np.asarray, arrays), **plain)]

        self.module._why_not = lambda *ignored: None
        self.module._attention = SimpleNamespace(attention=attention)

    def check(self, result, q, k, v, slopes, causal):
        """Against float64: positions x heads x dim of one batch, a slope for each head."""
        out, lse = result
        with np.errstate(divide="ignore"):
            expected, sums = reference(*(np.swapaxes(each, 0, 1) for each in (q, k, v)), right=0 if causal else None,
                                       ends=True, slopes=slopes)
        seen = np.isfinite(sums)  # causal queries in front of the first key see none
        self.assertLess(error(np.swapaxes(out, 0, 1), expected), 2e-3)
        self.assertLess(error(lse[seen], sums[seen]), 1e-3)

    def test_slopes_of_heads_and_of_batches_and_heads_with_lengths_that_differ(self):
        of_heads = np.array([0.5, 0.25, 0.1, 0.0], np.float32)
        of_batches = np.stack([of_heads, of_heads[::-1] * 2])
        for queries, keys in ((40, 40), (20, 75), (75, 20)):
            q, k, v = (random(2, length, heads, 64, dtype=np.float16, seed=length + i)
                       for i, (length, heads) in enumerate(((queries, 4), (keys, 2), (keys, 2))))
            for causal in (False, True):
                for slopes in (of_heads, np.broadcast_to(of_heads, (2, 4)), of_batches):
                    with self.subTest(queries=queries, keys=keys, causal=causal, slopes=slopes):
                        out, lse, _ = self.module.flash_attn_func(*map(tensor, (q, k, v)), causal=causal,
                                                                  alibi_slopes=tensor(slopes), return_attn_probs=True)
                        for i, own in enumerate(np.broadcast_to(slopes, (2, 4))):
                            self.check((out[i], lse[i]), q[i], k[i], v[i], own, causal)
                        self.assertEqual("score" in self.calls[-1], slopes is of_batches,
                                         "slopes that batches share are built in")

    def test_slopes_of_sequences(self):
        starts_q, starts_k = np.array([0, 7, 40], np.int32), np.array([0, 30, 50], np.int32)
        q, k, v = (random(length, heads, 64, dtype=np.float16, seed=heads)
                   for length, heads in ((40, 4), (50, 2), (50, 2)))
        of_heads = np.array([0.5, 0.25, 0.1, 0.0], np.float32)
        for causal in (False, True):
            for slopes in (of_heads, np.stack([of_heads, of_heads[::-1] * 2])):
                out, lse, _ = self.module.flash_attn_varlen_func(
                    *map(tensor, (q, k, v, starts_q, starts_k)), 33, 30, causal=causal, alibi_slopes=tensor(slopes),
                    return_attn_probs=True)
                for i, own in enumerate(np.broadcast_to(slopes, (2, 4))):
                    of_q, of_k = (slice(*starts[i:i + 2]) for starts in (starts_q, starts_k))
                    self.check((out[of_q], lse[:, of_q]), q[of_q], k[of_k], v[of_k], own, causal)

    def test_slopes_that_do_not_fit_are_refused(self):
        q = tensor(random(2, 8, 4, 64, dtype=np.float16))
        for slopes in (random(3), random(3, 4), random(1, 2, 4), random(4, dtype=np.float64)):
            with self.assertRaisesRegex(ValueError, r"float32 of shape \(4,\) or \(2, 4\)"):
                self.module.flash_attn_func(q, q, q, alibi_slopes=tensor(slopes))
        self.assertFalse(self.calls)


class Traced(Tensor):
    """Of a kind of its own, as torch's fake tensors are."""


class Operators(WithStandIn):
    def called(self, operator):
        """How an operator was called: each argument by the name that its schema has."""
        call = getattr(self.torch.ops.warpmill, operator).call_args
        schema = self.torch.schemas[f"warpmill::{operator}"]
        names = re.findall(r"(\w+)(?:=[^,)]*)?(?=[,)])", schema.split(" -> ")[0])
        self.assertLessEqual(set(call.kwargs), set(names))
        return {**dict(zip(names, call.args)), **call.kwargs}

    def test_attention_with_expressions_lengths_and_scales_is_seen_by_torch(self):
        self.torch.ops.warpmill.attention.return_value = ("out", "lse")
        q, v = (tensor(random(1, 2, 8, dim).astype(ml_dtypes.float8_e4m3fn)).view(Traced) for dim in (64, 32))
        document, one = tensor(np.zeros(8, np.int32)), tensor(np.ones(1, np.float32))
        result = wm.attention(q, q, v, mask="document[q] == document[k]", arrays={"document": document})
        call = self.called("attention")
        self.assertEqual((result, call["mask"], call["score"]), ("out", "document[q] == document[k]", ""))
        self.assertEqual(call["array_names"], ["document"])
        self.assertIs(call["arrays"][0], document)
        result = wm.attention(q, q, v, return_lse=True, k_descale=one, out_scale=one, out_dtype="e4m3",
                              key_lengths=document[:1])
        call = self.called("attention")
        self.assertEqual((result, call["out_dtype"], len(call["key_lengths"])), (("out", "lse"), q.dtype, 1))
        self.assertTrue(call["k_descale"] is one and call["out_scale"] is one and call["q_descale"] is None)
        tensors = [call.pop(name) for name in "qkv"]
        out, lse = self.torch.fakes["warpmill::attention"](*tensors, **call)
        self.assertEqual((out.shape, out.dtype, lse.shape), ((1, 2, 8, 32), q.dtype, (1, 2, 8)))
        with self.assertRaisesRegex(NotImplementedError, "a plan by hand"):
            wm.attention(q, q, v, plan="128x128 s2")
        with self.assertRaisesRegex(NotImplementedError, "a stream by hand"):
            wm.attention(q, q, v, stream=7)

    def test_a_function_that_torch_compiles_is_seen_too(self):
        self.torch.ops.warpmill.attention.return_value = ("out", "lse")
        _matmul.torch_is_compiling = lambda: True  # until the patch is taken away
        q = tensor(random(1, 2, 8, 64, dtype=np.float16))
        self.assertEqual(wm.attention(q, q, q, score="score + 1"), "out")
        self.assertEqual(self.called("attention")["score"], "score + 1")

    def test_products_that_are_not_to_be_aligned_are_seen_by_torch(self):
        a = tensor(random(8, 8)).view(Traced)
        for align in (True, False):
            wm.matmul(a, a, align=align)
            self.assertIs(self.called("matmul")["align"], align)


if __name__ == "__main__":
    unittest.main()
