// Calls of every kind: recursion, structs in and out, function pointers, virtual functions, lambdas, printf.
#include <cstdio>

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

// Lanes recurse to different depths.
extern "C" __global__ void recursion(unsigned* out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x / 3); }

__device__ __noinline__ void quick_sort(int* first, int* last) {
  if (last - first < 2) return;
  const int pivot = first[(last - first) / 2];
  int *left = first, *right = last - 1;
  while (left <= right) {
    while (*left < pivot) ++left;
    while (*right > pivot) --right;
    if (left <= right) {
      const int swapped = *left;
      *left++ = *right;
      *right-- = swapped;
    }
  }
  quick_sort(first, right + 1);
  quick_sort(left, last);
}

extern "C" __global__ void sort_rows(int* rows, int width) {
  quick_sort(rows + threadIdx.x * width, rows + (threadIdx.x + 1) * width);
}

struct Fraction {
  long long over, under;
  char tag[5];
};

__device__ __noinline__ long long divisor(long long a, long long b) { return b == 0 ? a : divisor(b, a % b); }

__device__ __noinline__ Fraction sum(Fraction a, const Fraction& b) {
  Fraction result = a;
  result.over = a.over * b.under + b.over * a.under;
  result.under = a.under * b.under;
  const long long common = divisor(result.over, result.under);
  result.over /= common;
  result.under /= common;
  for (int i = 0; i < 5; ++i) result.tag[i] = char(a.tag[4 - i] + (b.tag[i] & 1));
  return result;
}

extern "C" __global__ void fractions(const Fraction* in, Fraction* out, int count) {
  Fraction total = in[threadIdx.x];
  for (int i = 1; i < count; ++i) total = sum(total, in[(threadIdx.x + i) % blockDim.x]);
  out[threadIdx.x] = total;
}

using Operation = float (*)(float, float);
__device__ __noinline__ float plus_function(float a, float b) { return a + b; }
__device__ __noinline__ float minus_function(float a, float b) { return a - b; }
__device__ __noinline__ float times_function(float a, float b) { return a * b; }
__device__ Operation operations[3] = {plus_function, minus_function, times_function};

// Each lane calls the function its data names: an indirect call that diverges.
extern "C" __global__ void indirect(const float* a, const float* b, const int* which, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = operations[which[i]](a[i], b[i]);
}

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual const char* name() const { return "shape"; }
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float side) : side(side) {}
  __device__ float area() const override { return side * side; }
  __device__ const char* name() const override { return "square"; }
};
struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float radius) : radius(radius) {}
  __device__ float area() const override { return 3.0f * radius * radius; }
};

extern "C" __global__ void dispatch(float* out) {
  Square square(float(threadIdx.x));
  Circle circle(float(threadIdx.x));
  const Shape* shape = threadIdx.x % 3 == 0 ? static_cast<const Shape*>(&square) : &circle;
  out[threadIdx.x] = shape->area() + float(shape->name()[1] == 'q');
}

template <typename Function>
__device__ int folded(int count, Function function) {
  int result = 0;
  for (int i = 0; i < count; ++i) result = function(result, i);
  return result;
}

extern "C" __global__ void lambdas(int* out, int scale) {
  const int thread = threadIdx.x;
  out[thread] = folded(thread, [=](int sum, int i) { return sum + scale * i; }) ^
                folded(thread % 7, [&](int sum, int i) { return sum * 3 + i - thread; });
}

extern "C" __global__ void print(int value, double real, const char* text) {
  if (threadIdx.x == 33)
    printf("hello from %d: %5.2f|%-6d|%06x|%c|%s|%%|%llu|%e\n", int(threadIdx.x), real, value, value, 'z', text,
           18446744073709551615ull, real);
  if (threadIdx.x == 2 && blockIdx.x == 0) printf("no arguments\n");
}
