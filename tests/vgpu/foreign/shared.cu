// Shared memory: templates over tiles, dynamic memory carved up by hand, barriers and pipelines of libcu++.
#include <cassert>

#include <cuda/barrier>
#include <cuda/pipeline>

template <typename T, int tile, bool transposed>
__device__ void multiply(const T* a, const T* b, T* c, int m, int n, int k) {
  __shared__ T left[tile][tile + 1], right[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  T sum = 0;
  for (int step = 0; step < k; step += tile) {
    const int along = step + threadIdx.x, down = step + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && along < k ? a[row * k + along] : T(0);
    right[threadIdx.y][threadIdx.x] =
        down < k && column < n ? (transposed ? b[column * k + down] : b[down * n + column]) : T(0);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

extern "C" __global__ void multiply_float(const float* a, const float* b, float* c, int m, int n, int k) {
  multiply<float, 16, false>(a, b, c, m, n, k);
}
extern "C" __global__ void multiply_double(const double* a, const double* b, double* c, int m, int n, int k) {
  multiply<double, 8, true>(a, b, c, m, n, k);
}

// One dynamic block of memory, cut into arrays of three types.
extern __shared__ __align__(16) unsigned char memory[];

extern "C" __global__ void carved(const int* in, int count, int bins, int* histogram, double* mean) {
  int* counts = reinterpret_cast<int*>(memory);
  double* sums = reinterpret_cast<double*>(memory + ((bins * 4 + 7) & ~7));
  unsigned short* seen = reinterpret_cast<unsigned short*>(sums + blockDim.x);
  assert(blockDim.x <= 256);
  for (int i = threadIdx.x; i < bins; i += blockDim.x) counts[i] = 0;
  sums[threadIdx.x] = 0;
  seen[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    atomicAdd(counts + in[i] % bins, 1);
    sums[threadIdx.x] += in[i];
    ++seen[threadIdx.x];
  }
  __syncthreads();
  for (int width = blockDim.x / 2; width > 0; width /= 2) {
    if (int(threadIdx.x) < width) {
      sums[threadIdx.x] += sums[threadIdx.x + width];
      seen[threadIdx.x] = (unsigned short)(seen[threadIdx.x] + seen[threadIdx.x + width]);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < bins; i += blockDim.x) histogram[i] = counts[i];
  if (threadIdx.x == 0) *mean = sums[0] / seen[0];
}

// Half a block produces, the other half consumes, through two cuda::barriers.
extern "C" __global__ void handed_over(const int* in, long long* out, int rounds) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ int slot[64];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier filled, emptied;
  if (threadIdx.x == 0) {
    init(&filled, blockDim.x);
    init(&emptied, blockDim.x);
  }
  __syncthreads();
  const int lane = threadIdx.x % 64;
  long long sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x < 64) {
      slot[lane] = in[round * 64 + lane];
      (void)filled.arrive();
      emptied.arrive_and_wait();
    } else {
      filled.arrive_and_wait();
      sum = sum * 3 + slot[63 - lane];
      (void)emptied.arrive();
    }
  }
  if (threadIdx.x >= 64) out[lane] = sum;
}

// A pipeline of two stages: cp.async behind libcu++'s face.
extern "C" __global__ void pipelined(const int4* in, int* out, int batches) {
  __shared__ int4 stage[2][64];
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  int sum = 0;
  for (int fetched = 0, batch = 0; batch < batches; ++batch) {
    for (; fetched < batch + 2; ++fetched) {  // past the end the stages are empty, but they count
      pipe.producer_acquire();
      if (fetched < batches)
        cuda::memcpy_async(&stage[fetched % 2][threadIdx.x], in + fetched * 64 + threadIdx.x,
                           cuda::aligned_size_t<16>(sizeof(int4)), pipe);
      pipe.producer_commit();
    }
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    __syncthreads();
    const int4 value = stage[batch % 2][(threadIdx.x + 1) % 64];
    sum = sum * 5 + (value.x ^ value.y) + (value.z - value.w);
    __syncthreads();
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// Named barriers of a few warps, and barriers that also vote.
extern "C" __global__ void voted(const int* in, int* out) {
  const int value = in[threadIdx.x];
  const int count = __syncthreads_count(value > 10);
  const int all = __syncthreads_and(value >= 0), any = __syncthreads_or(value == 13);
  if (threadIdx.x < 64) asm volatile("bar.sync 3, 64;" ::: "memory");
  __syncwarp();
  out[threadIdx.x] = count * 100 + (all != 0) * 10 + (any != 0);
}
