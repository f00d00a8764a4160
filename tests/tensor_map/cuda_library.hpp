// The CUDA driver for test programs that are carried to a GPU: opened at run time, primary context of the first device.
#pragma once

#include <string>

#include <cuda.h>
#include <dlfcn.h>

#include "warpmill/architecture.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

class CudaLibrary {
 public:
  // Throws not_found with the reason where there is no driver or no GPU.
  CudaLibrary() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr) throw Error(ErrorCode::not_found, std::string("no CUDA driver: ") + dlerror());
    call<decltype(&cuInit)>("cuInit", 0u);
    CUdevice device = 0;
    call<decltype(&cuDeviceGet)>("cuDeviceGet", &device, 0);
    char text[256] = {};
    call<decltype(&cuDeviceGetName)>("cuDeviceGetName", text, static_cast<int>(sizeof(text)), device);
    name = text;
    call<decltype(&cuDriverGetVersion)>("cuDriverGetVersion", &driver_version);
    call<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute", &arch.major,
                                          CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    call<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute", &arch.minor,
                                          CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    arch.specific = true;
    CUcontext context = nullptr;
    call<decltype(&cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain", &context, device);
    call<decltype(&cuCtxSetCurrent)>("cuCtxSetCurrent", context);
  }

  // The function's exported name may carry a version suffix that the header hides behind a macro; give it in full.
  template <class Function>
  Function find(const char* symbol) const {
    auto* address = reinterpret_cast<Function>(dlsym(library_, symbol));
    if (address == nullptr) throw Error(ErrorCode::not_found, std::string("the CUDA driver has no ") + symbol);
    return address;
  }
  // Function is a type alone: an address of one, never used, would be linked where nothing optimises it away.
  template <class Function, class... Args>
  void call(const char* symbol, Args... args) const {
    const CUresult result = find<Function>(symbol)(args...);
    if (result != CUDA_SUCCESS)
      throw Error(ErrorCode::execution, std::string(symbol) + " failed with error " + std::to_string(result));
  }

  std::string name;
  int driver_version = 0;
  Architecture arch;

 private:
  void* library_ = nullptr;  // stays open: the driver does not like to be unloaded
};

}  // namespace wm::test
