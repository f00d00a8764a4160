"""Triton's kernels, and Gluon's, on the virtual GPU: a driver of Triton's for tensors in the host's memory.

    import warpmill.triton as virtual
    virtual.use("virtual:sm_90a")
    add[(4,)](x, y, z, n, BLOCK=256)  # torch tensors on the CPU, or virtual.pointer(x) of a numpy array
    print(virtual.check(lambda: add[(4,)](x, y, z, n, BLOCK=256)))

Triton compiles as it does for a chip of that architecture, ptxas and all; what runs is its PTX.
"""

from __future__ import annotations

import ctypes
import logging
import struct
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime.cache import get_cache_manager

if tuple(int(part) for part in triton.__version__.split(".")[:2]) < (3, 5):
    raise ImportError(f"warpmill.triton goes with Triton 3.5 and newer, and this is {triton.__version__}")

from . import _check, _library
from ._check import Finding, Report
from ._devices import Buffer, Device, Stream, device as open_device
from ._kernel import ANY, FLOATING, INTEGER, POINTER, STRUCT, Loaded
from ._lent import Contents, Span, apart, mapped, memory_of, pointer, reachable
from ._library import check as check_status, lib

__all__ = ["Flawed", "check", "pointer", "reachable", "use"]

_FLOATS = {"fp16": np.float16, "bf16": np.float32, "fp32": np.float32, "f32": np.float32, "fp64": np.float64}
# Of tensor maps, by the numbers of tensormap.replace, which are Triton's.
_ELEMENTS = ("u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f32_ftz", "f64", "bf16", "tf32", "tf32_ftz",
             "16u4_align8b", "16u4_align16b", "16u6_align16b")
_SWIZZLES = ("none", "32B", "64B", "128B")


class Flawed(RuntimeError):
    """The judge found an error in a kernel; `report` has all findings."""

    def __init__(self, kernel: str, report: Report) -> None:
        super().__init__(f"{kernel}:\n{report}")
        self.kernel, self.report = kernel, report

    def __reduce__(self) -> Any:
        return Flawed, (self.kernel, self.report)


def use(device: Any = "virtual", *, judge: bool = False, modes: Sequence[str] = ("friendly",), seeds: int = 1,
        strict: bool = False) -> None:
    """From now on Triton compiles for this virtual device, and its kernels run there.

    judge: every launch is judged, in these modes and with so many seeds (as by wm.check); one with an error raises
    Flawed, and what else was found goes to the logger `warpmill`. Several runs begin with the same memory each, and it
    stays as the last one leaves it. Autotuned kernels take the first of their configurations that can be launched: times
    on a CPU say nothing of a chip.
    """
    kept = _modes(modes)
    on = open_device(device)
    if not on.is_virtual:
        raise ValueError(f"{on.id} is a GPU, which Triton's own driver serves; warpmill.triton is for virtual ones")
    triton.runtime.driver.set_active(Driver(on, {"modes": kept, "seeds": seeds, "strict": strict} if judge else None))


class _Collected:
    """What check() asks of every launch, and the reports that it got."""

    def __init__(self, judge: Dict[str, Any]) -> None:
        self.judge = judge
        self.reports: List[Tuple[str, Report]] = []  # by kernels' names


_collected: ContextVar[Optional[_Collected]] = ContextVar("collected", default=None)


def check(what: Callable[..., Any], *arguments: Any, modes: Sequence[str] = _check.MODES, seeds: int = 3,
          strict: bool = False, max_instructions: int = 0) -> Report:
    """Judges all that a function launches by Triton on the device that use() named, and reports it instead of raising.

    The function is called once, in this thread, and only what this thread launches is judged here. Each launch is run in
    every mode and with every seed, as wm.check does it and from the same memory each time, which stays as the last run
    leaves it. One report has what was found in all of them, each finding once for a kernel and a place, and beginning
    with the kernel's name. A function that launches nothing is refused.
    """
    try:
        driver = triton.runtime.driver.active
    except RuntimeError:  # no GPU
        driver = None
    if not isinstance(driver, Driver):
        raise ValueError("Triton's kernels do not go to the virtual GPU yet; call warpmill.triton.use() first")
    collected = _Collected({"modes": _modes(modes), "seeds": seeds, "strict": strict, "max_instructions": max_instructions})
    before = _collected.set(collected)
    try:
        what(*arguments)
    finally:
        _collected.reset(before)
    if not collected.reports:
        raise ValueError(f"nothing was launched on {driver.device.id}, the device that is checked, in this thread")
    return _joined(collected.reports)


def _modes(modes: Sequence[str]) -> Tuple[str, ...]:
    kept = tuple(modes)
    unknown = [mode for mode in kept if mode not in _check.MODES]
    if unknown or not kept:
        raise ValueError(f"{unknown[0] if unknown else ''!r} is no mode; there are {', '.join(_check.MODES)}")
    return kept


def _joined(reports: Sequence[Tuple[str, Report]]) -> Report:
    findings: Dict[Any, Finding] = {}
    for kernel, report in reports:
        for each in report.findings:
            lines = tuple((place.file, place.line, place.instruction) for place in each.places)
            known = findings.get((kernel, each.name, lines))
            findings[kernel, each.name, lines] = (
                replace(known, count=known.count + each.count) if known is not None else
                replace(each, kernel=kernel, text=f"{kernel}: {each.text}"))
    ordered = sorted(findings.values(), key=lambda each: _check.SEVERITIES.index(each.severity))
    counts = {name: sum(getattr(report, name) for _, report in reports)
              for name in ("runs", "instructions", "accesses", "copies", "products", "barriers")}
    return Report(tuple(ordered), **counts)


class Driver(DriverBase):
    """What Triton asks of a driver."""

    _indices: Dict[str, int] = {}  # Triton keeps its compiled kernels by a number: each device has one that no GPU has

    def __init__(self, on: Device, judge: Optional[Dict[str, Any]]) -> None:
        self.device, self.judge = on, judge
        self.index = self._indices.setdefault(on.id, 1000 + len(self._indices))
        self.utils = self  # Triton looks for some of what follows there
        self.launcher_cls = Launcher

    @classmethod
    def is_active(cls) -> bool:
        return False  # only where use() says so

    def get_current_device(self) -> int:
        return self.index

    def set_current_device(self, index: int) -> None:
        if index != self.index:
            raise ValueError(f"Triton uses {self.device.id}, device {self.index}; warpmill.triton.use() takes another one")

    def get_current_stream(self, index: int) -> int:
        return 0

    def get_device_capability(self, index: Any = None) -> Tuple[int, int]:
        return divmod(int("".join(filter(str.isdigit, self.device.arch))), 10)

    def get_current_target(self) -> GPUTarget:
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_device_properties(self, index: int) -> Dict[str, int]:
        return {"max_shared_mem": self.device.shared_bytes_per_block, "max_num_regs": 65536, "warpSize": 32,
                "multiprocessor_count": self.device.multiprocessors}

    def load_binary(self, name: str, binary: bytes, shared: int, index: int) -> Tuple[Any, Any, int, int, int]:
        # The launcher has the PTX. Where Triton got no module it would make a launcher anew for every launch.
        return f"{name} of a virtual GPU", None, 0, 0, 1024

    def unload_module(self, module: Any) -> None:
        """It is a name and no more."""

    def map_python_to_cpp_type(self, type: str) -> str:
        from triton.backends.nvidia.driver import ty_to_cpp
        return ty_to_cpp(type)

    def get_active_torch_device(self) -> Any:
        import torch
        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        raise NotImplementedError("the virtual GPU's times say nothing of a chip: there is nothing to measure with")

    def get_benchmarker(self) -> Any:
        def once(call: Callable[[], Any], *, quantiles: Sequence[float] = (), **ignored: Any) -> Any:
            call()  # what cannot be launched raises
            return [1.0] * len(quantiles) if quantiles else 1.0
        return once


class Launcher:
    """A compiled kernel, launched as Triton launches it."""

    def __init__(self, source: Any, metadata: Any) -> None:
        driver = triton.runtime.driver.active
        self.device, self.metadata = driver.device, metadata
        self.kinds = list(source.signature.items())
        # Triton's names of files are those of its source, metadata's are those of the kernel in it.
        file = get_cache_manager(metadata.hash).get_file(f"{source.name[:150]}.ptx")
        if file is None:
            raise RuntimeError(f"Triton's cache has no PTX of {metadata.name}; unset TRITON_STORE_BINARY_ONLY, and let "
                               "nobody clear the cache meanwhile")
        with open(file, encoding="utf-8") as text:
            ptx = text.read()
        self.kernel = Loaded(_library.handle(lib.wm_module_load_ptx, self.device.handle, ptx.encode(),
                                             f"{metadata.name}.ptx".encode()), metadata.name, ptx)

    def __call__(self, x: int, y: int, z: int, stream: int, function: Any, packed: Any, launch: Any, enter: Any,
                 leave: Any, *values: Any) -> None:
        if x * y * z == 0:
            return
        arguments = _Arguments(self.device, getattr(self.metadata, "tensordesc_meta", None) or ())
        for (name, kind), value in zip(self.kinds, values):
            arguments.add(kind, value, str(name))
        if enter is not None:
            enter(launch)
        spans = apart(arguments.memory)
        with mapped(self.device, spans):
            self._run(lambda: self._launch((x, y, z), arguments.packed), spans)
        if leave is not None:
            leave(launch)

    def _scratch(self, which: str, grid: Tuple[int, int, int]) -> Optional[Buffer]:
        size = getattr(self.metadata, f"{which}_scratch_size", 0)
        return Buffer(self.device, size * grid[0] * grid[1] * grid[2] * self.metadata.num_ctas) if size else None

    def _launch(self, grid: Tuple[int, int, int], packed: Sequence[Tuple[bytes, int]]) -> None:
        # Triton's own parameters come last. Their memory is there for one run.
        scratch = [self._scratch(which, grid) for which in ("global", "profile")]
        own = scratch[:max(0, len(self.kernel.parameters) - len(packed))]
        packed = [*packed, *((struct.pack("<Q", each.address if each else 0), POINTER) for each in own)]
        ctas = self.metadata.num_ctas
        config = _library.LaunchConfig(grid=(grid[0] * ctas, grid[1], grid[2]),
                                       block=(32 * self.metadata.num_warps, 1, 1), shared_bytes=self.metadata.shared)
        if ctas > 1:
            config.cluster = (ctas, 1, 1)
        kept = [ctypes.create_string_buffer(data, len(data)) for data, _ in packed]
        arguments = (_library.Argument * max(len(packed), 1))(
            *[_library.Argument(ctypes.addressof(memory), len(memory), kind) for memory, (_, kind) in zip(kept, packed)])
        with Stream(self.device) as stream:
            status = lib.wm_launch(stream.handle, self.kernel.handle, ctypes.byref(config), arguments, len(packed))
            try:
                check_status(status)
            except RuntimeError as error:
                if "lie in no allocation" not in str(error):
                    raise
                raise RuntimeError(f"{error}\n  help: a kernel may touch the tensors that are its arguments; those whose "
                                   "addresses it finds elsewhere are named by warpmill.triton.reachable()") from None

    def _run(self, launch: Callable[[], None], spans: Sequence[Span]) -> None:
        collected = _collected.get()
        judge = collected.judge if collected is not None else triton.runtime.driver.active.judge
        if judge is None:
            launch()
            return
        before = Contents(spans)

        def again() -> None:
            before.put_back()
            launch()

        report = _check.check(again, device=self.device, **judge)
        if collected is not None:
            collected.reports.append((self.metadata.name, report))
            return
        if not report.clean:
            raise Flawed(self.metadata.name, report)
        for finding in report.findings:
            logging.getLogger("warpmill").warning("%s: %s", self.metadata.name, finding)


class _Arguments:
    """A launch's arguments as the kernel gets them, and the memory that they point to."""

    def __init__(self, on: Device, maps: Sequence[Any]) -> None:
        self.device, self.maps = on, iter(maps)  # maps: how each tensor descriptor is read
        self.packed: List[Tuple[bytes, int]] = []
        self.memory: List[Span] = []

    def add(self, kind: Any, value: Any, name: str) -> None:
        """`kind`: Triton's name of the type; of a tuple, those of its members."""
        if isinstance(kind, tuple):
            for index, (each, own) in enumerate(zip(kind, value)):
                self.add(each, own, f"{name}[{index}]")
        elif kind == "constexpr":
            pass
        elif kind.startswith("tensordesc"):
            self._add_descriptor(value, next(self.maps, None), name)
        elif kind.startswith("*"):
            self.packed.append((struct.pack("<Q", self._address(value, name)), POINTER))
        elif kind in _FLOATS:
            with np.errstate(over="ignore"):
                data = _FLOATS[kind](value).tobytes()
            if kind == "bf16":
                data = data[2:]  # cut off, not rounded, as Triton does it
            self.packed.append((data, FLOATING if len(data) > 2 else ANY))  # a half is 16 bits to PTX
        else:
            size = max(int(kind[1:]), 8) // 8
            self.packed.append(((int(value) & (1 << 8 * size) - 1).to_bytes(size, "little"), INTEGER))

    def _address(self, value: Any, name: str) -> int:
        address, spans = memory_of(value, name)
        self.memory += spans
        return address

    def _add_descriptor(self, given: Any, how: Any, name: str) -> None:
        address = self._address(given.base, name)
        shape, strides = [int(size) for size in given.shape], [int(step) for step in given.strides]
        flags = [given.padding == "nan"]
        if hasattr(given, "round_f32_to_tf32"):  # since 3.7
            flags.append(given.round_f32_to_tf32)
        if how is None:  # the kernel computes with addresses
            self.packed.append((struct.pack("<Q", address), POINTER))
            self.packed += [(struct.pack("<q", number), INTEGER) for number in shape + strides]
            self.packed += [(bytes([flag]), INTEGER) for flag in flags]
        else:
            self.packed.append((_tensor_map(self.device, how, address, shape, strides, *flags), STRUCT))
        self.packed += [(struct.pack("<i", size), INTEGER) for size in shape]
        self.packed += [(struct.pack("<q", step), INTEGER) for step in strides]


def _tensor_map(on: Device, how: Any, address: int, shape: List[int], strides: List[int], nan: bool,
                to_tf32: bool = False) -> bytes:
    if how.get("is_im2col"):
        raise NotImplementedError("im2col descriptors are not served on the virtual GPU")
    dims = shape[:-1] + [2 * shape[-1]] if how["fp4_padded"] else shape
    lists = [_library.numbers(values) for values in
             (dims, [step * how["elem_size"] for step in strides[:-1]], how["block_size"])]
    pointers = [ctypes.cast(values, ctypes.POINTER(ctypes.c_int64)) for values in lists]
    request = _library.TensorMapRequest(
        element=("tf32" if to_tf32 else _ELEMENTS[how["elem_type"]]).encode(), address=address, rank=len(dims),
        dims=pointers[0], strides=pointers[1], box=pointers[2], swizzle=_SWIZZLES[how["swizzle"]].encode(),
        l2_promotion=b"128B", fill=b"nan" if nan else b"zeros")
    memory = (ctypes.c_ubyte * 128)()
    check_status(lib.wm_tensor_map_make(on.handle, ctypes.byref(request), memory))
    return bytes(memory)
