"""A Python program as `warpmill run` starts it, with stand-ins for the packages that are led."""

import ctypes
import os

from cuda.bindings._internal import runtime
from cutlass.base_dsl import compiler
from torch._inductor import config

get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype = ctypes.c_void_p
get.argtypes = [ctypes.py_object, ctypes.c_void_p]
signature = ctypes.cast(runtime.SIGNATURE, ctypes.c_void_p)
pointers = {name: get(capsule, signature) for name, capsule in runtime.__pyx_capi__.items()}
devices = ctypes.c_int(-1)
print(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(pointers["_cudaGetDeviceCount"])(ctypes.byref(devices)), devices.value)
print(pointers["_nobodyHasThis"])

options = compiler.CompileOptions()
options.apply_envar_settings("the environment", "kernel")
ptx, folder = options.options[compiler.KeepPTX], os.environ["CUTE_DSL_DUMP_DIR"]
print(options.applied, os.path.relpath(ptx.dump_path, folder), os.path.relpath(ptx.full_ptx_path, folder))
print(config.joint_graph_constant_folding, os.environ["CUTE_DSL_KEEP"], os.path.isdir(folder), os.environ["CUPY_CACHE_IN_MEMORY"])
