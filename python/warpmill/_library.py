"""The shared library, its structs and its errors: include/warpmill/warpmill.h through ctypes."""

from __future__ import annotations

import ctypes
import logging
import os
from ctypes import POINTER, Structure, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, ClassVar

__version__ = "0.1.0"


class Sized(Structure):
    """A struct that carries its size first."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **fields)


class View(Sized):
    _fields_ = [("size", c_size_t), ("address", c_uint64), ("dtype", c_int32), ("rank", c_uint32),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64))]


class DeviceInfo(Sized):
    _fields_ = [("size", c_size_t), ("id", c_char_p), ("name", c_char_p), ("arch", c_char_p), ("is_virtual", c_int32),
                ("multiprocessors", c_int32), ("memory_bytes", c_uint64), ("l2_bytes", c_uint64),
                ("shared_bytes_per_block", c_uint64)]


class CompileRequest(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("source", c_char_p), ("arch", c_char_p),
                ("defines", POINTER(c_char_p)), ("includes", POINTER(c_char_p)), ("names", POINTER(c_char_p)),
                ("line_table", c_int32)]


class KernelInfo(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("registers", c_int32), ("max_threads", c_int32),
                ("static_shared_bytes", c_uint64), ("local_bytes", c_uint64), ("parameters", c_size_t)]


class Parameter(Sized):
    _fields_ = [("size", c_size_t), ("offset", c_size_t), ("bytes", c_size_t), ("kind", c_int32)]


class LaunchConfig(Sized):
    _fields_ = [("size", c_size_t), ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("cluster", c_uint32 * 3),
                ("shared_bytes", c_uint32), ("programmatic_dependent", c_int32)]


class Argument(Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_size_t), ("kind", c_int32)]


class TensorMapRequest(Sized):
    _fields_ = [("size", c_size_t), ("element", c_char_p), ("address", c_uint64), ("rank", c_uint32),
                ("dims", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("element_strides", POINTER(c_int64)),
                ("box", POINTER(c_int64)), ("interleave", c_char_p), ("swizzle", c_char_p), ("l2_promotion", c_char_p),
                ("fill", c_char_p), ("lower_corner", POINTER(c_int64)), ("upper_corner", POINTER(c_int64)),
                ("channels_per_pixel", c_int64), ("pixels_per_column", c_int64)]


class GemmRequest(Sized):
    _fields_: ClassVar[Any] = ([("size", c_size_t)]
                + [(name, POINTER(View)) for name in ("a", "b", "d", "c", "row_scale", "column_scale", "row_bias",
                                                      "column_bias", "amax", "d_scale")]
                + [("alpha", POINTER(c_float)), ("beta", POINTER(c_float)), ("activation", c_char_p),
                   ("expression", c_char_p)]
                + [(name, POINTER(c_uint64)) for name in ("batch_a", "batch_b", "batch_c", "batch_d")]
                + [("batch", c_size_t), ("promote", c_int32), ("plan", c_char_p), ("no_align", c_int32)])


class AttentionRequest(Sized):
    _fields_: ClassVar[Any] = ([("size", c_size_t)] + [(name, POINTER(View)) for name in ("q", "k", "v", "out", "lse")]
                + [("scale", POINTER(c_float)), ("left", POINTER(c_int64)), ("right", POINTER(c_int64)),
                   ("from_beginnings", c_int32), ("softcap", c_float), ("query_offsets", POINTER(View)),
                   ("key_offsets", POINTER(View)), ("longest_queries", c_int64), ("longest_keys", c_int64),
                   ("plan", c_char_p), ("alibi_slopes", POINTER(View)), ("sinks", POINTER(View))]
                + [(name, c_char_p) for name in ("score", "mask", "skip", "whole")]
                + [("array_names", POINTER(c_char_p)), ("arrays", POINTER(POINTER(View))), ("array_count", c_size_t),
                   ("key_lengths", POINTER(View))]
                + [(name, POINTER(View)) for name in ("q_descale", "k_descale", "v_descale", "out_scale")])


class PlanInfo(Sized):
    _fields_ = [("size", c_size_t), ("text", c_char_p), ("taken", c_int32), ("tuned", c_int32),
                ("shared_bytes", c_int32), ("registers", c_int32), ("tiles", c_int64), ("seconds", c_double)]


class CheckRequest(Sized):
    _fields_ = [("size", c_size_t), ("friendly", c_int32), ("random", c_int32), ("adversarial", c_int32),
                ("seeds", c_uint32), ("max_instructions", c_uint64), ("strict", c_int32)]


class ReportInfo(Sized):
    _fields_ = ([("size", c_size_t), ("findings", c_size_t), ("errors", c_size_t)]
                + [(name, c_uint64) for name in ("runs", "instructions", "accesses", "copies", "products", "barriers")])


class FindingInfo(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("severity", c_int32), ("message", c_char_p),
                ("help", c_char_p), ("text", c_char_p), ("count", c_uint64), ("places", c_size_t)]


class PlaceInfo(Sized):
    _fields_ = [("size", c_size_t), ("file", c_char_p), ("line", c_uint32), ("instruction", c_char_p),
                ("block", c_uint32 * 3), ("warp", c_uint32), ("role", c_char_p), ("what", c_char_p)]


CheckRun = ctypes.CFUNCTYPE(c_int32, c_void_p)
LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p)

_STATUS = c_int32
_SIGNATURES = {
    "wm_error_text": (c_char_p, []),
    "wm_version": (c_char_p, []),
    "wm_set_log": (_STATUS, [LogFunction, c_void_p]),
    "wm_device_open": (_STATUS, [c_char_p, POINTER(c_void_p)]),
    "wm_device_info_of": (_STATUS, [c_void_p, POINTER(DeviceInfo)]),
    "wm_device_count": (_STATUS, [POINTER(c_size_t)]),
    "wm_device_at": (_STATUS, [c_size_t, POINTER(DeviceInfo)]),
    "wm_device_synchronize": (_STATUS, [c_void_p]),
    "wm_stream_wrap": (_STATUS, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "wm_stream_free": (None, [c_void_p]),
    "wm_stream_synchronize": (_STATUS, [c_void_p]),
    "wm_buffer_create": (_STATUS, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "wm_buffer_free": (None, [c_void_p]),
    "wm_buffer_address": (c_uint64, [c_void_p]),
    "wm_buffer_upload": (_STATUS, [c_void_p, c_size_t, c_void_p, c_size_t]),
    "wm_buffer_download": (_STATUS, [c_void_p, c_size_t, c_void_p, c_size_t]),
    "wm_buffer_name": (_STATUS, [c_void_p, c_char_p]),
    "wm_memory_map": (_STATUS, [c_void_p, c_void_p, c_size_t, c_int32, c_char_p]),
    "wm_memory_unmap": (_STATUS, [c_void_p, c_void_p]),
    "wm_compile": (_STATUS, [POINTER(CompileRequest), POINTER(c_void_p)]),
    "wm_program_free": (None, [c_void_p]),
    "wm_program_ptx": (c_char_p, [c_void_p]),
    "wm_program_log": (c_char_p, [c_void_p]),
    "wm_program_lost_speed": (c_char_p, [c_void_p]),
    "wm_module_load": (_STATUS, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "wm_module_load_ptx": (_STATUS, [c_void_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "wm_module_free": (None, [c_void_p]),
    "wm_module_kernel": (_STATUS, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "wm_kernel_free": (None, [c_void_p]),
    "wm_kernel_info_of": (_STATUS, [c_void_p, POINTER(KernelInfo)]),
    "wm_kernel_parameter": (_STATUS, [c_void_p, c_size_t, POINTER(Parameter)]),
    "wm_launch": (_STATUS, [c_void_p, c_void_p, POINTER(LaunchConfig), POINTER(Argument), c_size_t]),
    "wm_tensor_map_make": (_STATUS, [c_void_p, POINTER(TensorMapRequest), c_void_p]),
    "wm_tensor_map_describe": (_STATUS, [c_void_p, POINTER(TensorMapRequest), POINTER(c_char_p)]),
    "wm_gemm": (_STATUS, [c_void_p, POINTER(GemmRequest), c_void_p]),
    "wm_attention": (_STATUS, [c_void_p, POINTER(AttentionRequest), c_void_p]),
    "wm_plans_gemm": (_STATUS, [c_void_p, POINTER(GemmRequest), POINTER(c_void_p)]),
    "wm_plans_attention": (_STATUS, [c_void_p, POINTER(AttentionRequest), POINTER(c_void_p)]),
    "wm_plans_free": (None, [c_void_p]),
    "wm_plans_count": (c_size_t, [c_void_p]),
    "wm_plans_at": (_STATUS, [c_void_p, c_size_t, POINTER(PlanInfo)]),
    "wm_check": (_STATUS, [c_void_p, POINTER(CheckRequest), CheckRun, c_void_p, POINTER(c_void_p)]),
    "wm_report_free": (None, [c_void_p]),
    "wm_report_info_of": (_STATUS, [c_void_p, POINTER(ReportInfo)]),
    "wm_report_finding": (_STATUS, [c_void_p, c_size_t, POINTER(FindingInfo)]),
    "wm_report_place": (_STATUS, [c_void_p, c_size_t, c_size_t, POINTER(PlaceInfo)]),
}


def open_library(path: str, version: str = __version__) -> ctypes.CDLL:
    """Opens the shared library, which must be of this package's version."""
    try:
        library = ctypes.CDLL(path)
        library.wm_version.restype = c_char_p
        found = library.wm_version().decode()
    except (OSError, AttributeError) as error:
        raise ImportError(f"warpmill: {path} is not the library of this package, {version}: {error}; install the "
                          "package again") from None
    if found != version:
        raise ImportError(f"warpmill: {path} is of version {found} and this package of version {version}; they go "
                          "together: install the package again")
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = open_library(os.path.join(os.path.dirname(__file__), "libwarpmill.so.0.1"))

_log = logging.getLogger("warpmill")


@LogFunction
def _tell(user: Any, severity: int, text: bytes) -> None:
    """What the library has to tell, to whoever listens to the logger `warpmill`."""
    _log.log(logging.WARNING if severity else logging.INFO, "%s", text.decode(errors="replace"))


lib.wm_set_log(_tell, None)

OK, INVALID_ARGUMENT, UNSUPPORTED, LAUNCH, STOPPED = 0, 1, 2, 6, 8
_EXCEPTIONS = {INVALID_ARGUMENT: ValueError, LAUNCH: ValueError, UNSUPPORTED: NotImplementedError}


def check(status: int) -> None:
    """Raises what a call that failed says."""
    if status != OK:
        raise _EXCEPTIONS.get(status, RuntimeError)(lib.wm_error_text().decode())


def handle(function: Any, *arguments: Any) -> int:
    """The handle that a function makes."""
    place = c_void_p()
    check(function(*arguments, ctypes.byref(place)))
    return place.value  # type: ignore[return-value]


def numbers(values: Any) -> Any:
    """A list of 64-bit numbers for C."""
    return (c_int64 * len(values))(*values)
