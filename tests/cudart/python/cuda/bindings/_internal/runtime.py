"""What is looked at of cuda-python's innermost module: its C functions in capsules, here of nowhere."""

import ctypes

SIGNATURE = ctypes.create_string_buffer(b"cudaError_t (int *)")
new = ctypes.pythonapi.PyCapsule_New
new.restype = ctypes.py_object
new.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
__pyx_capi__ = {name: new(ctypes.c_void_p(16), ctypes.cast(SIGNATURE, ctypes.c_void_p), None)
                for name in ("_cudaGetDeviceCount", "_nobodyHasThis")}
