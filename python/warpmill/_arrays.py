"""Anybody's arrays as operands: numpy's on the virtual GPU, torch's, DLPack's and __cuda_array_interface__'s where they lie."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from . import _dtypes, _library
from ._devices import Buffer, Device, Stream, device

# DLPack's kinds of devices. The virtual GPU is an extension of it.
DL_CPU, DL_CUDA, DL_MANAGED, DL_EXTENSION = 1, 2, 13, 12


class Operand:
    """Elements in device memory: what a request says of them, and what keeps them alive."""

    __slots__ = ("address", "dtype", "shape", "strides", "device", "stream", "owner", "_view", "_lists")

    def __init__(self, address: int, dtype: str, shape: Sequence[int], strides: Sequence[int], on: Device,
                 owner: Any = None, stream: Optional[int] = None) -> None:
        self.address, self.dtype, self.device, self.owner, self.stream = address, dtype, on, owner, stream
        self.shape, self.strides = tuple(shape), tuple(strides)

    def like(self, shape: Sequence[int], strides: Sequence[int]) -> "Operand":
        """The same memory with other dimensions."""
        return Operand(self.address, self.dtype, shape, strides, self.device, self.owner, self.stream)

    def view(self) -> Any:
        """For C, as long as this operand lives."""
        self._lists = _library.numbers(self.shape), _library.numbers(self.strides)
        pointers = [ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int64)) for numbers in self._lists]
        self._view = _library.View(address=self.address, dtype=_dtypes.NUMBERS[self.dtype], rank=len(self.shape),
                                   shape=pointers[0], strides=pointers[1])
        return ctypes.pointer(self._view)


def dense_strides(shape: Sequence[int]) -> Tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class DeviceArray:
    """A result in device memory that this package owns; torch, CuPy and JAX take it over with from_dlpack, numpy with
    numpy()."""

    def __init__(self, shape: Sequence[int], dtype: str, on: Device) -> None:
        self.shape, self.dtype, self.device = tuple(shape), dtype, on
        elements = int(np.prod(self.shape, dtype=np.int64))
        self.buffer = Buffer(on, max(elements, 1) * _dtypes.BYTES[dtype])
        self.native_stream = 0

    def operand(self) -> Operand:
        return Operand(self.buffer.address, self.dtype, self.shape, dense_strides(self.shape), self.device, self)

    def __repr__(self) -> str:
        return f"<warpmill array {self.dtype} {'x'.join(map(str, self.shape))} on {self.device.id}>"

    def numpy(self) -> np.ndarray:
        """A copy on the host."""
        array = np.empty(self.shape, _dtypes.numpy_dtype(self.dtype))
        if array.nbytes:
            self.buffer.download(array)
        return array

    @property
    def __cuda_array_interface__(self) -> dict:
        kinds = {"u": "u", "i": "i", "f": "f"}
        numpy_type = _dtypes.numpy_dtype(self.dtype)
        if numpy_type.kind not in kinds:
            raise AttributeError(f"__cuda_array_interface__ has no {self.dtype}; take it over with from_dlpack")
        return {"shape": self.shape, "typestr": numpy_type.str, "data": (self.buffer.address, False), "version": 3,
                "strides": None, "stream": self.native_stream or 1}

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (DL_EXTENSION, 0) if self.device.is_virtual else (DL_CUDA, int(self.device.id.split(":")[1]))

    def __dlpack__(self, stream: Any = None, **ignored: Any) -> Any:
        from ._dlpack import capsule_of
        with Stream(self.device, self.native_stream) as own:
            own.synchronize()
        return capsule_of(self.operand(), self.__dlpack_device__())


def _torch_operand(tensor: Any, what: str) -> Operand:
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided:
        raise TypeError(f"{what} has the layout {tensor.layout}; Warpmill takes dense tensors with strides")
    if tensor.device.type != "cuda":
        raise ValueError(f"{what} is on {tensor.device.type}; move it to a GPU with .cuda(), or give "
                         f"{what}.numpy() to the virtual GPU")
    index = tensor.get_device()
    return Operand(tensor.data_ptr(), _dtypes.required(tensor.dtype, what), tensor.shape, tensor.stride(),
                   device(f"cuda:{index}"), tensor, torch.cuda.current_stream(index).cuda_stream)


def _memory_order(array: np.ndarray) -> List[int]:
    """The dimensions as they lie in memory, and in the copy on the virtual GPU: along which one an operand is contiguous
    decides how it is read."""
    return sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))


def bring_there(array: np.ndarray, target: Operand) -> None:
    """A numpy array's elements, to where the virtual GPU has them."""
    if array.nbytes:
        target.owner.upload(np.ascontiguousarray(array.transpose(_memory_order(array))))


def bring_back(source: Operand, array: np.ndarray) -> None:
    """What the virtual GPU wrote, into the numpy array that it was copied from."""
    if array.nbytes:
        order = _memory_order(array)
        packed = np.empty([array.shape[i] for i in order], array.dtype)
        source.owner.download(packed)
        array.transpose(order)[...] = packed


def _numpy_operand(array: np.ndarray, what: str, on: Any) -> Operand:
    target = device(on if on is not None else "virtual")
    if not target.is_virtual:
        raise ValueError(f"{what} is a numpy array, and those run on the virtual GPU; {target.id} takes arrays that lie "
                         "there")
    name = _dtypes.required(array.dtype, what)
    order = _memory_order(array)
    strides = [0] * array.ndim
    for place, step in zip(order, dense_strides([array.shape[i] for i in order])):
        strides[place] = step
    buffer = Buffer(target, max(array.nbytes, 1))
    result = Operand(buffer.address, name, array.shape, strides, target, buffer)
    bring_there(array, result)
    return result


def _interface_operand(interface: dict, array: Any, what: str, on: Any) -> Operand:
    name = _dtypes.required(np.dtype(interface["typestr"]), what)
    if interface.get("mask") is not None:
        raise TypeError(f"{what} has a mask, which Warpmill does not know")
    shape, strides, size = tuple(interface["shape"]), interface.get("strides"), _dtypes.BYTES[name]
    if strides is not None and any(step % size for step in strides):
        raise ValueError(f"{what} has strides of {strides} bytes, which are no multiples of its elements' {size}")
    steps = dense_strides(shape) if strides is None else tuple(step // size for step in strides)
    if on is None:
        on = f"cuda:{getattr(getattr(array, 'device', None), 'id', 0)}"
    stream = interface.get("stream")  # 1 and 2 are CUDA's own names of its default streams
    return Operand(interface["data"][0], name, shape, steps, device(on), array, stream)


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def operand(array: Any, what: str, on: Any = None) -> Operand:
    """What `array` says of its elements, without a copy but of numpy's. `on`: the device of arrays that do not say it."""
    if isinstance(array, Operand):
        return array
    if isinstance(array, DeviceArray):
        return array.operand()
    if is_torch(array):
        return _torch_operand(array, what)
    if isinstance(array, np.ndarray):
        return _numpy_operand(array, what, on)
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return _interface_operand(interface, array, what, on)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        from ._dlpack import operand_of
        return operand_of(array, what, on)
    raise TypeError(f"{what} is a {type(array).__name__}; Warpmill takes torch tensors, numpy arrays, and arrays with "
                    "DLPack or __cuda_array_interface__")


def native_stream(stream: Any, operands: Sequence[Operand]) -> int:
    """The stream to work on: the caller's, else the one that the arrays came with."""
    if stream is not None:
        for attribute in ("cuda_stream", "ptr"):
            stream = getattr(stream, attribute, stream)
        return int(stream)
    return next((each.stream for each in operands if each.stream), 0)


def together(operands: Sequence[Operand], names: Sequence[str]) -> Device:
    """The one device that all lie on."""
    first = operands[0].device
    for each, name in zip(operands, names):
        if each.device.id != first.id:
            raise ValueError(f"{names[0]} is on {first.id} and {name} on {each.device.id}; bring them to one device")
    return first


class Result:
    """Where a result goes: the caller's `out`, or a new array of the kind that came in."""

    def __init__(self, out: Any, like: Any, shape: Sequence[int], dtype: Optional[str], on: Device) -> None:
        self.array = out
        self.out = out
        if out is not None:
            self.operand = operand(out, "out", on)
            if self.operand.shape != tuple(shape) or self.operand.device.id != on.id:
                raise ValueError(f"out is {self.operand.shape} on {self.operand.device.id}; it must be {tuple(shape)} "
                                 f"on {on.id}")
        elif is_torch(like):
            torch = sys.modules["torch"]
            self.array = torch.empty(tuple(shape), dtype=getattr(torch, str(dtype)), device=like.device)
            self.operand = _torch_operand(self.array, "out")
        else:
            self.array = DeviceArray(shape, str(dtype), on)
            self.operand = self.array.operand()
            if isinstance(like, np.ndarray):
                self.out = np.ndarray

    def done(self, stream: Stream) -> Any:
        """What the caller gets, after the work was put into the stream."""
        if isinstance(self.out, np.ndarray):  # brought back from where the virtual GPU has it
            bring_back(self.operand, self.out)
            return self.out
        if self.out is np.ndarray:
            return self.array.numpy()
        if isinstance(self.array, DeviceArray):
            self.array.native_stream = stream.native
        return self.array
