"""Devices, streams and device memory."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Optional

from . import _library
from ._library import check, lib


class Device:
    """A GPU ("cuda:0") or a virtual one ("virtual:sm_90a"). Opening an id twice gives the same device.

    >>> device("virtual").arch
    'sm_90a'
    """

    def __init__(self, id: Optional[str]) -> None:
        self.handle = _library.handle(lib.wm_device_open, id.encode() if id else None)
        info = _library.DeviceInfo()
        check(lib.wm_device_info_of(self.handle, ctypes.byref(info)))
        self.id: str = info.id.decode()
        self.name: str = info.name.decode()
        self.arch: str = info.arch.decode()
        self.is_virtual = bool(info.is_virtual)
        self.multiprocessors: int = info.multiprocessors
        self.shared_bytes_per_block: int = info.shared_bytes_per_block

    def __repr__(self) -> str:
        return f"<warpmill device {self.id}: {self.name}>"

    def synchronize(self) -> None:
        """Waits until everything that was given to the device is done."""
        check(lib.wm_device_synchronize(self.handle))


_open: Dict[Optional[str], Device] = {}


def device(id: Any = None) -> Device:
    """The device of that id; without one the first GPU, or the virtual one."""
    if isinstance(id, Device):
        return id
    if id is not None and not isinstance(id, str):
        raise TypeError(f"a device is named by a text, 'cuda:0' or 'virtual:sm_90a', and this is {id!r}")
    if id not in _open:
        _open[id] = Device(id)
    return _open[id]


def devices() -> List[str]:
    """The ids of the devices there are, GPUs first.

    >>> "virtual:sm_90a" in devices()
    True
    """
    count, info, ids = ctypes.c_size_t(), _library.DeviceInfo(), []
    check(lib.wm_device_count(ctypes.byref(count)))
    for index in range(count.value):
        check(lib.wm_device_at(index, ctypes.byref(info)))
        ids.append(info.id.decode())
    return ids


class Stream:
    """The caller's stream of a device, for the length of a call."""

    def __init__(self, on: Device, native: int = 0) -> None:
        self.device, self.native = on, native
        self.handle = _library.handle(lib.wm_stream_wrap, on.handle, native)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *ignored: Any) -> None:
        lib.wm_stream_free(self.handle)

    def synchronize(self) -> None:
        check(lib.wm_stream_synchronize(self.handle))


class Buffer:
    """Device memory of our own."""

    def __init__(self, on: Device, size: int) -> None:
        self.handle = None
        self.device, self.size = on, size
        self.handle = _library.handle(lib.wm_buffer_create, on.handle, size)
        self.address: int = lib.wm_buffer_address(self.handle)

    def __del__(self) -> None:
        if self.handle:
            lib.wm_buffer_free(self.handle)

    def upload(self, array: Any) -> None:
        """A contiguous numpy array."""
        check(lib.wm_buffer_upload(self.handle, 0, array.ctypes.data, array.nbytes))

    def download(self, array: Any) -> None:
        check(lib.wm_buffer_download(self.handle, 0, array.ctypes.data, array.nbytes))

    def name(self, name: str) -> None:
        """What reports of the virtual GPU call it."""
        check(lib.wm_buffer_name(self.handle, name.encode()))
