"""How the library plans products and attention."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, List, Optional

from . import _dtypes, _library
from ._arrays import Operand, dense_strides
from ._attention import Request, Window, sides
from ._devices import Device, Stream, device as open_device
from ._library import check, lib
from ._matmul import USUAL_RESULT, Product


@dataclass(frozen=True)
class Plan:
    """How a kernel would cut the work; `text` is what matmul() and attention() take as a plan."""

    text: str
    taken: bool  # by the library
    tuned: bool  # measured for this shape, not estimated
    shared_bytes: int  # of a block
    registers: int
    tiles: int
    seconds: float  # estimated

    def __str__(self) -> str:
        return f"{self.text:<28} {self.seconds * 1e6:10.1f} us{'  taken' if self.taken else ''}"


def _somewhere(shape: Any, dtype: str, on: Device, number: int) -> Operand:
    """An operand that is planned with and never read, well aligned and beside no other."""
    return Operand((number + 1) << 44, dtype, shape, dense_strides(shape), on)


def _listed(handle: int) -> List[Plan]:
    try:
        plans = []
        for index in range(lib.wm_plans_count(handle)):
            own = _library.PlanInfo()
            check(lib.wm_plans_at(handle, index, ctypes.byref(own)))
            plans.append(Plan(own.text.decode(), bool(own.taken), bool(own.tuned), own.shared_bytes, own.registers,
                              own.tiles, own.seconds))
        return plans
    finally:
        lib.wm_plans_free(handle)


def plan(operation: str, *sizes: int, dtype: Any = "bf16", out_dtype: Any = None, batch: Optional[int] = None,
         kv_heads: Optional[int] = None, keys: Optional[int] = None, value_dim: Optional[int] = None,
         causal: bool = False, window: Window = None, device: Any = None) -> List[Plan]:
    """The ranking of plans on a device, the one that the library takes first.

    plan("matmul", m, n, k) with dtype, out_dtype and batch; plan("attention", batch, heads, length, dim) with dtype,
    out_dtype, kv_heads, keys, value_dim, causal and window.

    >>> plans = wm.plan("matmul", 4096, 4096, 4096, device="virtual")
    >>> plans[0].taken, plans[0].tiles > 0, len(plans) > 10
    (True, True, True)
    >>> wm.plan("attention", 2, 16, 4096, 128, causal=True, device="virtual")[0].taken
    True
    """
    on, kind = open_device(device), _dtypes.required(dtype, "dtype")
    result = _dtypes.required(out_dtype, "out_dtype") if out_dtype is not None else USUAL_RESULT.get(kind, kind)
    if operation == "matmul" and len(sizes) == 3:
        m, n, k = sizes
        front = () if batch is None else (batch,)
        b = _somewhere(front + (n, k), kind, on, 1)  # as weights lie
        order = tuple(range(len(front))) + (len(front) + 1, len(front))
        b = b.like([b.shape[i] for i in order], [b.strides[i] for i in order])
        product = Product(_somewhere(front + (m, k), kind, on, 0), b, _somewhere(front + (m, n), result, on, 2), None)
        with Stream(on) as stream:
            return _listed(_library.handle(lib.wm_plans_gemm, stream.handle, ctypes.byref(product.request)))
    if operation == "attention" and len(sizes) == 4:
        batches, heads, length, dim = sizes
        there, last, others = keys or length, value_dim or dim, kv_heads or heads
        shapes = [(batches, heads, length, dim), (batches, others, there, dim), (batches, others, there, last)]
        operands = [_somewhere(shape, kind, on, number) for number, shape in enumerate(shapes)]
        request = Request(operands, _somewhere((batches, heads, length, last), result, on, 3))
        request.mask(*sides(causal, window), "beginnings")
        with Stream(on) as stream:
            return _listed(_library.handle(lib.wm_plans_attention, stream.handle, ctypes.byref(request.struct)))
    raise ValueError(f"plan({operation!r}, {', '.join(map(str, sizes))}): it is plan('matmul', m, n, k) or "
                     "plan('attention', batch, heads, length, dim)")
