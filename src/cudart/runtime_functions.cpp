// The runtime's view of kernels: attributes, occupancy, libraries, and the driver's functions.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include <dlfcn.h>

#include "cudart/entry_points.hpp"
#include "cudart/face.hpp"
#include "cudart/launch.hpp"
#include "cudart/registration.hpp"

using namespace wm::cudart;

WARPMILL_FACE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return answer([&] {
    require(attributes != nullptr);
    Kernel& kernel = kernel_of(function);
    const wm::vgpu::ProgramKernel& loaded = *kernel.on(current_device()).kernel;
    *attributes = {};
    attributes->sharedSizeBytes = loaded.static_shared_bytes;
    attributes->localSizeBytes = loaded.local_bytes;
    attributes->maxThreadsPerBlock = static_cast<int>(loaded.max_threads);
    attributes->numRegs = 32;  // the virtual GPU allocates none
    attributes->ptxVersion = attributes->binaryVersion = Platform::get().chip().arch.number();
    attributes->maxDynamicSharedSizeBytes =
        std::max(0, kernel.dynamic_shared_limit -
                        (kernel.dynamic_shared_set ? 0 : static_cast<int>(loaded.static_shared_bytes)));
    attributes->preferredShmemCarveout = kernel.carveout;
    attributes->clusterDimMustBeSet = loaded.required_cluster.x != 0;
    attributes->requiredClusterWidth = static_cast<int>(loaded.required_cluster.x);
    attributes->requiredClusterHeight = static_cast<int>(loaded.required_cluster.y);
    attributes->requiredClusterDepth = static_cast<int>(loaded.required_cluster.z);
    attributes->nonPortableClusterSizeAllowed = kernel.nonportable_cluster;
  });
}
WARPMILL_FACE cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return answer([&] {
    Kernel& kernel = kernel_of(function);
    const std::size_t fixed = kernel.on(current_device()).kernel->static_shared_bytes;
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      require(value >= 0 && static_cast<std::size_t>(value) + fixed <= Platform::get().chip().shared_bytes_per_block);
      kernel.limit_dynamic_shared(value);
    } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
      require(value >= -1 && value <= 100);
      kernel.carveout = value;
    } else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
      kernel.nonportable_cluster = value != 0;
    } else {
      require(attribute > cudaFuncAttributePreferredSharedMemoryCarveout && attribute < cudaFuncAttributeMax);
    }
  });
}
WARPMILL_FACE cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return answer([&] { kernel_of(function); });
}
WARPMILL_FACE cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return answer([&] { *name = kernel_of(function).name().c_str(); });
}
WARPMILL_FACE cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  return answer([&] {
    const auto& parameters = kernel_of(function).on(current_device()).kernel->parameters;
    require(index < parameters.size());
    if (offset != nullptr) *offset = parameters[index].offset;
    if (bytes != nullptr) *bytes = parameters[index].bytes;
  });
}
WARPMILL_FACE cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return answer([&] { *function = reinterpret_cast<cudaFunction_t>(&kernel_of(symbol)); });
}
WARPMILL_FACE cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* symbol) {
  return answer([&] { *kernel = reinterpret_cast<cudaKernel_t>(&kernel_of(symbol)); });
}
WARPMILL_FACE cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                                                          int device) {
  if (const cudaError_t status = answer([&] { require_device(device); })) return status;
  return cudaFuncSetAttribute(kernel, attribute, value);
}

namespace {
cudaError_t find_driver_function(const char* name, void** function, unsigned version, bool per_thread_stream,
                                 cudaDriverEntryPointQueryResult* found) {
  return answer([&] {
    require(name != nullptr && function != nullptr);
    const DriverFunction known = driver_function(name, static_cast<int>(version), per_thread_stream);
    *function = known.function;
    if (found != nullptr)
      *found = *function != nullptr ? cudaDriverEntryPointSuccess
               : known.came_later   ? cudaDriverEntryPointVersionNotSufficent
                                    : cudaDriverEntryPointSymbolNotFound;
    else
      require(*function != nullptr, cudaErrorSymbolNotFound);
  });
}
}  // namespace

WARPMILL_FACE cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                           unsigned long long flags,
                                                           cudaDriverEntryPointQueryResult* found) {
  return find_driver_function(name, function, version, (flags & cudaEnablePerThreadDefaultStream) != 0, found);
}
WARPMILL_FACE cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                                  cudaDriverEntryPointQueryResult* found) {
  return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, found);
}
WARPMILL_FACE cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* name, void** function, unsigned version,
                                                                unsigned long long flags,
                                                                cudaDriverEntryPointQueryResult* found) {
  return find_driver_function(name, function, version, (flags & cudaEnableLegacyStream) == 0, found);
}

WARPMILL_FACE cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                              unsigned, cudaLibraryOption*, void**, unsigned) {
  return answer([&] {
    require(library != nullptr);
    *library = reinterpret_cast<cudaLibrary_t>(load_library(code));
  });
}
WARPMILL_FACE cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file, cudaJitOption*, void**,
                                                  unsigned, cudaLibraryOption*, void**, unsigned) {
  return answer([&] {
    require(library != nullptr && file != nullptr);
    *library = reinterpret_cast<cudaLibrary_t>(load_library_file(file));
  });
}
WARPMILL_FACE cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return answer([&] { unload_module(library); });
}
WARPMILL_FACE cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return answer([&] {
    require(kernel != nullptr && name != nullptr);
    Kernel* const found = known_module(library).kernel(name);
    require(found != nullptr, cudaErrorSymbolNotFound);
    *kernel = reinterpret_cast<cudaKernel_t>(found);
  });
}
WARPMILL_FACE cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return answer([&] { *count = static_cast<unsigned>(known_module(library).kernel_names().size()); });
}
WARPMILL_FACE cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
  return answer([&] {
    Module& module = known_module(library);
    const auto names = module.kernel_names();
    for (std::size_t i = 0; i < std::min<std::size_t>(count, names.size()); ++i)
      kernels[i] = reinterpret_cast<cudaKernel_t>(module.kernel(names[i]));
  });
}
WARPMILL_FACE cudaError_t cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  return answer([&] {
    const auto variable = known_module(library).variable(name, current_device());
    require(variable.has_value(), cudaErrorSymbolNotFound);
    if (pointer != nullptr) *pointer = reinterpret_cast<void*>(variable->address);
    if (bytes != nullptr) *bytes = variable->bytes;
  });
}
WARPMILL_FACE cudaError_t cudaLibraryGetManaged(void** pointer, size_t* bytes, cudaLibrary_t library,
                                                const char* name) {
  return cudaLibraryGetGlobal(pointer, bytes, library, name);
}
