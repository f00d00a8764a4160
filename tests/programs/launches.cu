// Launches: templates, structs by value, many small arguments, large shared memory, shapes, functions' attributes.
#include <utility>

#include "report.cuh"

template <class T, int Factor>
__global__ void scale(T* values) {
  values[threadIdx.x] *= Factor;
}

struct Affine {
  float factor, summand;
  __device__ float operator()(float x) const { return factor * x + summand; }
};

template <class Function>
__global__ void apply(float* values, Function function) {
  values[threadIdx.x] = function(values[threadIdx.x]);
}

struct Large {
  int numbers[1000];
};
__global__ void sum_large(Large by_value, int* out) {
  int sum = 0;
  for (const int number : by_value.numbers) sum += number;
  *out = sum;
}
__global__ void pick(const __grid_constant__ Large constant, int index, int* out) {
  const Large* const address = &constant;
  *out = address->numbers[index];
}

__global__ void many(char a, double b, short c, float3 d, bool e, long long f, int* out, unsigned char g) {
  *out = a + static_cast<int>(b) + c + static_cast<int>(d.x + d.y + d.z) + e + static_cast<int>(f) + g;
}

__global__ void __launch_bounds__(256) reverse(int* values, int count) {
  extern __shared__ int dynamic[];
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 256) dynamic[i] = values[i];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 256) values[i] = dynamic[count - 1 - i];
}

__global__ void shapes(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  atomicAdd(out, static_cast<int>(block * 1000 + thread));
  atomicMax(out + 1, static_cast<int>(block * 1000 + thread));
}

__global__ void static_shared(int* out) {
  __shared__ int numbers[300];
  numbers[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

void typed() {
  float* values;
  std::vector<float> host = {1, 2, 3, 4};
  good(cudaMalloc(&values, 4 * sizeof(float)));
  good(cudaMemcpy(values, host.data(), 4 * sizeof(float), cudaMemcpyHostToDevice));
  scale<float, 3><<<1, 4>>>(values);
  apply<<<1, 4>>>(values, Affine{2, 0.5f});
  say_device("templates", values, 4);
  scale<int, 2><<<1, 2>>>(reinterpret_cast<int*>(values));
  good(cudaDeviceSynchronize());
  good(cudaFree(values));

  int* out;
  good(cudaMalloc(&out, 300 * sizeof(int)));
  Large large;
  for (int i = 0; i != 1000; ++i) large.numbers[i] = i;
  sum_large<<<1, 1>>>(large, out);
  say_device("4000 bytes by value", out, 1);
  pick<<<1, 1>>>(large, 777, out);
  say_device("grid constant", out, 1);
  many<<<1, 1>>>(1, 2.5, 3, make_float3(4, 5, 6), true, 7, out, 8);
  say_device("many arguments", out, 1);
  static_shared<<<1, 300>>>(out);
  say_device("static shared", out, 2);

  // The plain function, and the one that takes a configuration.
  char a = 10;
  double b = 20;
  short c = 30;
  float3 d = make_float3(1, 1, 1);
  bool e = false;
  long long f = 40;
  unsigned char g = 50;
  void* arguments[] = {&a, &b, &c, &d, &e, &f, &out, &g};
  good(cudaLaunchKernel(reinterpret_cast<void*>(many), 1, 1, arguments, 0, nullptr));
  say_device("cudaLaunchKernel", out, 1);
  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = dim3(1);
  a = 11;
  good(cudaLaunchKernelExC(&config, reinterpret_cast<void*>(many), arguments));
  say_device("cudaLaunchKernelExC", out, 1);
  cudaFunction_t function;
  good(cudaGetFuncBySymbol(&function, reinterpret_cast<void*>(many)));
  const char* name = nullptr;
  good(cudaFuncGetName(&name, reinterpret_cast<void*>(many)));
  std::printf("function: %d %s\n", function != nullptr, name);
  good(cudaFree(out));
}

void shared_memory() {
  constexpr int count = 25000;  // 100,000 bytes
  std::vector<int> host(count);
  for (int i = 0; i != count; ++i) host[i] = i;
  int* values;
  good(cudaMalloc(&values, count * sizeof(int)));
  good(cudaMemcpy(values, host.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  reverse<<<1, 256, count * sizeof(int)>>>(values, count);
  say("100,000 bytes without asking", cudaGetLastError());
  cudaFuncAttributes attributes;
  good(cudaFuncGetAttributes(&attributes, reverse));
  std::printf("dynamic before: %d\n", attributes.maxDynamicSharedSizeBytes);
  say("asking", cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, count * sizeof(int)));
  say("a preference",
      cudaFuncSetAttribute(reverse, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  reverse<<<1, 256, count * sizeof(int)>>>(values, count);
  say_device("reversed", values, 3);
  good(cudaFuncGetAttributes(&attributes, reverse));
  std::printf("dynamic %d, static %zu, threads %d, PTX %d\n", attributes.maxDynamicSharedSizeBytes,
              attributes.sharedSizeBytes, attributes.maxThreadsPerBlock, attributes.ptxVersion);
  int blocks = 0;
  good(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, count * sizeof(int)));
  std::printf("blocks per multiprocessor: %d\n", blocks);
  std::size_t available = 0;
  good(cudaOccupancyAvailableDynamicSMemPerBlock(&available, reverse, 2, 256));
  std::printf("shared memory for two: %zu\n", available);
  good(cudaFuncGetAttributes(&attributes, static_shared));
  std::printf("static %zu\n", attributes.sharedSizeBytes);
  good(cudaFuncSetCacheConfig(static_shared, cudaFuncCachePreferShared));
  good(cudaFree(values));
}

void shaped() {
  int* out;
  good(cudaMalloc(&out, 2 * sizeof(int)));
  for (const auto& [grid, block] : {std::pair(dim3(2, 3, 4), dim3(5, 6, 7)), std::pair(dim3(1, 1, 9), dim3(1, 32, 2)),
                                    std::pair(dim3(70), dim3(1024))}) {
    good(cudaMemset(out, 0, 2 * sizeof(int)));
    shapes<<<grid, block>>>(out);
    say_device("shape", out, 2);
  }
  good(cudaFree(out));
}

int main() {
  typed();
  shared_memory();
  shaped();
}
