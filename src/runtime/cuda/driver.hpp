// The CUDA driver, opened at run time: the library links with no CUDA, and runs where there is none.
#pragma once

#include <string>

#include <cuda.h>
#include <cudaTypedefs.h>

#include "warpmill/error.hpp"

namespace wm::runtime::cuda {

// The driver's functions, each in the version that this code was written for. Those marked optional are null in drivers
// that do not have them.
struct Driver {
  PFN_cuGetErrorName_v6000 error_name;
  PFN_cuGetErrorString_v6000 error_string;
  PFN_cuDriverGetVersion_v2020 driver_version;
  PFN_cuInit_v2000 init;

  PFN_cuDeviceGetCount_v2000 device_count;
  PFN_cuDeviceGet_v2000 device;
  PFN_cuDeviceGetName_v2000 device_name;
  PFN_cuDeviceGetAttribute_v2000 device_attribute;
  PFN_cuDeviceTotalMem_v3020 device_memory;
  PFN_cuDevicePrimaryCtxRetain_v7000 retain_context;
  PFN_cuDevicePrimaryCtxRelease_v11000 release_context;
  PFN_cuCtxGetCurrent_v4000 current_context;
  PFN_cuCtxPushCurrent_v4000 push_context;
  PFN_cuCtxPopCurrent_v4000 pop_context;
  PFN_cuCtxSynchronize_v2000 synchronize_context;

  PFN_cuMemAlloc_v3020 allocate;
  PFN_cuMemFree_v3020 free;
  PFN_cuMemGetInfo_v3020 memory_info;
  PFN_cuMemcpyHtoDAsync_v3020 upload;
  PFN_cuMemcpyDtoHAsync_v3020 download;
  PFN_cuMemcpyDtoDAsync_v3020 copy;
  PFN_cuMemsetD8Async_v3020 fill;

  PFN_cuStreamCreate_v2000 create_stream;
  PFN_cuStreamDestroy_v4000 destroy_stream;
  PFN_cuStreamSynchronize_v2000 synchronize_stream;
  PFN_cuStreamGetCtx_v9020 stream_context;
  PFN_cuStreamGetId_v12000 stream_number;
  PFN_cuStreamIsCapturing_v10000 stream_capturing;
  PFN_cuStreamGetCaptureInfo_v12030 stream_capture;  // optional
  PFN_cuGraphNodeGetType_v10000 node_type;
  PFN_cuGraphKernelNodeGetParams_v12000 kernel_node_parameters;
  PFN_cuStreamWaitEvent_v3020 wait_event;
  PFN_cuEventCreate_v2000 create_event;
  PFN_cuEventDestroy_v4000 destroy_event;
  PFN_cuEventRecord_v2000 record_event;
  PFN_cuEventSynchronize_v2000 synchronize_event;
  PFN_cuEventElapsedTime_v2000 elapsed_time;

  PFN_cuModuleLoadDataEx_v2010 load_module;
  PFN_cuModuleUnload_v2000 unload_module;
  PFN_cuModuleGetFunction_v2000 module_function;
  PFN_cuModuleGetGlobal_v3020 module_variable;
  PFN_cuFuncGetAttribute_v2020 function_attribute;
  PFN_cuFuncSetAttribute_v9000 set_function_attribute;
  PFN_cuLaunchKernelEx_v11060 launch;
  PFN_cuModuleGetFunctionCount_v12040 module_function_count;  // optional
  PFN_cuModuleEnumerateFunctions_v12040 module_functions;     // optional
  PFN_cuFuncGetName_v12030 function_name;                     // optional
  PFN_cuFuncGetParamInfo_v12040 function_parameter;           // optional

  PFN_cuTensorMapEncodeTiled_v12000 encode_tiled;
  PFN_cuTensorMapEncodeIm2col_v12000 encode_im2col;
  PFN_cuTensorMapEncodeIm2colWide_v12080 encode_im2col_wide;  // optional

  bool own = false;  // Warpmill's (src/cudart), which executes PTX

  // Opened and initialised once. Throws not_found with the reason where there is no driver or no GPU.
  static const Driver& get();

  std::string answer(CUresult result) const;  // "CUDA answered CUDA_ERROR_INVALID_VALUE (invalid argument)"
};

// The kind of error that an answer is; `otherwise` where it depends on what was asked.
ErrorCode code_of(CUresult result, ErrorCode otherwise);
// A kernel failed, and the context with it: every later call gives the same answer.
bool is_sticky(CUresult result);
// The call is not allowed while a stream is captured into a graph.
bool is_capture_refusal(CUresult result);

}  // namespace wm::runtime::cuda
