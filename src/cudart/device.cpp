// The properties of an H200 and an A100, and of a device that is neither.
#include "cudart/device.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "cudart/platform.hpp"

namespace wm::cudart {

std::string device_name() { return fmt::format("Warpmill virtual {}", Platform::get().chip().arch.name()); }

std::string pci_bus_id(int device) { return fmt::format("0000:{:02X}:00.0", device + 1); }

std::optional<int> device_attribute(int attribute) {
  const vgpu::Chip& chip = Platform::get().chip();
  const bool hopper = chip.arch.major >= 9;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: return 1024;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return 1024;
    case cudaDevAttrMaxBlockDimZ: return 64;
    case cudaDevAttrMaxGridDimX: return 2147483647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock: return 48 * 1024;
    case cudaDevAttrTotalConstantMemory: return 65536;
    case cudaDevAttrWarpSize: return 32;
    case cudaDevAttrMaxPitch: return 2147483647;
    case cudaDevAttrMaxRegistersPerBlock: return chip.registers_per_multiprocessor;
    case cudaDevAttrClockRate: return hopper ? 1980000 : 1410000;  // kHz
    case cudaDevAttrTextureAlignment: return 512;
    case cudaDevAttrGpuOverlap: return 1;
    case cudaDevAttrMultiProcessorCount: return chip.multiprocessors;
    case cudaDevAttrCanMapHostMemory: return 1;
    case cudaDevAttrComputeMode: return 0;
    case cudaDevAttrSurfaceAlignment: return 512;
    case cudaDevAttrConcurrentKernels: return 1;
    case cudaDevAttrPciBusId: return 1;
    case cudaDevAttrMemoryClockRate: return hopper ? 3201000 : 1593000;  // kHz
    case cudaDevAttrGlobalMemoryBusWidth: return hopper ? 6144 : 5120;
    case cudaDevAttrL2CacheSize: return hopper ? 62914560 : 41943040;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return chip.threads_per_multiprocessor;
    case cudaDevAttrAsyncEngineCount: return 3;
    case cudaDevAttrUnifiedAddressing: return 1;
    case cudaDevAttrTexturePitchAlignment: return 32;
    case cudaDevAttrComputeCapabilityMajor: return chip.arch.major;
    case cudaDevAttrComputeCapabilityMinor: return chip.arch.minor;
    case cudaDevAttrStreamPrioritiesSupported: return 1;
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported: return 1;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(chip.shared_bytes_per_multiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor: return chip.registers_per_multiprocessor;
    case cudaDevAttrManagedMemory: return 1;
    case cudaDevAttrHostNativeAtomicSupported: return 0;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: return 2;
    case cudaDevAttrPageableMemoryAccess: return 0;
    case cudaDevAttrConcurrentManagedAccess: return 1;
    case cudaDevAttrComputePreemptionSupported: return 1;
    case cudaDevAttrCanUseHostPointerForRegisteredMem: return 1;
    case cudaDevAttrCooperativeLaunch: return 1;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(chip.shared_bytes_per_block);
    case cudaDevAttrHostRegisterSupported: return 1;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables: return 0;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return chip.blocks_per_multiprocessor;
    case cudaDevAttrReservedSharedMemoryPerBlock: return 1024;
    case cudaDevAttrMaxPersistingL2CacheSize: return hopper ? 39321600 : 31457280;
    case cudaDevAttrMaxAccessPolicyWindowSize: return 134213632;
    case cudaDevAttrMemoryPoolsSupported: return 1;
    case cudaDevAttrClusterLaunch: return hopper;
    case cudaDevAttrMaxTexture1DWidth:
    case cudaDevAttrMaxTexture2DWidth:
    case cudaDevAttrMaxTexture2DHeight: return 131072;
    default: return attribute > 0 && attribute < cudaDevAttrMax ? std::optional(0) : std::nullopt;
  }
}

cudaDeviceProp device_properties(int device) {
  const vgpu::Chip& chip = Platform::get().chip();
  const auto value = [](int attribute) { return device_attribute(attribute).value_or(0); };
  cudaDeviceProp p{};
  const std::string name = device_name();
  name.copy(p.name, sizeof(p.name) - 1);
  const std::string uuid = fmt::format("warpmill virtual");
  std::memcpy(p.uuid.bytes, uuid.data(), std::min(uuid.size(), sizeof(p.uuid.bytes)));
  p.uuid.bytes[15] = static_cast<char>('0' + device);
  p.totalGlobalMem = chip.memory_bytes;
  p.sharedMemPerBlock = static_cast<std::size_t>(value(cudaDevAttrMaxSharedMemoryPerBlock));
  p.regsPerBlock = value(cudaDevAttrMaxRegistersPerBlock);
  p.warpSize = 32;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = 65536;
  p.major = chip.arch.major;
  p.minor = chip.arch.minor;
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = chip.multiprocessors;
  p.canMapHostMemory = 1;
  p.maxTexture1D = p.maxTexture2D[0] = value(cudaDevAttrMaxTexture2DWidth);
  p.maxTexture2D[1] = value(cudaDevAttrMaxTexture2DHeight);
  p.surfaceAlignment = 512;
  p.concurrentKernels = 1;
  p.pciBusID = device + 1;
  p.asyncEngineCount = 3;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = value(cudaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = value(cudaDevAttrL2CacheSize);
  p.persistingL2CacheMaxSize = value(cudaDevAttrMaxPersistingL2CacheSize);
  p.maxThreadsPerMultiProcessor = chip.threads_per_multiprocessor;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = chip.shared_bytes_per_multiprocessor;
  p.regsPerMultiprocessor = chip.registers_per_multiprocessor;
  p.managedMemory = 1;
  p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = chip.shared_bytes_per_block;
  p.maxBlocksPerMultiProcessor = chip.blocks_per_multiprocessor;
  p.accessPolicyMaxWindowSize = value(cudaDevAttrMaxAccessPolicyWindowSize);
  p.reservedSharedMemPerBlock = 1024;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.clusterLaunch = value(cudaDevAttrClusterLaunch);
  return p;
}

}  // namespace wm::cudart
