// Launches that cannot be.
#pragma once

#include "misuse.cuh"

__global__ void harmless() {}
__global__ void __launch_bounds__(64) at_most_64() {}
__global__ void uses_dynamic(int* out) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = 1;
  __syncthreads();
  if (out != nullptr) out[threadIdx.x] = dynamic[threadIdx.x];
}
__global__ void __cluster_dims__(4, 1, 1) in_fours() {}

inline cudaError_t launch_harmless(dim3 grid, dim3 block, std::size_t shared_bytes = 0) {
  const cudaLaunchConfig_t config = shape(grid, block, shared_bytes);
  return cudaLaunchKernelEx(&config, harmless);
}

inline cudaError_t launch_in_clusters(void (*kernel)(), dim3 grid, dim3 cluster) {
  cudaLaunchConfig_t config = shape(grid, 32);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel);
}

inline cudaError_t launch_pointer(const void* function) {
  return cudaLaunchKernel(function, 1, 1, nullptr, 0, nullptr);
}

inline void on_the_host() {}

inline std::vector<Misuse> launch_misuses() {
  return {
      {"launch_1025_threads", [] { return launch_harmless(1, 1025); }},
      {"launch_33_x_32_threads", [] { return launch_harmless(1, dim3(33, 32)); }},
      {"launch_65_threads_deep", [] { return launch_harmless(1, dim3(1, 1, 65)); }},
      {"launch_no_blocks", [] { return launch_harmless(0, 32); }},
      {"launch_no_threads", [] { return launch_harmless(1, 0); }},
      {"launch_65536_blocks_high", [] { return launch_harmless(dim3(1, 65536), 32); }},
      {"launch_2_to_the_31_blocks", [] { return launch_harmless(1u << 31, 32); }},
      {"launch_beyond_its_bounds",
       [] {
         const cudaLaunchConfig_t config = shape(1, 128);
         return cudaLaunchKernelEx(&config, at_most_64);
       }},
      {"launch_49153_bytes_without_leave", [] { return launch_harmless(1, 32, 49153); }},
      {"launch_300000_bytes", [] { return launch_harmless(1, 32, 300000); }},
      {"leave_for_too_much_shared_memory",
       [] { return cudaFuncSetAttribute(uses_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449); }},
      {"leave_for_negative_shared_memory",
       [] { return cudaFuncSetAttribute(uses_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, -1); }},
      {"leave_for_no_function",
       [] {
         return cudaFuncSetAttribute(reinterpret_cast<const void*>(on_the_host),
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
       }},
      {"function_attribute_that_is_none",
       [] { return cudaFuncSetAttribute(uses_dynamic, static_cast<cudaFuncAttribute>(3), 1); }},
      {"function_attributes_of_none",
       [] {
         cudaFuncAttributes attributes;
         return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(on_the_host));
       }},
      {"occupancy_of_none",
       [] {
         int blocks;
         return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(on_the_host), 32,
                                                              0);
       }},
      {"occupancy_of_no_threads",
       [] {
         int blocks;
         return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, harmless, 0, 0);
       }},
      {"launch_a_host_function", [] { return launch_pointer(reinterpret_cast<const void*>(on_the_host)); }},
      {"launch_null", [] { return launch_pointer(nullptr); }},
      {"cluster_of_16_without_leave", [] { return launch_in_clusters(harmless, 16, 16); }},
      {"cluster_of_32", [] { return launch_in_clusters(harmless, 32, 32); }},
      {"cluster_of_none", [] { return launch_in_clusters(harmless, 8, dim3(0, 1, 1)); }},
      {"cluster_does_not_divide_the_grid", [] { return launch_in_clusters(harmless, 6, 4); }},
      {"cluster_other_than_the_kernels", [] { return launch_in_clusters(in_fours, 8, 2); }},
      {"cluster_of_the_kernel_does_not_divide",
       [] {
         const cudaLaunchConfig_t config = shape(6, 32);
         return cudaLaunchKernelEx(&config, in_fours);
       }},
      {"cooperative_too_large",
       [] {
         return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(harmless), 1000000, 1024, nullptr, 0,
                                            nullptr);
       }},
      {"launch_attribute_that_is_none",
       [] {
         cudaLaunchConfig_t config = shape(1, 32);
         cudaLaunchAttribute attribute = {};
         attribute.id = static_cast<cudaLaunchAttributeID>(99);
         config.attrs = &attribute;
         config.numAttrs = 1;
         return cudaLaunchKernelEx(&config, harmless);
       }},
      {"library_of_nonsense",
       [] {
         cudaLibrary_t library;
         return cudaLibraryLoadData(&library, ".version 8.0\n.target sm_90\nnonsense\n", nullptr, nullptr, 0, nullptr,
                                    nullptr, 0);
       }},
      {"library_of_nonsense_asked_for_a_kernel",
       [] {
         cudaLibrary_t library;
         cudaKernel_t kernel;
         good(cudaLibraryLoadData(&library, ".version 8.0\n.target sm_90\nnonsense\n", nullptr, nullptr, 0, nullptr,
                                  nullptr, 0));
         return cudaLibraryGetKernel(&kernel, library, "k");
       }},
      {"library_for_a_newer_chip",
       [] {
         cudaLibrary_t library;
         return cudaLibraryLoadData(&library,
                                    ".version 8.7\n.target sm_120a\n.address_size 64\n.visible .entry k() { ret; }\n",
                                    nullptr, nullptr, 0, nullptr, nullptr, 0);
       }},
      {"library_kernel_that_is_none",
       [] {
         cudaLibrary_t library;
         cudaKernel_t kernel;
         good(cudaLibraryLoadData(&library,
                                  ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
                                  nullptr, nullptr, 0, nullptr, nullptr, 0));
         return cudaLibraryGetKernel(&kernel, library, "other");
       }},
  };
}
