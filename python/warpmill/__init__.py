"""Kernels for NVIDIA's tensor cores, your own kernels, and a virtual GPU with a judge that runs them on a CPU.

    import numpy as np, warpmill as wm
    y = wm.matmul(x, w.T, bias=b, activation="relu")   # torch tensors on their GPU, numpy arrays on the virtual one
    print(wm.check(wm.Kernel(source, "kernel")[grid, block], x, y))

With torch, import it first (or import warpmill.torch): torch.compile then keeps the operators whole.
"""

import sys

from ._attention import attention
from ._arrays import DeviceArray
from ._check import Finding, Place, Report, check
from ._devices import Device, device, devices
from ._kernel import Kernel
from ._library import __version__
from ._matmul import matmul
from ._plan import Plan, plan
from ._tensor_map import TensorMap

__all__ = ["Device", "DeviceArray", "Finding", "Kernel", "Place", "Plan", "Report", "TensorMap", "attention", "check",
           "device", "devices", "matmul", "plan", "__version__"]

if "torch" in sys.modules:
    from . import torch  # noqa: F401
