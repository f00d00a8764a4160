// The driver's modules, libraries, functions, streams and events as objects.
#include <algorithm>
#include <cstdio>

#include "cudart/capture.hpp"
#include "cudart/face.hpp"
#include "cudart/launch.hpp"
#include "cudart/module.hpp"
#include "cudart/stream.hpp"

using namespace wm::cudart;

namespace {

template <class Handle>
void find_kernel(Handle* handle, Module& module, const char* name) {
  require(handle != nullptr && name != nullptr);
  Kernel* const found = module.kernel(name);
  require(found != nullptr, cudaErrorSymbolNotFound);
  *handle = reinterpret_cast<Handle>(found);
}

template <class Handle>
void enumerate(Handle* handles, unsigned count, Module& module) {
  require(handles != nullptr && count > 0);
  for (const std::string& name : module.kernel_names()) {
    if (count-- == 0) break;
    find_kernel(handles++, module, name.c_str());
  }
}

void find_variable(CUdeviceptr* address, std::size_t* bytes, Module& module, const char* name) {
  require(name != nullptr);
  const auto variable = module.variable(name, current_device());
  require(variable.has_value(), cudaErrorSymbolNotFound);
  if (address != nullptr) *address = variable->address;
  if (bytes != nullptr) *bytes = variable->bytes;
}

int attribute_of(Kernel& kernel, CUfunction_attribute attribute) {
  const wm::vgpu::ProgramKernel& loaded = *kernel.on(current_device()).kernel;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return static_cast<int>(loaded.max_threads);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return static_cast<int>(loaded.static_shared_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return static_cast<int>(loaded.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return 32;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return Platform::get().chip().arch.number();
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return kernel.dynamic_shared_limit;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return kernel.carveout;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: return kernel.nonportable_cluster;
    default: require(attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX); return 0;
  }
}
void set_attribute(Kernel& kernel, CUfunction_attribute attribute, int value) {
  const std::size_t fixed = kernel.on(current_device()).kernel->static_shared_bytes;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    require(value >= 0 && static_cast<std::size_t>(value) + fixed <= Platform::get().chip().shared_bytes_per_block);
    kernel.limit_dynamic_shared(value);
  } else if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    kernel.nonportable_cluster = value != 0;
  } else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    kernel.carveout = value;
  } else {
    fail(cudaErrorInvalidValue);
  }
}

}  // namespace

WARPMILL_FACE CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return context_answer([&] {
    require(module != nullptr);
    *module = reinterpret_cast<CUmodule>(load_module(image));
  });
}
WARPMILL_FACE CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                          void** values) {
  const CUresult result = cuModuleLoadData(module, image);
  char* log = nullptr;
  std::size_t room = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) room = reinterpret_cast<std::uintptr_t>(values[i]);
  }
  if (log != nullptr && room > 0)
    std::snprintf(log, room, "%s", result == CUDA_SUCCESS ? "" : "warpmill: this is no PTX that can be read");
  return result;
}
WARPMILL_FACE CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return cuModuleLoadData(module, image);
}
WARPMILL_FACE CUresult cuModuleLoad(CUmodule* module, const char* file) {
  return context_answer([&] {
    require(module != nullptr && file != nullptr);
    *module = reinterpret_cast<CUmodule>(load_module_file(file));
  });
}
WARPMILL_FACE CUresult cuModuleUnload(CUmodule module) {
  return context_answer([&] { unload_module(module); });
}
WARPMILL_FACE CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return context_answer([&] { find_kernel(function, known_module(module), name); });
}
WARPMILL_FACE CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return context_answer([&] { *count = static_cast<unsigned>(known_module(module).kernel_names().size()); });
}
WARPMILL_FACE CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  return context_answer([&] { enumerate(functions, count, known_module(module)); });
}
WARPMILL_FACE CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return context_answer([&] { find_variable(address, bytes, known_module(module), name); });
}
WARPMILL_FACE CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return driver_answer([&] { *mode = CU_MODULE_LAZY_LOADING; });
}

WARPMILL_FACE CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                                         CUlibraryOption*, void**, unsigned) {
  return driver_answer([&] {
    require(library != nullptr);
    *library = reinterpret_cast<CUlibrary>(load_library(code));
  });
}
WARPMILL_FACE CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option*, void**, unsigned,
                                             CUlibraryOption*, void**, unsigned) {
  return driver_answer([&] {
    require(library != nullptr && file != nullptr);
    *library = reinterpret_cast<CUlibrary>(load_library_file(file));
  });
}
WARPMILL_FACE CUresult cuLibraryUnload(CUlibrary library) {
  return driver_answer([&] { unload_module(library); });
}
WARPMILL_FACE CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return driver_answer([&] { find_kernel(kernel, known_module(library), name); });
}
WARPMILL_FACE CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return driver_answer([&] { *count = static_cast<unsigned>(known_module(library).kernel_names().size()); });
}
WARPMILL_FACE CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  return driver_answer([&] { enumerate(kernels, count, known_module(library)); });
}
WARPMILL_FACE CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return context_answer([&] { *module = reinterpret_cast<CUmodule>(&known_module(library)); });
}
WARPMILL_FACE CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return context_answer([&] { find_variable(address, bytes, known_module(library), name); });
}
WARPMILL_FACE CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return context_answer([&] { *function = reinterpret_cast<CUfunction>(&known_kernel(kernel)); });
}
WARPMILL_FACE CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return driver_answer([&] { *name = known_kernel(kernel).name().c_str(); });
}
WARPMILL_FACE CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
  return driver_answer([&] { set_attribute(known_kernel(kernel), attribute, value); });
}
WARPMILL_FACE CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
  return driver_answer([&] { *value = attribute_of(known_kernel(kernel), attribute); });
}
WARPMILL_FACE CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return context_answer([&] {
    require(value != nullptr);
    *value = attribute_of(known_kernel(function), attribute);
  });
}
WARPMILL_FACE CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return context_answer([&] { set_attribute(known_kernel(function), attribute, value); });
}
WARPMILL_FACE CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return context_answer([&] { known_kernel(function); });
}
WARPMILL_FACE CUresult cuFuncGetName(const char** name, CUfunction function) {
  return context_answer([&] { *name = known_kernel(function).name().c_str(); });
}
WARPMILL_FACE CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return context_answer([&] { *module = reinterpret_cast<CUmodule>(&known_kernel(function).module()); });
}
WARPMILL_FACE CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return context_answer([&] {
    const auto& parameters = known_kernel(function).on(current_device()).kernel->parameters;
    require(index < parameters.size());
    if (offset != nullptr) *offset = parameters[index].offset;
    if (bytes != nullptr) *bytes = parameters[index].bytes;
  });
}
WARPMILL_FACE CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), index, offset, bytes);
}
WARPMILL_FACE CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return context_answer([&] {
    require(stream != nullptr && flags <= 1);
    *stream = reinterpret_cast<CUstream>(Streams::get().create(current_device(), flags, priority).get());
  });
}
WARPMILL_FACE CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}
WARPMILL_FACE CUresult cuStreamDestroy(CUstream stream) {
  return context_answer([&] { Streams::get().destroy(stream); });
}
WARPMILL_FACE CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return driver_answer([&] {
    *mode = static_cast<CUstreamCaptureMode>(exchange_capture_mode(static_cast<cudaStreamCaptureMode>(*mode)));
  });
}
WARPMILL_FACE CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return context_answer([&] {
    require(event != nullptr);
    *event = reinterpret_cast<CUevent>(create_event(flags));
  });
}
WARPMILL_FACE CUresult cuEventDestroy(CUevent event) {
  return context_answer([&] { destroy_event(event); });
}
WARPMILL_FACE CUresult cuEventQuery(CUevent event) {
  return context_answer([&] { require(Streams::get().reached(known_event(event)), cudaErrorNotReady); });
}
WARPMILL_FACE CUresult cuEventSynchronize(CUevent event) {
  return context_answer([&] { Streams::get().wait(known_event(event)); });
}
WARPMILL_FACE CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return context_answer([&] { *milliseconds = milliseconds_between(known_event(start), known_event(end)); });
}
#undef cuEventElapsedTime
WARPMILL_FACE CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
