"""The host's memory as kernels of other compilers get it, lent to a virtual device for a launch: numpy arrays, tensors."""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._devices import Device
from ._library import check as check_status, lib


class Span(NamedTuple):
    """Memory that kernels may touch."""

    first: int  # address
    end: int  # behind the last byte
    name: str  # whose it is
    read_only: bool = False


class Pointer:
    """A numpy array as Triton wants its tensors: with an address and a type, and what its autotuner does with them."""

    device = "cpu"

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.dtype, self.shape = array.dtype, array.shape

    @property
    def data(self) -> "Pointer":
        return self

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def element_size(self) -> int:
        return self.array.itemsize

    def stride(self, dim: Optional[int] = None) -> Union[int, Tuple[int, ...]]:
        """In elements."""
        if any(step % self.array.itemsize for step in self.array.strides):
            raise ValueError(f"the array's strides, {self.array.strides} bytes, are no multiples of its elements of "
                             f"{self.array.itemsize}; give the kernel a copy of it")
        steps = tuple(step // self.array.itemsize for step in self.array.strides)
        return steps if dim is None else steps[dim]

    def clone(self) -> "Pointer":
        return Pointer(self.array.copy(order="K"))

    def copy_(self, source: Any) -> "Pointer":
        np.copyto(self.array, getattr(source, "array", source), casting="unsafe")
        return self

    def zero_(self) -> "Pointer":
        self.array[...] = 0
        return self


def pointer(array: np.ndarray) -> Pointer:
    """A numpy array as an argument of a kernel, which reads and writes it where it lies. One that is not writeable is
    only read: a kernel that writes there has gone out of bounds."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"pointer() takes a numpy array, and this is a {type(array).__name__}; torch tensors on the CPU "
                        "are arguments as they are")
    return Pointer(array)


_reachable: ContextVar[Tuple[Span, ...]] = ContextVar("reachable", default=())


@contextmanager
def reachable(*tensors: Any) -> Iterator[None]:
    """Within it kernels may touch these tensors too, whose addresses they find in memory or compute.

    >>> with reachable(*matrices):  # doctest: +SKIP
    ...     grouped[(8,)](addresses, count)
    """
    spans = [span for index, tensor in enumerate(tensors) for span in memory_of(tensor, f"reachable {index}")[1]]
    before = _reachable.set(_reachable.get() + tuple(spans))
    try:
        yield
    finally:
        _reachable.reset(before)


def memory_of(value: Any, name: str) -> Tuple[int, List[Span]]:
    """A tensor's address, and the memory that goes with it: all of a torch storage or a numpy array."""
    if value is None or isinstance(value, int):
        return value or 0, []
    if isinstance(value, np.ndarray):
        value = Pointer(value)
    if not hasattr(value, "data_ptr"):
        raise TypeError(f"`{name}` is a {type(value).__name__} and no tensor")
    address, kind = int(value.data_ptr()), type(value).__name__
    while not isinstance(value, Pointer) and not hasattr(value, "untyped_storage"):
        if not hasattr(value, "base"):  # triton.reinterpret's have one
            raise TypeError(f"`{name}` is a {kind} that has an address and does not say how much memory lies there; give "
                            "its numpy array to warpmill.triton.pointer(), or a torch tensor")
        value = value.base
    if isinstance(value, Pointer):
        owner = value.array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        first, size = _extent(owner)
        return address, [Span(first, first + size, name, not value.array.flags.writeable)] if size else []
    if value.device.type != "cpu":
        raise ValueError(f"`{name}` is on {value.device.type}; kernels of the virtual GPU take tensors on the CPU")
    storage = value.untyped_storage()
    first, size = int(storage.data_ptr()), int(storage.nbytes())
    return address, [Span(first, first + size, name)] if size else []


def _extent(array: np.ndarray) -> Tuple[int, int]:
    """The first address of an array's elements, and the bytes from there to the last one's end."""
    if not array.size:
        return 0, 0
    reach = [(size - 1) * step for size, step in zip(array.shape, array.strides)]
    return int(array.ctypes.data) + sum(each for each in reach if each < 0), sum(map(abs, reach)) + array.itemsize


def apart(spans: Sequence[Span]) -> List[Span]:
    """These and what is reachable. Those that overlap become one, under the name of the first, and writeable if one is:
    numpy has read-only views of memory that is not."""
    joined: List[Span] = []
    for span in sorted([*spans, *_reachable.get()]):
        if joined and span.first < joined[-1].end:
            last = joined[-1]
            joined[-1] = Span(last.first, max(span.end, last.end), last.name, span.read_only and last.read_only)
        else:
            joined.append(span)
    return joined


class Contents:
    """What memory holds, to be put back."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._memory = [np.frombuffer((ctypes.c_ubyte * (span.end - span.first)).from_address(span.first), np.uint8)
                        for span in spans if not span.read_only]
        self._before = [each.copy() for each in self._memory]

    def put_back(self) -> None:
        for each, before in zip(self._memory, self._before):
            if not np.array_equal(each, before):
                each[:] = before


_launching = threading.Lock()  # memory is mapped once, whoever launches


@contextmanager
def mapped(on: Device, spans: Sequence[Span]) -> Iterator[None]:
    """The memory is the device's, under the addresses that it has."""
    done: List[int] = []
    with _launching:
        try:
            for first, end, name, read_only in spans:
                check_status(lib.wm_memory_map(on.handle, first, end - first, read_only, name.encode()))
                done.append(first)
            yield
        finally:
            for first in done:
                check_status(lib.wm_memory_unmap(on.handle, first))
