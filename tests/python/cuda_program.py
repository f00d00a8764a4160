"""A program of CUDA's driver API: its threads write different values to one place."""

import ctypes
driver = ctypes.CDLL("libcuda.so.1")
module, function, context, address = (ctypes.c_void_p() for _ in range(4))
ptx = b""".version 8.0
.target sm_90a
.address_size 64
.visible .entry race(.param .u64 x) {
  .reg .b64 %a; .reg .b32 %t;
  ld.param.u64 %a, [x];
  mov.u32 %t, %tid.x;
  st.global.u32 [%a], %t;
  ret;
}
"""
def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    assert status == 0, (name, status)
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), ptx)
call("cuModuleGetFunction", ctypes.byref(function), module, b"race")
call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4))
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(address))
call("cuLaunchKernel", function, 1, 1, 1, 64, 1, 1, 0, None, parameters, None)
call("cuCtxSynchronize")
print("it ran")
