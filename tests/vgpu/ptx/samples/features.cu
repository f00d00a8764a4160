// What a compiler makes of everyday CUDA C++: templates, printf, a switch table, local arrays, calls, function
// pointers.
#include <cstdio>

struct Point {
  int tag;
  double weight;
  char name[7];
};

__constant__ float weights[16] = {1.f, 2.f, 3.f};
__device__ const char* words[2] = {"even", "odd"};
__device__ int counter = 5;
__device__ int* last = &counter;
struct __align__(4) Packed {
  char kind;
  int* where;
}
__attribute__((packed));
__device__ Packed packed = {'p', &counter};

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ Point moved(Point point, int by) {
  point.tag += by;
  point.name[by & 3] = 'x';
  return point;
}

__device__ int twice(int x) { return 2 * x; }
__device__ int negated(int x) { return -x; }
__device__ int (*operations[2])(int) = {twice, negated};

template <int n>
__device__ float pick(float x, int k) {
  float values[n];
  for (int i = 0; i < n; ++i) values[i] = x * i + weights[i];
  return values[k % n];
}

__device__ float choose(int which, float x) {
  switch (which) {
    case 0: return sinf(x);
    case 1: return x * 3.0f;
    case 2: return x - 11.0f;
    case 3: return pick<12>(x, which + int(x));
    case 4: return float(ackermann(2, 3));
    case 5: return float(operations[which & 1](which));
    case 6: return float(moved({which, x, "point"}, 2).tag);
    case 7: return __fdividef(x, 7.0f);
    default: return 0.0f;
  }
}

extern __shared__ float scratch[];

__global__ void __launch_bounds__(128, 2) features(Point point, float* __restrict__ out, const int* which) {
  __shared__ int row[33][2];
  const int lane = threadIdx.x & 31;
  row[lane][1] = which[threadIdx.x];
  scratch[threadIdx.x] = float(point.weight);
  __syncthreads();
  const float value = choose(row[lane][1], scratch[threadIdx.x ^ 1]);
  if (value < 0) printf("%d: %f is %s\n", lane, value, words[lane & 1]);
  out[threadIdx.x] = value + __shfl_down_sync(0xffffffffu, value, 4);
  atomicAdd(last, packed.kind);
}
