"""Attention."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Optional, Tuple, Union

from . import _dtypes, _fast, _library, _matmul
from ._arrays import Operand, Result, is_torch, native_stream, operand, together
from ._devices import Stream
from ._library import check, lib

Window = Union[None, int, Tuple[Optional[int], Optional[int]]]


def attention(q: Any, k: Any, v: Any, causal: bool = False, window: Window = None, softcap: Optional[float] = None,
              scale: Optional[float] = None, cu_seqlens_q: Any = None, cu_seqlens_k: Any = None,
              return_lse: bool = False, *, out: Any = None, align: str = "beginnings", max_seqlen_q: int = 0,
              max_seqlen_k: int = 0, alibi_slopes: Any = None, sinks: Any = None, key_lengths: Any = None,
              score: str = "", mask: str = "", skip: str = "", whole: str = "",
              arrays: Optional[Dict[str, Any]] = None, plan: Optional[str] = None, q_descale: Any = None,
              k_descale: Any = None, v_descale: Any = None, out_scale: Any = None, out_dtype: Any = None,
              stream: Any = None, device: Any = None) -> Any:
    """softmax(scale * q @ k^T) @ v for q[batch, heads, queries, dim], k and v[batch, kv heads, keys, dim], all bf16, f16
    or e4m3.

    Heads of k and v serve heads / kv heads of q in a row. Head dims are multiples of 8 (e4m3: of 16) up to 256. Any strides
    in multiples of 16 bytes: [batch, positions, heads, dim] is a view like any other (transpose(1, 2)).

    q_descale, k_descale, v_descale: of e4m3, what its numbers are multiplied with: float32, one number or
    [batch, kv heads]. out_dtype: of e4m3's output, bfloat16 where it is not given, float16 or float8_e4m3fn; the last is
    multiplied with out_scale, one number, before it is rounded.

    causal: query i sees keys up to i. window: how many keys to the left and to the right of its own a query sees, one
    number for both or a pair with None for all. align: which key is a query's own where lengths differ, counted from the
    "beginnings" (as in torch) or from the "ends" (as in flash_attn). softcap: scores become softcap * tanh(score /
    softcap). scale: of the scores, 1 / sqrt(dim) where there is none. return_lse: also the logarithm of each row's sum of
    exponentials, float32[batch, heads, queries].

    alibi_slopes, sinks: float32[heads]. A score loses its head's slope times the distance from the query's own key; each
    row's sum of exponentials has its head's sink as one more logit.

    score, mask, skip, whole: C++ expressions, with q, k, head, batch, queries, keys and `arrays` by name in scope. score:
    what becomes of a `score`. mask: whether query q sees key k. skip, whole: of the queries q_first to q_last and the
    keys k_first to k_last, that none sees any and that every one sees all; asked about the queries of a tile, about a
    part of these, and about one alone.

    key_lengths: int32[batch]: so many of the keys of each batch count, as of a cache with room for more.

    cu_seqlens_q, cu_seqlens_k: int32 offsets of sequences that lie one behind the other; q, k and v have no batch
    dimension then. max_seqlen_q, max_seqlen_k: the longest, where they are known; they help to choose a plan.

    >>> q = np.ones((1, 2, 5, 64), np.float16)
    >>> v = np.arange(5, dtype=np.float16).reshape(1, 1, 5, 1).repeat(64, axis=3)
    >>> wm.attention(q, q[:, :1], v, causal=True)[0, 1, :, 0]
    array([0. , 0.5, 1. , 1.5, 2. ], dtype=float16)
    >>> document = np.array([0, 0, 1, 1, 1], np.int32)
    >>> wm.attention(q, q[:, :1], v, mask="document[q] == document[k]", arrays={"document": document})[0, 1, :, 0]
    array([0.5, 0.5, 3. , 3. , 3. ], dtype=float16)
    """
    tracing = _matmul.torch_is_compiling()
    if (window is None and softcap is None and scale is None and cu_seqlens_q is None and not return_lse
            and out is None and plan is None and stream is None and align == "beginnings" and alibi_slopes is None
            and sinks is None and key_lengths is None and not (score or mask or skip or whole) and q_descale is None
            and k_descale is None and v_descale is None and out_scale is None and out_dtype is None and not tracing):
        result = _fast.attention(q, k, v, causal)
        if result is not NotImplemented:
            return result
    expressions = {"score": score, "mask": mask, "skip": skip, "whole": whole}
    scales = {"q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale, "out_scale": out_scale}
    arrays = arrays or {}
    asked = (q, k, v, causal, window, softcap, scale, cu_seqlens_q, cu_seqlens_k, return_lse, out, align, max_seqlen_q,
             max_seqlen_k, alibi_slopes, sinks, key_lengths, expressions, arrays, scales, out_dtype, plan)
    if tracing or (is_torch(q) and is_torch(k) and is_torch(v)):
        from .torch import attention_operator, needs_operator
        if tracing or needs_operator(q, k, v, alibi_slopes, sinks, *arrays.values(), *scales.values()):
            return attention_operator(*asked, stream)
    return attend(*asked, stream, device)


def sides(causal: bool, window: Window) -> Tuple[Optional[int], Optional[int]]:
    """How many keys a query sees to its left and to its right; None: all."""
    left, right = window if isinstance(window, (tuple, list)) else (window, window)
    left, right = (None if side is not None and side < 0 else side for side in (left, right))
    return left, 0 if causal else right


def attend(q: Any, k: Any, v: Any, causal: bool, window: Window, softcap: Optional[float], scale: Optional[float],
           cu_seqlens_q: Any, cu_seqlens_k: Any, return_lse: bool, out: Any, align: str, max_seqlen_q: int,
           max_seqlen_k: int, alibi_slopes: Any, sinks: Any, key_lengths: Any, expressions: Dict[str, str],
           arrays: Dict[str, Any], scales: Dict[str, Any], out_dtype: Any, plan: Optional[str], stream: Any,
           on: Any) -> Any:
    """attention() of arrays of any kind."""
    if align not in ("beginnings", "ends"):
        raise ValueError(f"align is {align!r}; it is 'beginnings' or 'ends'")
    if (cu_seqlens_q is None) != (cu_seqlens_k is None):
        raise ValueError("cu_seqlens_q and cu_seqlens_k go together, and one of them is missing")
    names = ["q", "k", "v"]
    operands = [operand(array, name, on) for array, name in zip((q, k, v), names)]
    rank = 3 if cu_seqlens_q is not None else 4
    for each, name in zip(operands, names):
        if len(each.shape) != rank:
            raise ValueError(f"{name} has {len(each.shape)} dimensions; "
                             + ("with cu_seqlens they are heads x positions x dim" if rank == 3
                                else "they are batch x heads x length x dim"))
    target = operands[0].device
    others = {name: operand(array, name, target if on is None else on)
              for array, name in ((cu_seqlens_q, "cu_seqlens_q"), (cu_seqlens_k, "cu_seqlens_k"),
                                  (alibi_slopes, "alibi_slopes"), (sinks, "sinks"), (key_lengths, "key_lengths"),
                                  *((array, name) for name, array in scales.items())) if array is not None}
    read = {name: operand(array, name, target if on is None else on) for name, array in arrays.items()}
    together(operands + list(others.values()) + list(read.values()), names + list(others) + list(read))
    shape = operands[0].shape[:-1] + operands[2].shape[-1:]
    if out_dtype is not None:
        result_type: Optional[str] = _dtypes.required(out_dtype, "out_dtype")
    elif operands[0].dtype == "float8_e4m3fn":
        result_type = "bfloat16" if out is None else None  # None: as out has it
    else:
        result_type = operands[0].dtype
    result = Result(out, q, shape, result_type, target)
    lse = Result(None, q, shape[:-1], "float32", target) if return_lse else None
    request = Request(operands, result.operand, lse.operand if lse else None, others)
    request.mask(*sides(causal, window), align)
    request.expressions(expressions, read)
    if scale is not None:
        request.struct.scale = ctypes.pointer(ctypes.c_float(scale))
    request.struct.softcap = softcap or 0.0
    request.struct.longest_queries, request.struct.longest_keys = max_seqlen_q, max_seqlen_k
    if plan is not None:
        request.struct.plan = plan.encode()
    with Stream(target, native_stream(stream, operands)) as own:
        if 0 not in shape:
            check(lib.wm_attention(own.handle, ctypes.byref(request.struct), None))
        return (result.done(own), lse.done(own)) if lse else result.done(own)


class Request:
    """A request for C, with what it points to."""

    def __init__(self, operands: Any, out: Operand, lse: Optional[Operand] = None,
                 others: Optional[Dict[str, Operand]] = None) -> None:
        self.kept = [*operands, out, lse, others]
        self.struct = _library.AttentionRequest()
        self.struct.q, self.struct.k, self.struct.v = (each.view() for each in operands)
        self.struct.out = out.view()
        if lse is not None:
            self.struct.lse = lse.view()
        for name, each in (others or {}).items():
            setattr(self.struct, {"cu_seqlens_q": "query_offsets", "cu_seqlens_k": "key_offsets"}.get(name, name),
                    each.view())

    def mask(self, left: Optional[int], right: Optional[int], align: str) -> None:
        for name, side in (("left", left), ("right", right)):
            if side is not None:
                setattr(self.struct, name, ctypes.pointer(ctypes.c_int64(side)))
        self.struct.from_beginnings = align == "beginnings"

    def expressions(self, texts: Dict[str, str], arrays: Dict[str, Operand]) -> None:
        for name, text in texts.items():
            if text:
                setattr(self.struct, name, text.encode())
        self.arrays = arrays
        self.struct.array_names = (ctypes.c_char_p * len(arrays))(*(name.encode() for name in arrays))
        self.struct.arrays = (ctypes.POINTER(_library.View) * len(arrays))(*(each.view() for each in arrays.values()))
        self.struct.array_count = len(arrays)
