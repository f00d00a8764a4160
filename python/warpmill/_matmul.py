"""Matrix products."""

from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Sequence, Tuple

from . import _dtypes, _fast, _library
from ._arrays import Operand, Result, is_torch, native_stream, operand, together
from ._devices import Device, Stream
from ._library import check, lib

ACTIVATIONS = ("none", "relu", "gelu_tanh", "gelu_erf", "silu")
# What a product of these operands is kept in where nothing else was asked for.
USUAL_RESULT = {"float8_e4m3fn": "bfloat16", "float8_e5m2": "bfloat16", "int8": "int32"}


def _never() -> bool:
    return False


# Whether torch.compile is reading this code; warpmill.torch puts torch's own question here.
torch_is_compiling = _never


def matmul(a: Any, b: Any, bias: Any = None, activation: Optional[str] = None, out: Any = None, out_dtype: Any = None,
           scale_a: Any = None, scale_b: Any = None, *, c: Any = None, alpha: float = 1.0, beta: float = 1.0,
           out_scale: Any = None, promote: bool = False, align: bool = True, plan: Optional[str] = None,
           stream: Any = None, device: Any = None) -> Any:
    """activation(alpha * scale_a * scale_b * (a @ b) + beta * c + bias) * out_scale, as torch.matmul has it.

    Dimensions in front of the last two are a batch and are broadcast; a vector is a row (of a) or a column (of b).
    Operands are bf16, f16, f32 (multiplied as tf32), 8-bit floats in any pair, or int8; the result has the type of the
    operands (bf16 for 8-bit floats, int32 for int8) unless `out` or `out_dtype` say otherwise.

    bias: as many as the result has columns. activation: relu, gelu_tanh, gelu_erf, silu, or a C++ expression of x.
    scale_a, scale_b: float32, one for the matrix or one for each row of a (column of b). promote: 8-bit floats are
    summed in full precision. align: operands that the copy engine cannot read where they lie are copied first, where
    that pays; False leaves them to threads, and takes no memory. plan: by hand. stream: where torch's current one, or the
    array's, is not meant. device: a virtual one for numpy arrays, or where arrays without a device lie.

    torch tensors give torch tensors, numpy arrays (computed on the virtual GPU) numpy arrays, others a DeviceArray.

    >>> x = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> wm.matmul(x, x.T, bias=np.float32([-20, 0]), activation="relu")
    array([[ 0., 14.],
           [ 0., 50.]], dtype=float32)
    """
    special = (out_dtype is not None or scale_a is not None or scale_b is not None or c is not None
               or out_scale is not None or alpha != 1.0 or promote or not align or plan is not None
               or stream is not None)
    if torch_is_compiling():
        from .torch import matmul_operator
        return matmul_operator(a, b, bias, activation, out, out_dtype, scale_a, scale_b, c, alpha, beta, out_scale,
                               promote, align, plan, stream)
    if not special and (activation is None or activation in ACTIVATIONS):
        result = _fast.matmul(a, b, bias, activation, out)
        if result is not NotImplemented:
            return result
    if is_torch(a) and is_torch(b):
        from .torch import matmul_operator, needs_operator, rows_quickly
        if needs_operator(a, b, bias, c, scale_a, scale_b, out_scale):
            return matmul_operator(a, b, bias, activation, out, out_dtype, scale_a, scale_b, c, alpha, beta, out_scale,
                                   promote, align, plan, stream)
        if not special and out is None and (activation is None or activation in ACTIVATIONS):
            result = rows_quickly(a, b, bias, activation)
            if result is not NotImplemented:
                return result
    return multiply(a, b, bias, activation, out, out_dtype, scale_a, scale_b, c, alpha, beta, out_scale, promote,
                    align, plan, stream, device)


def _merged(shape: Sequence[int], strides: Sequence[int]) -> Optional[int]:
    """The one stride that walks through all these dimensions, where there is one."""
    step: Optional[int] = None
    reach = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 1:
            continue
        if step is None:
            step = stride
        elif stride != step * reach:
            return None
        reach *= size
    return 0 if step is None else step


def _broadcast(first: Sequence[int], second: Sequence[int]) -> Tuple[int, ...]:
    longest = max(len(first), len(second))
    first, second = (1,) * (longest - len(first)) + tuple(first), (1,) * (longest - len(second)) + tuple(second)
    for x, y in zip(first, second):
        if x != y and 1 not in (x, y):
            raise ValueError(f"the batches {tuple(first)} and {tuple(second)} cannot be broadcast")
    return tuple(y if x == 1 else x for x, y in zip(first, second))


def _expanded(of: Operand, batch: Sequence[int]) -> Operand:
    """An operand with all dimensions of the batch, those that it lacks repeated."""
    missing = len(batch) - (len(of.shape) - 2)
    shape, strides = (1,) * missing + of.shape, (0,) * missing + of.strides
    steps = tuple(0 if have == 1 and want != 1 else step for have, want, step in zip(shape, batch, strides))
    return of.like(tuple(batch) + of.shape[-2:], steps + of.strides[-2:])


def _addresses(of: Operand) -> List[int]:
    """Where each matrix of the batch begins."""
    places, size = [of.address], _dtypes.BYTES[of.dtype]
    for extent, stride in zip(of.shape[:-2], of.strides[:-2]):
        places = [place + i * stride * size for place in places for i in range(extent)]
    return places


def _one_below_the_other(a: Operand, d: Operand) -> Tuple[Operand, Operand]:
    """The matrices of a batch as the rows of one, where they lie so: all are multiplied with the same matrix."""
    of_a, of_d = (_merged(each.shape[:-1], each.strides[:-1]) for each in (a, d))
    if of_a is None or of_d is None:
        return a, d
    rows = 1
    for size in a.shape[:-1]:
        rows *= size
    return (a.like((rows, a.shape[-1]), (of_a, a.strides[-1])), d.like((rows, d.shape[-1]), (of_d, d.strides[-1])))


class Product:
    """A request for C, with what it points to."""

    def __init__(self, a: Operand, b: Operand, d: Operand, c: Optional[Operand]) -> None:
        batch = d.shape[:-2]
        self.request = _library.GemmRequest()
        self.kept: List[Any] = []
        matrices = {"a": _expanded(a, batch), "b": _expanded(b, batch), "d": d}
        if c is not None:
            matrices["c"] = _expanded(c, batch)
        count = 1
        for size in batch:
            count *= size
        strides = {name: _merged(each.shape[:-2], each.strides[:-2]) for name, each in matrices.items()}
        listed = None in strides.values()
        for name, each in matrices.items():
            step = strides[name]
            if step is None or listed or not batch:
                self.set(name, each.like(each.shape[-2:], each.strides[-2:]))
            else:
                self.set(name, each.like((count,) + each.shape[-2:], (step,) + each.strides[-2:]))
            if listed:
                numbers = (ctypes.c_uint64 * count)(*_addresses(each))
                self.kept.append(numbers)
                setattr(self.request, f"batch_{name}", ctypes.cast(numbers, ctypes.POINTER(ctypes.c_uint64)))
        self.request.batch = count if listed else 0

    def set(self, name: str, value: Operand) -> None:
        self.kept.append(value)
        setattr(self.request, name, value.view())

    def number(self, name: str, value: float) -> None:
        setattr(self.request, name, ctypes.pointer(ctypes.c_float(value)))


def multiply(a: Any, b: Any, bias: Any, activation: Optional[str], out: Any, out_dtype: Any, scale_a: Any, scale_b: Any,
             c: Any, alpha: float, beta: float, out_scale: Any, promote: bool, align: bool, plan: Optional[str],
             stream: Any, on: Any) -> Any:
    """matmul() of arrays of any kind."""
    left, right = operand(a, "a", on), operand(b, "b", on)
    if not left.shape or not right.shape:
        raise ValueError("a product takes vectors and matrices, and one of these has no dimension at all")
    row, column = len(left.shape) == 1, len(right.shape) == 1
    if row:
        left = left.like((1,) + left.shape, (0,) + left.strides)
    if column:
        right = right.like(right.shape + (1,), right.strides + (0,))
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(f"the shapes do not fit: a is {left.shape} and b is {right.shape}; a's columns are as many as "
                         "b's rows")
    shape = _broadcast(left.shape[:-2], right.shape[:-2]) + (left.shape[-2], right.shape[-1])
    seen = shape[:-2] + (() if row else shape[-2:-1]) + (() if column else shape[-1:])
    if out_dtype is not None:
        result_type: Optional[str] = _dtypes.required(out_dtype, "out_dtype")
    else:
        result_type = USUAL_RESULT.get(left.dtype, left.dtype) if out is None else None  # None: as out has it
    extras = [(name, operand(array, what, left.device if on is None else on))
              for name, what, array in (("column_bias", "bias", bias), ("row_scale", "scale_a", scale_a),
                                        ("column_scale", "scale_b", scale_b), ("c", "c", c),
                                        ("d_scale", "out_scale", out_scale)) if array is not None]
    names = {"column_bias": "bias", "row_scale": "scale_a", "column_scale": "scale_b", "d_scale": "out_scale"}
    target = together([left, right] + [each for _, each in extras],
                      ["a", "b"] + [names.get(name, name) for name, _ in extras])
    result = Result(out, a, seen, result_type, target)
    if result_type not in (None, result.operand.dtype):
        raise TypeError(f"out holds {result.operand.dtype} and out_dtype is {result_type}")
    d = result.operand
    steps = d.strides[:len(shape) - 2] + ((0,) if row else d.strides[len(shape) - 2:][:1]) + \
        ((0,) if column else d.strides[-1:])
    d, addend = d.like(shape, steps), dict(extras).get("c")
    if len(right.shape) == 2 and len(left.shape) > 2 and addend is None and scale_a is None:
        left, d = _one_below_the_other(left, d)
    with Stream(target, native_stream(stream, [left, right])) as own:
        if 0 not in shape:
            product = Product(left, right, d, addend)
            for name, each in extras:
                if name != "c":
                    product.set(name, each)
            if alpha != 1.0:
                product.number("alpha", alpha)
            if addend is not None:
                product.number("beta", beta)
            if activation is not None:
                kind = "activation" if activation in ACTIVATIONS else "expression"
                setattr(product.request, kind, activation.encode())
            product.request.promote = promote
            product.request.no_align = not align
            if plan is not None:
                product.request.plan = plan.encode()
            check(lib.wm_gemm(own.handle, ctypes.byref(product.request), None))
        return result.done(own)
