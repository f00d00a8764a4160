// Switch tables, local arrays, constant tables, structs by value, odd integers.
#include <cstdint>

enum Code : uint8_t {
  push,
  add,
  subtract,
  multiply,
  divide,
  remainder_,
  duplicate,
  swap,
  negate,
  jump_if,
  load,
  store,
  halt
};

// An interpreter: a switch over every code in a loop, its stack a local array.
extern "C" __global__ void interpret(const uint8_t* program, int length, int* results) {
  int stack[16] = {};
  int memory[4] = {int(threadIdx.x), int(blockIdx.x), 3, 0};
  int top = 0;
  for (int at = 0; at < length;) {
    const Code code = Code(program[at++]);
    switch (code) {
      case push: stack[top++ & 15] = int8_t(program[at++]); break;
      case add: --top, stack[(top - 1) & 15] += stack[top & 15]; break;
      case subtract: --top, stack[(top - 1) & 15] -= stack[top & 15]; break;
      case multiply: --top, stack[(top - 1) & 15] *= stack[top & 15]; break;
      case divide: --top, stack[(top - 1) & 15] /= stack[top & 15] == 0 ? 1 : stack[top & 15]; break;
      case remainder_: --top, stack[(top - 1) & 15] %= stack[top & 15] == 0 ? 1 : stack[top & 15]; break;
      case duplicate: stack[top & 15] = stack[(top - 1) & 15], ++top; break;
      case swap: {
        const int last = stack[(top - 1) & 15];
        stack[(top - 1) & 15] = stack[(top - 2) & 15];
        stack[(top - 2) & 15] = last;
        break;
      }
      case negate: stack[(top - 1) & 15] = -stack[(top - 1) & 15]; break;
      case jump_if: {
        const int target = program[at++];
        if (stack[--top & 15] > 0) at = target;
        break;
      }
      case load: stack[top++ & 15] = memory[program[at++] & 3]; break;
      case store: memory[program[at++] & 3] = stack[--top & 15]; break;
      case halt: at = length; break;
    }
  }
  results[blockIdx.x * blockDim.x + threadIdx.x] = memory[3];
}

__constant__ uint32_t polynomial_table[256];
__constant__ float filter[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
__device__ uint32_t scratch_table[256];

// One thread per entry of the checksum's table, kept in global memory between two kernels.
extern "C" __global__ void checksum_table() {
  uint32_t value = threadIdx.x;
  for (int bit = 0; bit < 8; ++bit) value = value & 1 ? (value >> 1) ^ 0xedb88320u : value >> 1;
  scratch_table[threadIdx.x] = value;
}

extern "C" __global__ void checksum(const uint8_t* text, const int* begins, uint32_t* out) {
  uint32_t value = ~0u;
  for (int i = begins[threadIdx.x]; i < begins[threadIdx.x + 1]; ++i)
    value = scratch_table[(value ^ text[i]) & 0xff] ^ (value >> 8);
  out[threadIdx.x] = ~value + polynomial_table[threadIdx.x];
}

extern "C" __global__ void smooth(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (int k = -2; k <= 2; ++k) sum += filter[k + 2] * in[min(max(i + k, 0), count - 1)];
  out[i] = sum;
}

struct Inner {
  short a;
  char b;
  double c[2];
};
struct Arguments {
  Inner inner[3];
  unsigned flags : 5, level : 11, rest : 16;
  union {
    float real;
    unsigned bits;
  };
  const int* pointer;
};

extern "C" __global__ void by_value(Arguments arguments, double* out, int which) {
  const Inner& inner = arguments.inner[(which + threadIdx.x) % 3];
  out[threadIdx.x] = inner.a * 1000.0 + inner.b + inner.c[threadIdx.x & 1] + arguments.level + arguments.flags * 0.5 +
                     (arguments.bits >> 23) + arguments.pointer[threadIdx.x];
}

// 8- and 16-bit memory, signed and not, saturated, unaligned structs.
extern "C" __global__ void narrow(const int8_t* a, const uint8_t* b, int16_t* out16, uint8_t* out8) {
  const int i = threadIdx.x;
  const int sum = a[i] + b[i];
  out16[i] = int16_t(a[i] * b[i]);
  out8[i] = uint8_t(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

// Insertion sort in a local array whose length differs by lane.
extern "C" __global__ void medians(const float* in, float* out, int width) {
  float window[25];
  const int count = 1 + threadIdx.x % width;
  for (int i = 0; i < count; ++i) {
    const float value = in[(threadIdx.x + i * 7) % blockDim.x];
    int at = i;
    for (; at > 0 && window[at - 1] > value; --at) window[at] = window[at - 1];
    window[at] = value;
  }
  out[threadIdx.x] = window[count / 2];
}

// 128-bit integers: carries through every kind of arithmetic.
extern "C" __global__ void wide(const unsigned long long* in, unsigned long long* out) {
  const unsigned __int128 a = (unsigned __int128)in[2 * threadIdx.x] << 64 | in[2 * threadIdx.x + 1];
  const unsigned __int128 b = a * 0x123456789abcdefull + (a >> 3) - 1;
  const unsigned __int128 c = b - (a << 7);
  out[2 * threadIdx.x] = (unsigned long long)(c >> 64);
  out[2 * threadIdx.x + 1] = (unsigned long long)c;
}
