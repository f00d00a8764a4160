// Opening the driver and reading its answers.
#include "runtime/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "common/environment.hpp"

namespace wm::runtime::cuda {
namespace {

constexpr int oldest_version = 12000;  // CUDA 12.0: the first with tensor maps

std::string version_name(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

[[noreturn]] void give_up(const std::string& why) { throw Error(ErrorCode::not_found, why); }

class Library {
 public:
  Library() {
    void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: the driver does not like it
    if (!handle) give_up(fmt::format("no NVIDIA driver: {}; install one, or use the virtual device", dlerror()));
    own_ = dlsym(handle, "warpmill_virtual_driver") != nullptr;
    if (own_ && environment("WARPMILL_OWN_DRIVER").empty())  // set by tests of this side of the driver
      give_up("no NVIDIA driver: this process was given Warpmill's own (`warpmill run`); use the virtual device");
    resolve_ = reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(handle, "cuGetProcAddress_v2"));
    if (!resolve_) give_up("the NVIDIA driver is older than CUDA 12.0; update it");
  }

  bool own() const { return own_; }

  // cuGetProcAddress gives the newest version of a function that is not newer than the one asked for. A function takes
  // its version from the name of its pointer type.
  template <class Function>
  void optional(Function& function, const char* name, int version) const {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status;
    const CUresult result = resolve_(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
    const bool found = result == CUDA_SUCCESS && status == CU_GET_PROC_ADDRESS_SUCCESS;
    function = found ? reinterpret_cast<Function>(address) : nullptr;
  }
  template <class Function>
  void required(Function& function, const char* name, int version) const {
    optional(function, name, version);
    if (!function) give_up(fmt::format("the NVIDIA driver has no {}; it is too old, update it", name));
  }

 private:
  PFN_cuGetProcAddress_v12000 resolve_ = nullptr;
  bool own_ = false;
};

Driver open() {
  const Library library;
  Driver driver{};
  library.required(driver.error_name, "cuGetErrorName", 6000);
  library.required(driver.error_string, "cuGetErrorString", 6000);
  library.required(driver.driver_version, "cuDriverGetVersion", 2020);
  library.required(driver.init, "cuInit", 2000);
  library.required(driver.device_count, "cuDeviceGetCount", 2000);
  library.required(driver.device, "cuDeviceGet", 2000);
  library.required(driver.device_name, "cuDeviceGetName", 2000);
  library.required(driver.device_attribute, "cuDeviceGetAttribute", 2000);
  library.required(driver.device_memory, "cuDeviceTotalMem", 3020);
  library.required(driver.retain_context, "cuDevicePrimaryCtxRetain", 7000);
  library.required(driver.release_context, "cuDevicePrimaryCtxRelease", 11000);
  library.required(driver.current_context, "cuCtxGetCurrent", 4000);
  library.required(driver.push_context, "cuCtxPushCurrent", 4000);
  library.required(driver.pop_context, "cuCtxPopCurrent", 4000);
  library.required(driver.synchronize_context, "cuCtxSynchronize", 2000);
  library.required(driver.allocate, "cuMemAlloc", 3020);
  library.required(driver.free, "cuMemFree", 3020);
  library.required(driver.memory_info, "cuMemGetInfo", 3020);
  library.required(driver.upload, "cuMemcpyHtoDAsync", 3020);
  library.required(driver.download, "cuMemcpyDtoHAsync", 3020);
  library.required(driver.copy, "cuMemcpyDtoDAsync", 3020);
  library.required(driver.fill, "cuMemsetD8Async", 3020);
  library.required(driver.create_stream, "cuStreamCreate", 2000);
  library.required(driver.destroy_stream, "cuStreamDestroy", 4000);
  library.required(driver.synchronize_stream, "cuStreamSynchronize", 2000);
  library.required(driver.stream_context, "cuStreamGetCtx", 9020);
  library.required(driver.stream_number, "cuStreamGetId", 12000);
  driver.own = library.own();
  library.required(driver.stream_capturing, "cuStreamIsCapturing", 10000);
  library.optional(driver.stream_capture, "cuStreamGetCaptureInfo", 12030);
  library.required(driver.node_type, "cuGraphNodeGetType", 10000);
  library.required(driver.kernel_node_parameters, "cuGraphKernelNodeGetParams", 12000);
  library.required(driver.wait_event, "cuStreamWaitEvent", 3020);
  library.required(driver.create_event, "cuEventCreate", 2000);
  library.required(driver.destroy_event, "cuEventDestroy", 4000);
  library.required(driver.record_event, "cuEventRecord", 2000);
  library.required(driver.synchronize_event, "cuEventSynchronize", 2000);
  library.required(driver.elapsed_time, "cuEventElapsedTime", 2000);
  library.required(driver.load_module, "cuModuleLoadDataEx", 2010);
  library.required(driver.unload_module, "cuModuleUnload", 2000);
  library.required(driver.module_function, "cuModuleGetFunction", 2000);
  library.required(driver.module_variable, "cuModuleGetGlobal", 3020);
  library.required(driver.function_attribute, "cuFuncGetAttribute", 2020);
  library.required(driver.set_function_attribute, "cuFuncSetAttribute", 9000);
  library.required(driver.launch, "cuLaunchKernelEx", 11060);
  library.optional(driver.module_function_count, "cuModuleGetFunctionCount", 12040);
  library.optional(driver.module_functions, "cuModuleEnumerateFunctions", 12040);
  library.optional(driver.function_name, "cuFuncGetName", 12030);
  library.optional(driver.function_parameter, "cuFuncGetParamInfo", 12040);
  library.required(driver.encode_tiled, "cuTensorMapEncodeTiled", 12000);
  library.required(driver.encode_im2col, "cuTensorMapEncodeIm2col", 12000);
  library.optional(driver.encode_im2col_wide, "cuTensorMapEncodeIm2colWide", 12080);

  int version = 0;
  driver.driver_version(&version);
  if (version < oldest_version)
    give_up(fmt::format("the NVIDIA driver is one for CUDA {}, and {} or newer is needed; update it",
                        version_name(version), version_name(oldest_version)));
  if (const CUresult result = driver.init(0); result != CUDA_SUCCESS)
    give_up(
        fmt::format("the NVIDIA driver (CUDA {}) finds no GPU to use: {}; see what nvidia-smi says, and whether "
                    "CUDA_VISIBLE_DEVICES hides it",
                    version_name(version), driver.answer(result)));
  return driver;
}

}  // namespace

const Driver& Driver::get() {
  static const Driver driver = open();
  return driver;
}

std::string Driver::answer(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(result, &name) != CUDA_SUCCESS || error_string(result, &text) != CUDA_SUCCESS)
    return fmt::format("CUDA answered {}, which has no name", static_cast<int>(result));
  return fmt::format("CUDA answered {} ({})", name, text);
}

ErrorCode code_of(CUresult result, ErrorCode otherwise) {
  if (is_sticky(result)) return ErrorCode::execution;
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY: return ErrorCode::out_of_memory;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_NOT_FOUND: return ErrorCode::not_found;
    case CUDA_ERROR_INVALID_PTX: return ErrorCode::compile;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_PERMITTED: return ErrorCode::unsupported;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE: return ErrorCode::launch;
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE: return ErrorCode::execution;
    default: return otherwise;
  }
}

bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
  }
}

bool is_capture_refusal(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

}  // namespace wm::runtime::cuda
