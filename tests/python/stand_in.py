"""Stand-ins for arrays of libraries that are not installed: their protocols, over memory of the virtual GPU."""

import sys

import numpy as np

from warpmill._arrays import DeviceArray, dense_strides
from warpmill._devices import device
from warpmill._dtypes import name_of

MULTIPROCESSORS = 4  # the number of the stand-in's device
DEVICE = f"virtual:sm_90a:sms={MULTIPROCESSORS}"


def on_device(array: np.ndarray, where: str = "virtual") -> DeviceArray:
    """A copy of a numpy array in device memory."""
    result = DeviceArray(array.shape, name_of(array.dtype), device(where))
    result.buffer.upload(np.ascontiguousarray(array))
    return result


class CuPyLike:
    """What CuPy shows of an array, and no more."""

    def __init__(self, array: np.ndarray, strides=None, where: str = "virtual"):
        self._memory = on_device(array, where)
        self._strides = strides

    @property
    def address(self) -> int:
        return self._memory.buffer.address

    @property
    def __cuda_array_interface__(self) -> dict:
        return {"shape": self._memory.shape, "typestr": np.dtype(self._memory.dtype).str, "version": 3,
                "data": (self.address, False), "strides": self._strides, "stream": None}

    def numpy(self) -> np.ndarray:
        return self._memory.numpy()


class JaxLike:
    """What JAX shows of an array, and no more."""

    def __init__(self, array: np.ndarray):
        self._memory = on_device(array)
        self.capsules = 0

    def __dlpack__(self, stream=None):
        self.capsules += 1
        return self._memory.__dlpack__()

    def __dlpack_device__(self):
        return self._memory.__dlpack_device__()


class Tensor:
    """What a torch tensor shows of itself where the quick way looks, over the virtual GPU."""

    requires_grad = False

    def __init__(self, array: np.ndarray, memory=None, strides=None):
        self.shape, self.dtype = tuple(array.shape), sys.intern(array.dtype.name)  # types are one object each
        self.memory = memory or on_device(array, DEVICE)
        self._strides = strides or dense_strides(self.shape)

    def stride(self):
        return self._strides

    def get_device(self):
        return MULTIPROCESSORS

    def data_ptr(self):
        return self.memory.buffer.address

    def new_empty(self, shape):
        return Tensor(np.zeros(shape, self.dtype))

    def numpy(self):
        return self.memory.numpy()


class Parameter(Tensor):
    requires_grad = True
