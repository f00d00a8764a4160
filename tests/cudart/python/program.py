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

folder = os.environ["CUTE_DSL_DUMP_DIR"]
folders = set()
for _ in range(2):
    options = compiler.CompileOptions()
    options.apply_envar_settings("the environment", "kernel")
    ptx, cubin = options.options[compiler.KeepPTX], options.options[compiler.KeepCUBIN]
    folders.add(os.path.dirname(ptx.full_ptx_path))
    assert ptx.dump_path == cubin.dump_path and os.path.dirname(cubin.full_cubin_path) == os.path.dirname(ptx.full_ptx_path)
print(options.applied, os.path.basename(ptx.full_ptx_path), os.path.basename(cubin.full_cubin_path))
print(len(folders), all(os.path.dirname(one) == folder and os.path.isdir(one) for one in folders))
print(config.joint_graph_constant_folding, os.environ["CUTE_DSL_KEEP"], os.path.isdir(folder), os.environ["CUPY_CACHE_IN_MEMORY"])
