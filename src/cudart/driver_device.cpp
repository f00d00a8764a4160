// The driver's devices, contexts and errors.
#include <algorithm>
#include <cstring>

#include "cudart/copies.hpp"
#include "cudart/device.hpp"
#include "cudart/entry_points.hpp"
#include "cudart/face.hpp"
#include "cudart/stream.hpp"

using namespace wm::cudart;

// By this name Warpmill itself knows that a libcuda.so.1 is no GPU's.
WARPMILL_FACE int warpmill_virtual_driver() { return 1; }

WARPMILL_FACE CUresult cuInit(unsigned flags) {
  note_initialised();
  return driver_answer([&] { require(flags == 0); });
}
// The driver has nothing to log here that it does not say on standard error.
WARPMILL_FACE CUresult cuLogsRegisterCallback(CUlogsCallback, void*, CUlogsCallbackHandle* handle) {
  if (handle != nullptr) *handle = nullptr;
  return CUDA_SUCCESS;
}
WARPMILL_FACE CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle) { return CUDA_SUCCESS; }

// Tables that NVIDIA's own libraries ask for, and nobody else. NVRTC does without; a static runtime that could not be
// redirected fails, and says so to who called it.
WARPMILL_FACE CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}
WARPMILL_FACE CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
WARPMILL_FACE CUresult cuGetErrorName(CUresult result, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = driver_error_name(result);
  return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
WARPMILL_FACE CUresult cuGetErrorString(CUresult result, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = driver_error_name(result) != nullptr ? error_string(static_cast<cudaError_t>(result)) : nullptr;
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
WARPMILL_FACE CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* found) {
  if (name == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const DriverFunction known =
      driver_function(name, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  *function = known.function;
  if (found != nullptr)
    *found = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
             : known.came_later   ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != nullptr || found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

WARPMILL_FACE CUresult cuDeviceGetCount(int* count) {
  return driver_answer([&] {
    require(count != nullptr);
    *count = Platform::get().devices();
  });
}
WARPMILL_FACE CUresult cuDeviceGet(CUdevice* device, int number) {
  return driver_answer([&] {
    require(device != nullptr);
    require_device(number);
    *device = number;
  });
}
WARPMILL_FACE CUresult cuDeviceGetName(char* text, int length, CUdevice device) {
  return driver_answer([&] {
    require(text != nullptr && length > 0);
    require_device(device);
    const std::string name = device_name();
    text[name.copy(text, static_cast<std::size_t>(length - 1))] = '\0';
  });
}
WARPMILL_FACE CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return driver_answer([&] {
    require(uuid != nullptr);
    require_device(device);
    const cudaDeviceProp properties = device_properties(device);
    std::memcpy(uuid, &properties.uuid, sizeof(*uuid));
  });
}
WARPMILL_FACE CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return driver_answer([&] {
    require_device(device);
    const std::string id = pci_bus_id(device);
    require(text != nullptr && length > static_cast<int>(id.size()));
    std::strcpy(text, id.c_str());
  });
}
WARPMILL_FACE CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return driver_answer([&] {
    require(bytes != nullptr);
    require_device(device);
    *bytes = Platform::get().chip().memory_bytes;
  });
}
WARPMILL_FACE CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return driver_answer([&] {
    require_device(device);
    const auto found = device_attribute(attribute);
    require(value != nullptr && found.has_value());
    *value = *found;
    // What the driver has beyond the runtime's list.
    if (attribute == CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED) *value = Platform::get().chip().arch.major >= 9;
  });
}
WARPMILL_FACE CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return driver_answer([&] {
    require_device(device);
    *major = Platform::get().chip().arch.major;
    *minor = Platform::get().chip().arch.minor;
  });
}
WARPMILL_FACE CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return driver_answer([&] {
    require_device(device);
    require_device(peer);
    *can = device != peer;
  });
}

WARPMILL_FACE CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return driver_answer([&] {
    require(context != nullptr);
    ++primary_context(device).retained;
    *context = handle_of(&primary_context(device));
  });
}
WARPMILL_FACE CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return driver_answer([&] {
    require(primary_context(device).retained > 0, cudaErrorDeviceUninitialized);
    --primary_context(device).retained;
  });
}
WARPMILL_FACE CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return driver_answer([&] {
    if (flags != nullptr) *flags = primary_context(device).flags;
    if (active != nullptr) *active = primary_context(device).retained > 0;
  });
}
WARPMILL_FACE CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return driver_answer([&] { primary_context(device).flags = flags; });
}
WARPMILL_FACE CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return driver_answer([&] { primary_context(device).retained = 0; });
}
WARPMILL_FACE CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return driver_answer([&] {
    require(context != nullptr);
    Context* const created = create_context(device, flags);
    push_context(*created);
    *context = handle_of(created);
  });
}
#undef cuCtxCreate
WARPMILL_FACE CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}
WARPMILL_FACE CUresult cuCtxDestroy(CUcontext context) {
  return driver_answer([&] { destroy_context(context); });
}
WARPMILL_FACE CUresult cuCtxGetCurrent(CUcontext* context) {
  return driver_answer([&] {
    require(context != nullptr);
    *context = handle_of(current_context());
  });
}
WARPMILL_FACE CUresult cuCtxSetCurrent(CUcontext context) {
  return driver_answer([&] { set_current_context(context != nullptr ? &known_context(context) : nullptr); });
}
WARPMILL_FACE CUresult cuCtxPushCurrent(CUcontext context) {
  return driver_answer([&] { push_context(known_context(context)); });
}
WARPMILL_FACE CUresult cuCtxPopCurrent(CUcontext* context) {
  return driver_answer([&] {
    Context* const top = pop_context();
    if (context != nullptr) *context = handle_of(top);
  });
}
WARPMILL_FACE CUresult cuCtxGetDevice(CUdevice* device) {
  return context_answer([&] { *device = current_context()->device; });
}
WARPMILL_FACE CUresult cuCtxGetFlags(unsigned* flags) {
  return context_answer([&] { *flags = current_context()->flags; });
}
WARPMILL_FACE CUresult cuCtxSynchronize() {
  return context_answer([] { Streams::get().wait_for_device(current_device()); });
}
WARPMILL_FACE CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  return driver_answer([&] { *version = CUDA_VERSION; });
}
WARPMILL_FACE CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return context_answer([&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
  });
}
WARPMILL_FACE CUresult cuCtxSetLimit(CUlimit, size_t) {
  return context_answer([] {});
}
// Limits are the chip's defaults.
WARPMILL_FACE CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return context_answer([&] {
    constexpr std::size_t defaults[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};
    require(limit >= 0 && limit < 7, cudaErrorUnsupportedLimit);
    *value = defaults[limit];
  });
}
