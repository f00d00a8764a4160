"""DLPack: arrays of other libraries in, ours out, without a copy."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Dict, Tuple

from . import _dtypes
from ._arrays import DL_CUDA, DL_EXTENSION, DL_MANAGED, Operand, dense_strides
from ._devices import device


class _Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class _Managed(Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]

_python = ctypes.pythonapi
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", _python))
_Destructor = ctypes.CFUNCTYPE(None, c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, _Destructor)(("PyCapsule_New", _python))
_raw_is_valid = ctypes.PYFUNCTYPE(c_int32, c_void_p, c_char_p)(("PyCapsule_IsValid", _python))
_raw_pointer_of = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _python))


def operand_of(array: Any, what: str, on: Any) -> Operand:
    """What DLPack says of an array."""
    kind, index = (int(part) for part in array.__dlpack_device__())
    if kind in (DL_CUDA, DL_MANAGED):
        target, capsule = device(f"cuda:{index}"), array.__dlpack__(stream=1)  # made ready for the default stream
    elif kind == DL_EXTENSION:
        target, capsule = device(on if on is not None else "virtual"), array.__dlpack__()
    else:
        raise ValueError(f"{what} is on DLPack's device {kind}, and Warpmill's are CUDA's (2); give host arrays as numpy "
                         "arrays to the virtual GPU")
    tensor = ctypes.cast(_pointer_of(capsule, b"dltensor"), POINTER(_Managed)).contents.tensor
    name = _dtypes.DLPACK.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if name is None:
        raise TypeError(f"{what} holds DLPack's type {tensor.code} of {tensor.bits} bits, which Warpmill does not know")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else dense_strides(shape)
    # The capsule is kept, not taken over: when it goes, its library frees what it holds.
    return Operand((tensor.data or 0) + tensor.byte_offset, name, shape, strides, target, (array, capsule))


# What was given away, until whoever took it calls the deleter.
_given: Dict[int, Tuple[Any, ...]] = {}


@_Deleter
def _delete(managed: Any) -> None:
    _given.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _drop_capsule(capsule: int) -> None:
    if _raw_is_valid(capsule, b"dltensor"):  # nobody took it over
        _given.pop(_raw_pointer_of(capsule, b"dltensor"), None)


def capsule_of(operand: Operand, place: Tuple[int, int]) -> Any:
    """An operand for another library."""
    shape, strides = ((c_int64 * len(numbers))(*numbers) for numbers in (operand.shape, operand.strides))
    code, bits = _dtypes.DLPACK_CODES[operand.dtype]
    managed = _Managed()
    managed.tensor = _Tensor(operand.address, place[0], place[1], len(operand.shape), code, bits, 1,
                             ctypes.cast(shape, POINTER(c_int64)), ctypes.cast(strides, POINTER(c_int64)), 0)
    managed.deleter = _delete
    address = ctypes.addressof(managed)
    _given[address] = (managed, shape, strides, operand.owner)
    return _new_capsule(address, b"dltensor", _drop_capsule)
