// A misuse: its name and what it does; what returns is the code of the call that is wrong.
#pragma once

#include <vector>

#include "report.cuh"

struct Misuse {
  const char* name;
  cudaError_t (*commit)();
};

inline std::vector<char> host_bytes(1 << 20);

template <class T>
T* device_memory(std::size_t count) {
  T* memory = nullptr;
  good(cudaMalloc(&memory, count * sizeof(T)));
  return memory;
}

inline cudaLaunchConfig_t shape(dim3 grid, dim3 block, std::size_t shared_bytes = 0) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  return config;
}

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline void expect_bytes(unsigned long long* barrier, int bytes) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], 1;"
      "fence.proxy.async.shared::cta;"
      "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Until the bytes are there, or for a while: a copy that is refused must not hang the kernel.
__device__ inline void await_bytes(unsigned long long* barrier) {
  unsigned done = 0;
  for (int turn = 0; done == 0 && turn != 1000; ++turn) {
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(shared_address(barrier))
                 : "memory");
    __nanosleep(1000);
  }
}
