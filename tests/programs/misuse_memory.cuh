// Misuses of memory by the host: pointers, sizes, kinds of copies, symbols.
#pragma once

#include "misuse.cuh"

__device__ int device_numbers[4];
__constant__ int constant_numbers[4];
inline int host_number = 0;

inline std::vector<Misuse> memory_misuses() {
  return {
      {"copy_to_null", [] { return cudaMemcpy(nullptr, host_bytes.data(), 64, cudaMemcpyHostToDevice); }},
      {"copy_from_null", [] { return cudaMemcpy(device_memory<char>(64), nullptr, 64, cudaMemcpyHostToDevice); }},
      {"copy_nothing_from_null",
       [] { return cudaMemcpy(device_memory<char>(64), nullptr, 0, cudaMemcpyHostToDevice); }},
      {"copy_to_host_pointer_as_device",
       [] { return cudaMemcpy(host_bytes.data(), host_bytes.data() + 64, 64, cudaMemcpyHostToDevice); }},
      {"copy_from_host_pointer_as_device",
       [] { return cudaMemcpy(host_bytes.data(), host_bytes.data() + 64, 64, cudaMemcpyDeviceToHost); }},
      {"copy_to_no_pointer_at_all",
       [] { return cudaMemcpy(reinterpret_cast<void*>(0x7000000000), host_bytes.data(), 64, cudaMemcpyHostToDevice); }},
      {"copy_in_the_wrong_direction",
       [] { return cudaMemcpy(host_bytes.data(), device_memory<char>(64), 64, cudaMemcpyHostToDevice); }},
      {"copy_of_no_kind",
       [] { return cudaMemcpy(host_bytes.data(), device_memory<char>(64), 64, static_cast<cudaMemcpyKind>(77)); }},
      {"copy_one_byte_too_many",
       [] { return cudaMemcpy(device_memory<char>(64), host_bytes.data(), 65, cudaMemcpyHostToDevice); }},
      {"copy_too_large",
       [] {
         return cudaMemcpy(device_memory<char>(64), host_bytes.data(), host_bytes.size(), cudaMemcpyHostToDevice);
       }},
      {"copy_out_too_large",
       [] {
         return cudaMemcpy(host_bytes.data(), device_memory<char>(64), host_bytes.size(), cudaMemcpyDeviceToHost);
       }},
      {"copy_freed",
       [] {
         char* const memory = device_memory<char>(64 << 20);
         good(cudaFree(memory));
         return cudaMemcpy(host_bytes.data(), memory, 64, cudaMemcpyDeviceToHost);
       }},
      {"copy_async_too_large",
       [] { return cudaMemcpyAsync(device_memory<char>(64), device_memory<char>(4096), 1 << 20, cudaMemcpyDefault); }},
      {"copy_rows_wider_than_pitch",
       [] {
         return cudaMemcpy2D(device_memory<char>(4096), 32, host_bytes.data(), 64, 64, 4, cudaMemcpyHostToDevice);
       }},
      {"copy_rows_too_many",
       [] {
         return cudaMemcpy2D(device_memory<char>(4096), 64, host_bytes.data(), 64, 64, 4096, cudaMemcpyHostToDevice);
       }},
      {"copy_volume_of_nothing",
       [] {
         const cudaMemcpy3DParms nothing = {};
         return cudaMemcpy3D(&nothing);
       }},
      {"set_null", [] { return cudaMemset(nullptr, 0, 64); }},
      {"set_host_pointer", [] { return cudaMemset(host_bytes.data(), 0, 64); }},
      {"set_too_large", [] { return cudaMemset(device_memory<char>(64), 0, 1 << 30); }},
      {"free_twice",
       [] {
         char* const memory = device_memory<char>(64);
         good(cudaFree(memory));
         return cudaFree(memory);
       }},
      {"free_host_pointer", [] { return cudaFree(host_bytes.data()); }},
      {"free_inside", [] { return cudaFree(device_memory<char>(64) + 16); }},
      {"free_device_memory_as_host", [] { return cudaFreeHost(device_memory<char>(64)); }},
      {"free_pinned_memory_as_device",
       [] {
         void* pinned;
         good(cudaMallocHost(&pinned, 64));
         return cudaFree(pinned);
       }},
      {"free_host_twice",
       [] {
         void* pinned;
         good(cudaMallocHost(&pinned, 64));
         good(cudaFreeHost(pinned));
         return cudaFreeHost(pinned);
       }},
      {"free_async_twice",
       [] {
         void* memory;
         good(cudaMallocAsync(&memory, 64, nullptr));
         good(cudaFreeAsync(memory, nullptr));
         return cudaFreeAsync(memory, nullptr);
       }},
      {"free_async_of_host_pointer", [] { return cudaFreeAsync(host_bytes.data(), nullptr); }},
      {"allocate_too_much",
       [] {
         void* memory;
         return cudaMalloc(&memory, std::size_t{1} << 50);
       }},
      {"allocate_minus_one",
       [] {
         void* memory;
         return cudaMalloc(&memory, static_cast<std::size_t>(-1));
       }},
      {"allocate_nothing",
       [] {
         void* memory = &memory;
         const cudaError_t code = cudaMalloc(&memory, 0);
         std::printf("null: %d\n", memory == nullptr);
         return code;
       }},
      {"allocate_to_null", [] { return cudaMalloc(static_cast<void**>(nullptr), 64); }},
      {"allocate_async_too_much",
       [] {
         void* memory;
         return cudaMallocAsync(&memory, std::size_t{1} << 50, nullptr);
       }},
      {"allocate_managed_nothing",
       [] {
         void* memory;
         return cudaMallocManaged(&memory, 0);
       }},
      {"allocate_managed_wrong_flags",
       [] {
         void* memory;
         return cudaMallocManaged(&memory, 64, 0x40);
       }},
      {"register_twice",
       [] {
         good(cudaHostRegister(host_bytes.data(), 4096, 0));
         return cudaHostRegister(host_bytes.data(), 4096, 0);
       }},
      {"register_nothing", [] { return cudaHostRegister(nullptr, 4096, 0); }},
      {"array_too_wide",
       [] {
         cudaArray_t array;
         const cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
         return cudaMallocArray(&array, &format, ~std::size_t{0} / 8, 1);
       }},
      {"array_of_nothing",
       [] {
         cudaArray_t array;
         const cudaChannelFormatDesc format = {};
         return cudaMallocArray(&array, &format, 16, 1);
       }},
      {"unregister_what_is_not", [] { return cudaHostUnregister(host_bytes.data()); }},
      {"prefetch_what_is_not_managed",
       [] {
         return cudaMemPrefetchAsync(device_memory<char>(64), 64, {cudaMemLocationTypeDevice, 0}, 0, nullptr);
       }},
      {"advise_wrong_device",
       [] {
         void* memory;
         good(cudaMallocManaged(&memory, 64));
         return cudaMemAdvise(memory, 64, cudaMemAdviseSetPreferredLocation, {cudaMemLocationTypeDevice, 99});
       }},
      {"symbol_that_is_none", [] { return cudaMemcpyToSymbol(&host_number, host_bytes.data(), 4); }},
      {"symbol_null", [] { return cudaMemcpyToSymbol(static_cast<const void*>(nullptr), host_bytes.data(), 4); }},
      {"symbol_too_large", [] { return cudaMemcpyToSymbol(device_numbers, host_bytes.data(), 20); }},
      {"symbol_offset_too_large", [] { return cudaMemcpyFromSymbol(host_bytes.data(), constant_numbers, 8, 12); }},
      {"symbol_wrong_direction",
       [] { return cudaMemcpyToSymbol(device_numbers, host_bytes.data(), 4, 0, cudaMemcpyDeviceToHost); }},
      {"symbol_address_to_null", [] { return cudaGetSymbolAddress(nullptr, device_numbers); }},
      {"use_after_reset",
       [] {
         char* const memory = device_memory<char>(64);
         good(cudaDeviceReset());
         return cudaMemcpy(host_bytes.data(), memory, 64, cudaMemcpyDeviceToHost);
       }},
  };
}
