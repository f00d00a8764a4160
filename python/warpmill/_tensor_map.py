"""Tensor maps: what the copy engine needs to know of an array."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

from . import _dtypes, _library
from ._arrays import operand
from ._library import check, lib


class TensorMap:
    """A map of an array in boxes of `box` elements, for a kernel's `const __grid_constant__ wm::TensorMap`.

    Every rule of the hardware is checked first; a refusal (ValueError) names the rule, the value and a way out
    (docs/tensor-maps.md). The array's last dimension is contiguous. A numpy array lies on the virtual GPU from then on;
    an argument that is the same array means the same memory.

    >>> map = wm.TensorMap(np.zeros((64, 64), np.float16), box=(8, 64), swizzle="128B")
    >>> len(map.bytes)
    128
    >>> wm.TensorMap(np.zeros((64, 65), np.float16), box=(8, 64))
    Traceback (most recent call last):
        ...
    ValueError: tensor map refused: stride[0] = 130 bytes is not a multiple of 16
    ...
    """

    def __init__(self, array: Any, box: Sequence[int], swizzle: str = "none", *, interleave: str = "none",
                 l2_promotion: str = "128B", fill: str = "zeros", element: Optional[str] = None,
                 element_strides: Optional[Sequence[int]] = None, device: Any = None) -> None:
        self.array = array
        self.operand = operand(array, "the array", device)
        size, shape, strides = _dtypes.BYTES[self.operand.dtype], self.operand.shape, self.operand.strides
        if shape and shape[-1] > 1 and strides[-1] != 1:
            raise ValueError(f"tensor map refused: the last dimension has a stride of {strides[-1]} elements; it must be "
                             "contiguous: copy the array, or exchange dimensions")
        if len(box) != len(shape):
            raise ValueError(f"tensor map refused: the box {tuple(box)} has {len(box)} dimensions and the array "
                             f"{len(shape)}")
        lists = [_library.numbers(values) for values in
                 (shape, [step * size for step in strides[:-1]], box, element_strides or [1] * len(shape))]
        pointers = [ctypes.cast(values, ctypes.POINTER(ctypes.c_int64)) for values in lists]
        short = {"e4m3": "u8", "e5m2": "u8", "i8": "u8", "i16": "u16"}
        name = element or _dtypes.LONG[self.operand.dtype]
        self._request = _library.TensorMapRequest(
            element=short.get(name, name).encode(), address=self.operand.address, rank=len(shape), dims=pointers[0],
            strides=pointers[1], box=pointers[2], element_strides=pointers[3], interleave=interleave.encode(),
            swizzle=swizzle.encode(), l2_promotion=l2_promotion.encode(), fill=fill.encode())
        self._lists = lists
        self.bytes = self._make(self._request)

    def _make(self, request: Any) -> bytes:
        memory = (ctypes.c_ubyte * 128)()
        check(lib.wm_tensor_map_make(self.operand.device.handle, ctypes.byref(request), memory))
        return bytes(memory)

    def bytes_at(self, address: int) -> bytes:
        """The map of the same array where another map of a launch has it."""
        if address == self.operand.address:
            return self.bytes
        request = _library.TensorMapRequest.from_buffer_copy(self._request)
        request.address = address
        return self._make(request)

    def __str__(self) -> str:
        text = ctypes.c_char_p()
        check(lib.wm_tensor_map_describe(self.operand.device.handle, ctypes.byref(self._request), ctypes.byref(text)))
        return (text.value or b"").decode()
