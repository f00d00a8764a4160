// Variables of the device: constants, globals, managed ones, pointers between them, tables of functions.
#include "report.cuh"

__constant__ float coefficients[4] = {1, 2, 3, 4};
__constant__ struct {
  int offset;
  double factor;
} settings = {10, 0.5};
__device__ int counter = 40;
__device__ float table[16];
__device__ int* pointer_to_counter = &counter;
__managed__ int shared_number = 5;
static __device__ unsigned char bytes[3] = {7, 8, 9};

__device__ int twice(int value) { return 2 * value; }
__device__ int negative(int value) { return -value; }
using Function = int (*)(int);
__device__ Function functions[2] = {twice, negative};

template <int Index>
__device__ int slot = Index * 100;

__global__ void polynomial(float x, float* out) {
  *out = coefficients[0] + x * (coefficients[1] + x * (coefficients[2] + x * coefficients[3]));
}

__global__ void touch(int* out) {
  counter += 2;
  *pointer_to_counter += settings.offset;
  shared_number *= 3;
  out[0] = counter;
  out[1] = bytes[0] + bytes[1] + bytes[2];
  out[2] = functions[0](21);
  out[3] = functions[1](21);
  out[4] = static_cast<int>(settings.factor * 100);
  out[5] = slot<1> + slot<2>;
}

int main() {
  float* result;
  int* out;
  good(cudaMalloc(&result, sizeof(float)));
  good(cudaMalloc(&out, 6 * sizeof(int)));

  polynomial<<<1, 1>>>(2, result);
  say_device("as initialised", result, 1);
  const float changed[2] = {10, 20};
  good(cudaMemcpyToSymbol(coefficients, changed, sizeof(changed), 2 * sizeof(float)));
  polynomial<<<1, 1>>>(2, result);
  say_device("second half changed", result, 1);
  float read[4];
  good(cudaMemcpyFromSymbol(read, coefficients, sizeof(read)));
  say_all("coefficients", read, 4);

  touch<<<1, 1>>>(out);
  say_device("touched", out, 6);
  std::printf("managed: %d\n", shared_number);
  shared_number = 11;
  touch<<<1, 1>>>(out);
  good(cudaDeviceSynchronize());
  std::printf("managed: %d\n", shared_number);
  int number = 0;
  good(cudaMemcpyFromSymbol(&number, counter, sizeof(number)));
  std::printf("counter: %d\n", number);

  cudaStream_t stream;
  good(cudaStreamCreate(&stream));
  std::vector<float> squares(16);
  for (int i = 0; i != 16; ++i) squares[i] = static_cast<float>(i * i);
  good(cudaMemcpyToSymbolAsync(table, squares.data(), sizeof(table), 0, cudaMemcpyHostToDevice, stream));
  float part[3];
  good(cudaMemcpyFromSymbolAsync(part, table, sizeof(part), 13 * sizeof(float), cudaMemcpyDeviceToHost, stream));
  good(cudaStreamSynchronize(stream));
  say_all("part of the table", part, 3);

  void* address;
  std::size_t size;
  good(cudaGetSymbolAddress(&address, table));
  good(cudaGetSymbolSize(&size, table));
  std::printf("size of the table: %zu\n", size);
  say_device("through its address", static_cast<float*>(address) + 2, 2);
  good(cudaMemcpyToSymbol(coefficients, address, sizeof(read), 0, cudaMemcpyDeviceToDevice));
  polynomial<<<1, 1>>>(1, result);
  say_device("coefficients from the table", result, 1);
  good(cudaGetSymbolSize(&size, bytes));
  std::printf("size of the bytes: %zu\n", size);
  good(cudaGetSymbolAddress(&address, shared_number));
  std::printf("managed has one address: %d\n", address == &shared_number);
  cudaPointerAttributes attributes;
  good(cudaGetSymbolAddress(&address, coefficients));
  good(cudaPointerGetAttributes(&attributes, address));
  std::printf("a constant is device memory: %d\n", attributes.type == cudaMemoryTypeDevice);
  say("no symbol", cudaGetSymbolAddress(&address, &number));

  good(cudaStreamDestroy(stream));
  good(cudaFree(out));
  good(cudaFree(result));
}
