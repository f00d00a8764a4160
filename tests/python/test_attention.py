"""wm.attention of numpy arrays on the virtual GPU."""

import unittest

import ml_dtypes
import numpy as np
import warpmill as wm
from test_matmul import error, random


def reference(q, k, v, left=None, right=None, softcap=None, scale=None, ends=False, slopes=None,
              sinks=None):
    """softmax(q k^T) v in double precision, and the logarithms of the sums; [heads, positions, dim]."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    times = q.shape[-3] // k.shape[-3]
    k, v = k.repeat(times, -3), v.repeat(times, -3)
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    queries, keys = scores.shape[-2:]
    opposite = np.arange(queries)[:, None] + (keys - queries if ends else 0)
    if slopes is not None:
        scores = scores - slopes[:, None, None] * np.abs(np.arange(keys) - opposite)
    seen = np.ones((queries, keys), bool)
    seen &= np.arange(keys) >= opposite - left if left is not None else seen
    seen &= np.arange(keys) <= opposite + right if right is not None else seen
    weights = np.where(seen, np.exp(scores), 0)
    sums = weights.sum(-1, keepdims=True) + (0 if sinks is None else np.exp(sinks)[:, None, None])
    return weights @ v / np.where(sums > 0, sums, 1), np.log(sums[..., 0])


class Attention(unittest.TestCase):
    def test_masks_heads_and_caps_are_right(self):
        q, k, v = (random(2, heads, 70, 64, dtype=np.float16, seed=heads) for heads in (4, 2, 2))
        for options, facts in (({}, {}), ({"causal": True}, {"right": 0}), ({"window": (9, 3)}, {"left": 9, "right": 3}),
                               ({"window": 5, "causal": True}, {"left": 5, "right": 0}),
                               ({"softcap": 2.0, "scale": 0.5}, {"softcap": 2.0, "scale": 0.5})):
            out, lse = wm.attention(q, k, v, return_lse=True, **options)
            expected, logarithms = reference(q, k, v, **facts)
            self.assertLess(error(out, expected), 2e-3, options)
            self.assertLess(error(lse, logarithms), 1e-3, options)

    def test_slopes_sinks_and_any_head_dim(self):
        q, k, v = (random(2, heads, 50, 40, dtype=np.float16, seed=heads) for heads in (4, 2, 2))
        slopes, sinks = np.array([0.5, 0.25, 0.1, 0.0], np.float32), np.array([1.0, -2.0, 0.0, 3.0], np.float32)
        out, lse = wm.attention(q, k, v, causal=True, return_lse=True, alibi_slopes=slopes, sinks=sinks)
        expected, logarithms = reference(q, k, v, right=0, slopes=slopes, sinks=sinks)
        self.assertLess(error(out, expected), 2e-3)
        self.assertLess(error(lse, logarithms), 1e-3)

    def test_lengths_on_the_device_and_queries_of_several_heads_in_a_tile(self):
        q, k, v = (random(2, heads, length, 64, dtype=np.float16, seed=heads) for heads, length in ((8, 3), (2, 90), (2, 90)))
        lengths = np.array([90, 31], np.int32)
        out = wm.attention(q, k, v, causal=True, align="ends", key_lengths=lengths)
        for i, keys in enumerate(lengths):
            expected, _ = reference(q[i], k[i, :, :keys], v[i, :, :keys], right=0, ends=True)
            self.assertLess(error(out[i], expected), 2e-3, keys)

    def test_e4m3_with_scales_to_any_type(self):
        q, k, v = (random(2, heads, 60, 64, dtype=np.float16, seed=heads).astype(ml_dtypes.float8_e4m3fn)
                   for heads in (4, 2, 2))
        by_head = np.array([[1.0, 2.0], [0.5, 1.5]], np.float32)
        scaled = [x.astype(np.float64) * np.repeat(by_head, x.shape[1] // 2, 1)[..., None, None] for x in (q, k, v)]
        expected, logarithms = reference(*scaled, right=0)
        one = np.ones(1, np.float32)
        for out_dtype, scale, bound in ((None, None, 0.03), (np.float16, None, 0.03), ("e4m3", 4 * one, 0.05)):
            out, lse = wm.attention(q, k, v, causal=True, return_lse=True, q_descale=by_head, k_descale=by_head,
                                    v_descale=by_head, out_dtype=out_dtype, out_scale=scale)
            self.assertEqual(str(out.dtype), {None: "bfloat16", "e4m3": "float8_e4m3fn"}.get(out_dtype, "float16"))
            self.assertLess(error(out.astype(np.float64) / (1 if scale is None else 4), expected), bound, out_dtype)
            self.assertLess(error(lse, logarithms), 1e-3)
        self.assertLess(error(wm.attention(q, k, v), reference(q, k, v)[0]), 0.03)

    def test_an_expression_that_does_not_compile_is_named_with_its_column(self):
        q = random(1, 1, 5, 64, dtype=np.float16)
        with self.assertRaisesRegex(RuntimeError, "the score 'score \\+ bias' does not compile, column 9: "):
            wm.attention(q, q, q, score="score + bias")

    def test_lengths_that_differ_are_counted_from_either_side(self):
        q = random(1, 1, 20, 64, dtype=np.float16)
        k, v = (random(1, 1, 50, 64, dtype=np.float16, seed=seed) for seed in (1, 2))
        for align in ("beginnings", "ends"):
            expected, _ = reference(q, k, v, right=0, ends=align == "ends")
            self.assertLess(error(wm.attention(q, k, v, causal=True, align=align), expected), 2e-3, align)

    def test_positions_before_heads_are_a_view_like_any_other(self):
        packed = random(2, 40, 3, 2, 64).astype(ml_dtypes.bfloat16)  # batch, positions, q k v, heads, dim
        q, k, v = packed.transpose(2, 0, 3, 1, 4)
        self.assertLess(error(wm.attention(q, k, v), reference(q, k, v)[0]), 1e-2)

    def test_sequences_of_different_lengths(self):
        lengths = [5, 33, 1]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        q, k, v = (random(heads, sum(lengths), 64, dtype=np.float16, seed=heads) for heads in (2, 1, 1))
        out, lse = wm.attention(q, k, v, causal=True, cu_seqlens_q=starts, cu_seqlens_k=starts, return_lse=True,
                                max_seqlen_q=33, max_seqlen_k=33)
        for begin, end in zip(starts, starts[1:]):
            expected, logarithms = reference(*(x[:, begin:end] for x in (q, k, v)), right=0)
            self.assertLess(error(out[:, begin:end], expected), 2e-3)
            self.assertLess(error(lse[:, begin:end], logarithms), 1e-3)

    def test_refusals_say_what_and_why(self):
        q = random(1, 1, 8, 64, dtype=np.float16)
        for arguments, options, kind, words in (
                ((q[0], q[0], q[0]), {}, ValueError, "batch x heads x length x dim"),
                ((q.astype(np.float32),) * 3, {}, ValueError, "all bf16, all f16 or all e4m3"),
                ((q, q, q), {"k_descale": np.ones(1, np.float32)}, ValueError, "k_descale is for e4m3"),
                ((q[..., :36],) * 3, {}, ValueError, "head dim of 36"),
                ((q, q, q), {"softcap": -1.0}, ValueError, "softcap"),
                ((q, q, q), {"align": "middle"}, ValueError, "'beginnings' or 'ends'"),
                ((q, q, q), {"cu_seqlens_q": np.zeros(2, np.int32)}, ValueError, "go together"),
                ((q, q, q), {"device": "virtual:sm_80"}, NotImplementedError, "sm_90a"),
                ((q, q, object()), {}, TypeError, "v is a object")):
            with self.assertRaisesRegex(kind, words):
                wm.attention(*arguments, **options)


if __name__ == "__main__":
    unittest.main()
