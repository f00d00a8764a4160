// What a device says of itself, as far as every H200 says the same; limits; versions.
#include "report.cuh"

void properties() {
  cudaDeviceProp p;
  good(cudaGetDeviceProperties(&p, 0));
  std::printf("sm_%d%d, warp %d\n", p.major, p.minor, p.warpSize);
  std::printf("multiprocessors %d, each %d threads, %d blocks, %d registers, %zu bytes shared\n", p.multiProcessorCount,
              p.maxThreadsPerMultiProcessor, p.maxBlocksPerMultiProcessor, p.regsPerMultiprocessor,
              p.sharedMemPerMultiprocessor);
  std::printf("block: %d threads, %d registers, shared %zu, with leave %zu, reserved %zu\n", p.maxThreadsPerBlock,
              p.regsPerBlock, p.sharedMemPerBlock, p.sharedMemPerBlockOptin, p.reservedSharedMemPerBlock);
  std::printf("shape of a block: %d %d %d\n", p.maxThreadsDim[0], p.maxThreadsDim[1], p.maxThreadsDim[2]);
  std::printf("shape of a grid: %d %d %d\n", p.maxGridSize[0], p.maxGridSize[1], p.maxGridSize[2]);
  std::printf("constant memory %zu, pitch %zu, alignments %zu %zu\n", p.totalConstMem, p.memPitch, p.textureAlignment,
              p.texturePitchAlignment);
  std::printf("cluster %d cooperative %d unified %d managed %d concurrent %d kernels %d pools %d priorities %d\n",
              p.clusterLaunch, p.cooperativeLaunch, p.unifiedAddressing, p.managedMemory, p.concurrentManagedAccess,
              p.concurrentKernels, p.memoryPoolsSupported, p.streamPrioritiesSupported);
  std::printf("map host %d, register host %d, caches in L1 %d %d, second level %d MB\n", p.canMapHostMemory,
              p.hostRegisterSupported, p.globalL1CacheSupported, p.localL1CacheSupported, p.l2CacheSize >> 20);
}

void attributes() {
  const cudaDeviceAttr asked[] = {cudaDevAttrMaxThreadsPerBlock,
                                  cudaDevAttrMaxSharedMemoryPerBlock,
                                  cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                  cudaDevAttrReservedSharedMemoryPerBlock,
                                  cudaDevAttrMaxRegistersPerBlock,
                                  cudaDevAttrMaxRegistersPerMultiprocessor,
                                  cudaDevAttrMaxBlocksPerMultiprocessor,
                                  cudaDevAttrWarpSize,
                                  cudaDevAttrComputeCapabilityMajor,
                                  cudaDevAttrComputeCapabilityMinor,
                                  cudaDevAttrMultiProcessorCount,
                                  cudaDevAttrCooperativeLaunch,
                                  cudaDevAttrClusterLaunch,
                                  cudaDevAttrUnifiedAddressing,
                                  cudaDevAttrManagedMemory,
                                  cudaDevAttrMemoryPoolsSupported,
                                  cudaDevAttrMaxGridDimX,
                                  cudaDevAttrMaxGridDimZ,
                                  cudaDevAttrMaxBlockDimZ,
                                  cudaDevAttrMaxPitch,
                                  cudaDevAttrTotalConstantMemory};
  std::printf("attributes:");
  for (const cudaDeviceAttr attribute : asked) {
    int value = -1;
    good(cudaDeviceGetAttribute(&value, attribute, 0));
    std::printf(" %d", value);
  }
  std::printf("\n");
}

void limits() {
  for (const cudaLimit limit : {cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize}) {
    std::size_t value = 0, changed = 0;
    good(cudaDeviceGetLimit(&value, limit));
    good(cudaDeviceSetLimit(limit, 4 * value));
    good(cudaDeviceGetLimit(&changed, limit));
    std::printf("limit %d: %zu, then at least four times: %d\n", static_cast<int>(limit), value, changed >= 4 * value);
  }
}

int main() {
  int count = 0, device = -1, runtime = 0, driver = 0;
  good(cudaGetDeviceCount(&count));
  good(cudaSetDevice(0));
  good(cudaGetDevice(&device));
  good(cudaRuntimeGetVersion(&runtime));
  good(cudaDriverGetVersion(&driver));
  std::printf("devices %d, current %d, runtime %d, driver is as new: %d\n", count, device, runtime, driver >= runtime);
  properties();
  attributes();
  limits();
  cudaDeviceProp wanted = {};
  wanted.major = 9;
  good(cudaChooseDevice(&device, &wanted));
  std::printf("chosen: %d\n", device);
  std::size_t available = 0, total = 0;
  good(cudaMemGetInfo(&available, &total));
  std::printf("memory: %d\n", 0 < available && available <= total);
  cudaFuncCache cache;
  good(cudaDeviceGetCacheConfig(&cache));
  std::printf("cache: %d\n", static_cast<int>(cache));
  unsigned flags = 0;
  good(cudaGetDeviceFlags(&flags));
  std::printf("flags: %u\n", flags);
  say("reset", cudaDeviceReset());
  void* memory;
  say("afterwards", cudaMalloc(&memory, 16));
}
