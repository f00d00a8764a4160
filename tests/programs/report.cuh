// What the programs share: printing the name of a code, and stopping at a call that must not fail.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

inline void say(const char* what, cudaError_t code) { std::printf("%s: %s\n", what, cudaGetErrorName(code)); }

inline void good(cudaError_t code, int line = __builtin_LINE()) {
  if (code == cudaSuccess) return;
  std::printf("line %d: %s (%s)\n", line, cudaGetErrorName(code), cudaGetErrorString(code));
  std::exit(1);
}

template <class T>
void say_all(const char* what, const T* values, std::size_t count) {
  std::printf("%s:", what);
  for (std::size_t i = 0; i != count; ++i) std::printf(" %g", static_cast<double>(values[i]));
  std::printf("\n");
}

// The first values of device memory, after everything that was asked for is done.
template <class T>
void say_device(const char* what, const T* device, std::size_t count) {
  std::vector<T> values(count);
  good(cudaDeviceSynchronize());
  good(cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  say_all(what, values.data(), count);
}
