// Atomic operations of every kind and width, by intrinsic and through libcu++, and memory orders between blocks.
#include <cuda/atomic>

extern "C" __global__ void integers(int* i, unsigned* u, unsigned long long* l) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(i + 0, t);
  atomicSub(i + 1, t);
  atomicMin(i + 2, (t * 37) % 1000 - 500);
  atomicMax(i + 3, (t * 37) % 1000 - 500);
  atomicInc(u + 0, 99);
  atomicDec(u + 1, 77);
  atomicAnd(u + 2, ~(1u << (t % 32)) | 0x80000001u);
  atomicOr(u + 3, 1u << (t % 30));
  atomicXor(u + 4, unsigned(t) * 2654435761u);
  atomicMin(u + 5, unsigned(t) ^ 0x80000000u);
  atomicMax(u + 6, unsigned(t) ^ 0x80000000u);
  atomicAdd(l + 0, 0x100000001ull * t);
  atomicMin(l + 1, (unsigned long long)t << 33);
  atomicMax(l + 2, (unsigned long long)t << 33);
  atomicAnd(l + 3, ~(1ull << (t % 60)));
  atomicOr(l + 4, 1ull << (t % 64));
  atomicXor(l + 5, 0x9e3779b97f4a7c15ull * t);
  atomicMin(reinterpret_cast<long long*>(l + 6), (long long)(t)-5);
}

extern "C" __global__ void exchanged(int* chain, int* seen, unsigned long long* wide) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  seen[t] = atomicExch(chain, t);
  atomicExch(wide, 1ull << 40 | (unsigned long long)t);
  unsigned long long old = wide[1], assumed;
  do {
    assumed = old;
    old = atomicCAS(wide + 1, assumed, assumed * 3 + 1);
  } while (old != assumed);
}

extern "C" __global__ void reals(float* f, double* d) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(f, float(t % 16) * 0.25f);
  atomicAdd(d, double(t) * 0.125);
  __shared__ float local;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  atomicAdd(&local, 0.5f);
  __syncthreads();
  if (threadIdx.x == 0) f[1 + blockIdx.x] = local;
  atomicExch(f + 10, 2.5f);
}

extern "C" __global__ void narrow_cas(unsigned short* cells) {
  unsigned short* cell = cells + threadIdx.x % 4;
  unsigned short old = *cell, assumed;
  do {
    assumed = old;
    old = atomicCAS(cell, assumed, (unsigned short)(assumed + 3));
  } while (old != assumed);
}

extern "C" __global__ void scoped(int* global) {
  __shared__ int shared;
  if (threadIdx.x == 0) shared = 0;
  __syncthreads();
  atomicAdd_block(&shared, 2);
  atomicAdd_system(global, 1);
  atomicMax_block(global + 1, int(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(global + 2, shared);
}

// The last block to finish adds up what the others left.
__device__ unsigned finished = 0;

extern "C" __global__ void last_block(const int* in, int count, int* partial, int* total) {
  __shared__ int sum;
  __shared__ bool last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) atomicAdd(&sum, in[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  int result = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) result += static_cast<volatile int*>(partial)[block];
  *total = result;
}

// Release and acquire through cuda::atomic_ref: block b waits for block b - 1.
extern "C" __global__ void chained(int* values, int* flags) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  int before = 1;
  if (b > 0) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[b - 1]);
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    before = values[b - 1];
  }
  values[b] = before * 2 + b;
  cuda::atomic_ref<int, cuda::thread_scope_device>(flags[b]).store(1, cuda::memory_order_release);
}

extern "C" __global__ void ordered(unsigned* cells) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_system> strong(cells[0]);
  strong.fetch_add(threadIdx.x, cuda::memory_order_seq_cst);
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> weak(cells[1 + blockIdx.x]);
  weak.fetch_max(threadIdx.x * 3, cuda::memory_order_acq_rel);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}
