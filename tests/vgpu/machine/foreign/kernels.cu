// Kernels in other people's style: library templates, cooperative groups, switch tables, local arrays, recursion,
// pointers to functions, virtual functions, printf, device malloc, locks and a grid barrier.
#include <cstdio>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

extern "C" __global__ void block_scan(const int* in, int* out, int n) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage storage;
  int sum;
  Scan(storage).InclusiveSum(threadIdx.x < n ? in[threadIdx.x] : 0, sum);
  if (threadIdx.x < n) out[threadIdx.x] = sum;
}

extern "C" __global__ void block_sort(int* keys) {
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  __shared__ typename Sort::TempStorage storage;
  int mine[4];
  for (int i = 0; i < 4; ++i) mine[i] = keys[threadIdx.x * 4 + i];
  Sort(storage).Sort(mine);
  for (int i = 0; i < 4; ++i) keys[threadIdx.x * 4 + i] = mine[i];
}

extern "C" __global__ void block_reduce(const float* in, float* out, int n) {
  using Reduce = cub::BlockReduce<float, 256>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += in[i];
  sum = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0) *out = sum;
}

// Sums of warps and largest of four lanes.
extern "C" __global__ void groups(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto four = cg::tiled_partition<4>(warp);
  const int value = in[block.thread_rank()];
  const int sum = cg::reduce(warp, value, cg::plus<int>());
  const int largest = cg::reduce(four, value, cg::greater<int>());
  block.sync();
  out[block.thread_rank()] = value & 1 ? sum * 1000 + largest : -largest;
}

__device__ __noinline__ int chosen(int x) {
  switch (x) {
    case 0: return 5;
    case 1: return 7;
    case 2: return 11;
    case 3: return 1;
    case 4: return -3;
    case 5: return 100;
    case 6: return 9;
    case 7: return 77;
    case 8: return 13;
    default: return 0;
  }
}
template <class T>
__device__ T scrambled(T x) {
  T c[8];
  for (int i = 0; i < 8; ++i) c[i] = T(i) * x;
  T sum = 0;
  for (int i = 0; i < 8; ++i) sum += c[(i * 5 + int(x)) & 7] * T(i);
  return sum;
}
using Function = int (*)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ Function table[3] = {plus, times, minus};
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void mixed(int* whole, double* real) {
  const int i = threadIdx.x;
  whole[i] = chosen(i % 11) + int(scrambled<float>(i)) + table[i % 3](i, 3) + fibonacci(i % 9);
  real[i] = sin(double(i)) + exp(i * 0.1) + pow(1.1, double(i)) + scrambled<double>(i);
  if (i == 3) printf("thread %d of %s: %5.2f %lld %c%%\n", i, "mixed", real[i], 1234567890123LL, 'x');
}

struct Shape {
  virtual __device__ int area(int x) const = 0;
};
struct Line : Shape {
  __device__ int area(int x) const override { return x + 1; }
};
struct Box : Shape {
  int height;
  __device__ explicit Box(int h) : height(h) {}
  __device__ int area(int x) const override { return x * height; }
};
extern "C" __global__ void polymorphic(int* out) {
  const Line line;
  const Box box(threadIdx.x);
  const Shape* shape = threadIdx.x & 1 ? static_cast<const Shape*>(&line) : &box;
  int* heap = new int[4];
  heap[0] = threadIdx.x;
  out[threadIdx.x] = shape->area(10) + heap[0];
  delete[] heap;
}

extern "C" __global__ void locked(int* lock, int* count) {
  for (bool done = false; !done;)
    if (atomicCAS(lock, 0, 1) == 0) {
      *const_cast<volatile int*>(count) += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
}

extern "C" __global__ void grid_barrier(unsigned* arrived, int* data) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    atomicAdd(arrived, 1);
    while (*const_cast<volatile unsigned*>(arrived) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += const_cast<volatile int*>(data)[i];
  if (threadIdx.x == 0) data[gridDim.x + blockIdx.x] = sum;
}

extern "C" __global__ void halves(__half2* h, __nv_bfloat162* b) {
  const int i = threadIdx.x;
  h[i] = __hfma2(h[i], h[i], __float2half2_rn(1.f));
  b[i] = __hmax2(__hmul2(b[i], b[i]), __float2bfloat162_rn(2.f));
}
