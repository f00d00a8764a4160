// Kernels that fault: the launch is good, what follows is not.
#pragma once

#include <cassert>

#include <cooperative_groups.h>

#include "misuse.cuh"
#include "misuse_handles.cuh"

__global__ void store(int* address) { *address = 1; }
__global__ void load(const int* address, int* out) { *out = *address; }
__global__ void add_atomically(int* address) { atomicAdd(address, 1); }
__global__ void copy_sixteen_bytes(const int4* from, int4* to) { *to = *from; }
__global__ void store_shared(int offset) {
  __shared__ int numbers[32];
  volatile int* const address = reinterpret_cast<int*>(reinterpret_cast<char*>(numbers) + offset);
  *address = 1;
  __syncthreads();
  if (numbers[0] == offset) __trap();
}
__global__ void store_at_shared_address(unsigned address) { asm volatile("st.shared.u32 [%0], 1;" ::"r"(address)); }
__global__ void store_at_neighbour(unsigned rank) {
  __shared__ int number;
  asm volatile(
      "{ .reg .b32 address; mapa.shared::cluster.u32 address, %0, %1; st.shared::cluster.u32 [address], 1; }" ::"r"(
          shared_address(&number)),
      "r"(rank));
}
__global__ void trap() { __trap(); }
__global__ void stop_for_a_debugger() { __brkpt(); }
__global__ void assert_positive(int number) { assert(number > 0); }
__device__ int descend(int depth) {
  volatile int frame[256];
  frame[depth & 255] = depth;
  return depth < 0 ? 0 : descend(depth + 1) + frame[depth & 255];
}
__global__ void recurse_without_end(int* out) { *out = descend(0); }
__global__ void call(void (*function)()) { function(); }
__global__ void synchronise_grid() { cooperative_groups::this_grid().sync(); }
__global__ void copy_in_bulk(const char* from, int bytes, int offset) {
  __shared__ alignas(128) char to[256];
  __shared__ alignas(8) unsigned long long arrived;
  expect_bytes(&arrived, bytes);
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to) + offset),
               "l"(from), "r"(bytes), "r"(shared_address(&arrived))
               : "memory");
  await_bytes(&arrived);
}

template <class... Parameters, class... Arguments>
cudaError_t run(void (*kernel)(Parameters...), Arguments... arguments) {
  const cudaLaunchConfig_t config = shape(1, 1);
  return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

inline std::vector<Misuse> kernel_misuses() {
  return {
      {"kernel_stores_to_null", [] { return run(store, nullptr); }},
      {"kernel_loads_from_null", [] { return run(load, nullptr, device_memory<int>(1)); }},
      {"kernel_adds_to_null", [] { return run(add_atomically, nullptr); }},
      {"kernel_stores_to_host_memory", [] { return run(store, reinterpret_cast<int*>(host_bytes.data())); }},
      {"kernel_stores_to_freed_memory",
       [] {
         int* const memory = device_memory<int>(16 << 20);
         good(cudaFree(memory));
         return run(store, memory);
       }},
      {"kernel_loads_from_freed_memory",
       [] {
         int* const memory = device_memory<int>(16 << 20);
         good(cudaFree(memory));
         return run(load, memory, device_memory<int>(1));
       }},
      {"kernel_stores_far_outside", [] { return run(store, device_memory<int>(1) + (1ll << 36)); }},
      {"kernel_stores_to_no_address", [] { return run(store, reinterpret_cast<int*>(0xfedcba9876543210)); }},
      {"kernel_stores_misaligned", [] { return run(store, reinterpret_cast<int*>(device_memory<char>(64) + 2)); }},
      {"kernel_loads_misaligned",
       [] { return run(load, reinterpret_cast<int*>(device_memory<char>(64) + 1), device_memory<int>(1)); }},
      {"kernel_copies_misaligned_sixteen",
       [] {
         return run(copy_sixteen_bytes, reinterpret_cast<int4*>(device_memory<int>(16) + 2), device_memory<int4>(1));
       }},
      {"kernel_adds_misaligned",
       [] { return run(add_atomically, reinterpret_cast<int*>(device_memory<char>(64) + 2)); }},
      {"kernel_stores_shared_misaligned", [] { return run(store_shared, 2); }},
      {"kernel_stores_shared_far_outside", [] { return run(store_shared, 1 << 20); }},
      {"kernel_stores_at_shared_address_too_high", [] { return run(store_at_shared_address, 0x40000); }},
      {"kernel_stores_at_neighbour_that_is_none", [] { return run(store_at_neighbour, 3); }},
      {"kernel_traps", [] { return run(trap); }},
      {"kernel_stops_for_a_debugger", [] { return run(stop_for_a_debugger); }},
      {"kernel_asserts", [] { return run(assert_positive, -1); }},
      {"kernel_recurses_without_end", [] { return run(recurse_without_end, device_memory<int>(1)); }},
      {"kernel_calls_no_function", [] { return run(call, reinterpret_cast<void (*)()>(0x12340)); }},
      {"kernel_synchronises_grid_without_leave", [] { return run(synchronise_grid); }},
      {"kernel_copies_bulk_misaligned", [] { return run(copy_in_bulk, device_memory<char>(256) + 4, 64, 0); }},
      {"kernel_copies_bulk_odd_size", [] { return run(copy_in_bulk, device_memory<char>(256), 20, 0); }},
      {"kernel_copies_bulk_to_misaligned", [] { return run(copy_in_bulk, device_memory<char>(256), 64, 8); }},
      {"kernel_copies_bulk_from_null", [] { return run(copy_in_bulk, nullptr, 64, 0); }},
      {"kernel_faults_then_launch",
       [] {
         say("fault", run(store, nullptr));
         say("its end", cudaDeviceSynchronize());
         return run(trap);
       }},
      {"kernel_faults_then_copy",
       [] {
         int* const memory = device_memory<int>(1);
         say("fault", run(store, nullptr));
         return cudaMemcpy(host_bytes.data(), memory, 4, cudaMemcpyDeviceToHost);
       }},
      {"kernel_faults_then_event",
       [] {
         cudaEvent_t event = new_event();
         say("fault", run(store, nullptr));
         cudaEventRecord(event);
         return cudaEventSynchronize(event);
       }},
      {"kernel_faults_then_free",
       [] {
         int* const memory = device_memory<int>(1);
         say("fault", run(store, nullptr));
         return cudaFree(memory);
       }},
      {"kernel_faults_then_reset",
       [] {
         say("fault", run(store, nullptr));
         say("its end", cudaDeviceSynchronize());
         return cudaDeviceReset();
       }},
  };
}
