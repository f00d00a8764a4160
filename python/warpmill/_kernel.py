"""Kernels of the caller's own, in CUDA C++ with Warpmill's headers, on a GPU or on the virtual one."""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library
from ._arrays import Operand, bring_back, bring_there, native_stream, operand
from ._devices import Device, Stream, device as open_device
from ._library import check, lib
from ._tensor_map import TensorMap

ANY, INTEGER, FLOATING, POINTER, STRUCT = range(5)
Sizes = Union[int, Sequence[int]]


def _texts(values: Sequence[str]) -> Any:
    return (ctypes.c_char_p * (len(values) + 1))(*[value.encode() for value in values], None)


def _sizes(sizes: Sizes) -> Tuple[int, int, int]:
    numbers = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if not 1 <= len(numbers) <= 3:
        raise ValueError(f"{sizes!r} are no sizes; they are one to three numbers: x, y, z")
    return (numbers + (1, 1))[:3]  # type: ignore[return-value]


class Loaded:
    """A kernel on one device, of a module whose handle it takes."""

    def __init__(self, module: int, entry: str, ptx: str, log: str = "", lost_speed: Sequence[str] = ()) -> None:
        self.handle = None
        self.ptx, self.log, self.lost_speed = ptx, log, list(lost_speed)
        try:
            self.handle = _library.handle(lib.wm_module_kernel, module, entry.encode())
        finally:
            lib.wm_module_free(module)
        info = _library.KernelInfo()
        check(lib.wm_kernel_info_of(self.handle, ctypes.byref(info)))
        self.registers: int = info.registers
        self.parameters: List[Tuple[int, int]] = []  # bytes and kind
        for index in range(info.parameters):
            parameter = _library.Parameter()
            check(lib.wm_kernel_parameter(self.handle, index, ctypes.byref(parameter)))
            self.parameters.append((parameter.bytes, parameter.kind))

    def __del__(self) -> None:
        if self.handle:
            lib.wm_kernel_free(self.handle)


class Kernel:
    """CUDA C++, compiled for each device when it is first launched there: kernel[grid, block, cluster, shared](arguments).

    grid, block and cluster are a number or up to three, shared is in bytes; the last two may be left out. Arguments:
    arrays stand for their addresses, a TensorMap for itself, numbers for what the kernel takes at that place, numpy
    scalars and bytes for their bytes. numpy arrays go to the virtual GPU and come back with what the kernel wrote; one that
    is given twice is the same memory there, and different ones must not overlap unless both are read-only.

    source: the text. entry: its name, or of a template "scale<4>". arch: where the device's own is not meant. defines:
    {"NAME": value}. include_folders: besides Warpmill's own headers. name: for errors and reports.

    >>> source = 'extern "C" __global__ void add(float* x, float y) { x[threadIdx.x] += y; }'
    >>> x = np.zeros(4, np.float32)
    >>> wm.Kernel(source, "add")[1, 4](x, 1.5)
    >>> x
    array([1.5, 1.5, 1.5, 1.5], dtype=float32)
    """

    def __init__(self, source: str, entry: str, arch: Optional[str] = None, *,
                 defines: Optional[Mapping[str, Any]] = None, include_folders: Sequence[str] = (),
                 name: str = "kernel.cu") -> None:
        self.source, self.entry, self.arch, self.name = source, entry, arch, name
        self.defines, self.include_folders = dict(defines or {}), list(include_folders)
        self._loaded: Dict[str, Loaded] = {}

    @staticmethod
    def of_ptx(ptx: str, entry: str, *, name: str = "kernel.ptx") -> "Kernel":
        """A kernel that a compiler has made of something else: its PTX, and its name there. Launched and judged as any.

        >>> ptx = wm.Kernel('extern "C" __global__ void add(float* x, float y) { *x += y; }', "add").on("virtual").ptx
        >>> x = np.zeros(1, np.float32)
        >>> wm.Kernel.of_ptx(ptx, "add")[1, 1](x, 1.5)
        >>> x
        array([1.5], dtype=float32)
        """
        return _OfPtx(ptx, entry, name=name)

    def on(self, device: Any) -> Loaded:
        """The kernel on a device: its PTX, the compiler's log, its registers."""
        where = open_device(device)
        if where.id not in self._loaded:
            self._loaded[where.id] = self._load(where)
        return self._loaded[where.id]

    def _load(self, on: Device) -> Loaded:
        defines = _texts([name if value is None else f"{name}={value}" for name, value in self.defines.items()])
        includes, names = _texts(self.include_folders), _texts([self.entry] if "<" in self.entry else [])
        request = _library.CompileRequest(
            name=self.name.encode(), source=self.source.encode(), arch=(self.arch or on.arch).encode(),
            defines=defines, includes=includes, names=names, line_table=on.is_virtual)
        program = _library.handle(lib.wm_compile, ctypes.byref(request))
        try:
            ptx, log, lost_speed = (text(program).decode() for text in (lib.wm_program_ptx, lib.wm_program_log,
                                                                        lib.wm_program_lost_speed))
            return Loaded(_library.handle(lib.wm_module_load, on.handle, program), self.entry, ptx, log,
                          lost_speed.splitlines())
        finally:
            lib.wm_program_free(program)

    def __getitem__(self, shape: Any) -> "Launch":
        parts = shape if isinstance(shape, tuple) else (shape,)
        if not 2 <= len(parts) <= 4:
            raise ValueError("a launch is kernel[grid, block], kernel[grid, block, cluster] or "
                             "kernel[grid, block, cluster, shared]")
        grid, block, cluster, shared = parts + (None, 0)[len(parts) - 2:]
        return Launch(self, grid, block, cluster, shared)


class _OfPtx(Kernel):
    """Its source is PTX."""

    def _load(self, on: Device) -> Loaded:
        module = _library.handle(lib.wm_module_load_ptx, on.handle, self.source.encode(), self.name.encode())
        return Loaded(module, self.entry, self.source)


class Launch:
    """A kernel and the shape of its launch, to be called with its arguments, or judged by check()."""

    def __init__(self, kernel: Kernel, grid: Sizes, block: Sizes, cluster: Optional[Sizes], shared: int) -> None:
        self.kernel = kernel
        self.config = _library.LaunchConfig(grid=_sizes(grid), block=_sizes(block), shared_bytes=shared)
        if cluster is not None:
            self.config.cluster = _sizes(cluster)

    def __call__(self, *arguments: Any, stream: Any = None, device: Any = None) -> None:
        """Launches. stream: as of matmul(). device: where there is no array that says it."""
        call = Call(self, arguments, device)
        with Stream(call.device, native_stream(stream, call.operands)) as own:
            call.launch(own)
        call.bring_back()


class Call:
    """A launch with its arguments on a device."""

    def __init__(self, launch: Launch, arguments: Sequence[Any], device: Any) -> None:
        self.launched, self.arguments = launch, arguments
        self.placed: List[Tuple[Any, Operand]] = []  # each array once
        self.arrays: Dict[int, Operand] = {}  # by argument
        maps = {index: each for index, each in enumerate(arguments) if isinstance(each, TensorMap)}
        for index, each in maps.items():  # before plain arrays, which lie where their maps say
            self._place(index, each.array, lambda: each.operand)
            if self.arrays[index] is not each.operand and isinstance(each.array, np.ndarray):
                bring_there(each.array, self.arrays[index])  # another map's, which may have been made long before
        for index, argument in enumerate(arguments):
            if self._is_array(argument):
                self._place(index, argument, lambda: operand(argument, f"argument {index + 1}", device))
        self.operands = [each for _, each in self.placed] + [each.operand for each in maps.values()]
        if self.operands:
            self.device = self.operands[0].device
        else:
            self.device = open_device(device)
        for each in self.operands:
            if each.device.id != self.device.id:
                raise ValueError(f"the arguments lie on {self.device.id} and {each.device.id}; bring them to one device")
        self.kernel = launch.kernel.on(self.device)

    def _place(self, index: int, array: Any, make: Callable[[], Operand]) -> None:
        """The argument's array to where it lies already, or anew; refused where it shares memory with another, since a
        copy of each would lose what the kernel wrote."""
        for other, there in self.placed:
            if other is array:
                self.arrays[index] = there
                return
            if (isinstance(array, np.ndarray) and isinstance(other, np.ndarray)
                    and (array.flags.writeable or other.flags.writeable) and np.shares_memory(array, other)):
                raise ValueError(f"argument {index + 1} overlaps another array of the launch, and the virtual GPU would "
                                 "have a copy of each: give one array for both, copy one of them, or set "
                                 "flags.writeable = False on both if the kernel only reads them")
        self.arrays[index] = make()
        self.placed.append((array, self.arrays[index]))

    @staticmethod
    def _is_array(argument: Any) -> bool:
        return not isinstance(argument, (bool, int, float, bytes, np.generic, TensorMap))

    def _bytes(self, index: int, argument: Any) -> Tuple[bytes, int]:
        if isinstance(argument, TensorMap):
            return argument.bytes_at(self.arrays[index].address), STRUCT
        if index in self.arrays:
            return struct.pack("<Q", self.arrays[index].address), POINTER
        if isinstance(argument, bytes):
            return argument, ANY
        if isinstance(argument, np.generic):
            return argument.tobytes(), {"i": INTEGER, "u": INTEGER, "b": INTEGER, "f": FLOATING}.get(argument.dtype.kind, ANY)
        size, kind = self.kernel.parameters[index] if index < len(self.kernel.parameters) else (8, ANY)
        if isinstance(argument, int) and kind != FLOATING:
            return int(argument).to_bytes(size if size in (1, 2, 4, 8) else 8, "little", signed=argument < 0), INTEGER
        return struct.pack("<d" if size == 8 else "<f", float(argument)), FLOATING

    def launch(self, stream: Stream) -> None:
        kept, arguments = [], (_library.Argument * max(len(self.arguments), 1))()
        for index, argument in enumerate(self.arguments):
            data, kind = self._bytes(index, argument)
            memory = ctypes.create_string_buffer(data, len(data))
            kept.append(memory)
            arguments[index] = _library.Argument(ctypes.addressof(memory), len(data), kind)
        check(lib.wm_launch(stream.handle, self.kernel.handle, ctypes.byref(self.launched.config), arguments,
                            len(self.arguments)))

    def _numpy_operands(self) -> List[Tuple[np.ndarray, Operand]]:
        return [(array, each) for array, each in self.placed if isinstance(array, np.ndarray)]

    def restore(self) -> None:
        """numpy's arrays as they were, for another run."""
        for array, each in self._numpy_operands():
            bring_there(array, each)

    def bring_back(self) -> None:
        for array, each in self._numpy_operands():
            if array.flags.writeable:
                bring_back(each, array)
