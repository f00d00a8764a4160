// Sum and maximum of an array over the whole grid: by shuffles in a warp, shared memory in a block, atomics between
// blocks. The sum of floats depends on the order, the others do not.

constexpr int warps = 8;

struct Partial {
  unsigned sum, largest;
  float real_sum;

  __device__ void add(const Partial& other) {
    sum += other.sum;
    largest = largest > other.largest ? largest : other.largest;
    real_sum += other.real_sum;
  }
};

// Lane 0 gets the result of its warp.
__device__ Partial reduce_warp(Partial partial) {
  for (int distance = 16; distance > 0; distance /= 2)
    partial.add({__shfl_down_sync(~0u, partial.sum, distance), __shfl_down_sync(~0u, partial.largest, distance),
                 __shfl_down_sync(~0u, partial.real_sum, distance)});
  return partial;
}

extern "C" __global__ void reduce(unsigned* sum, unsigned* largest, float* real_sum, const unsigned* x,
                                  const float* real, int elements) {
  Partial partial = {0, 0, 0};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += gridDim.x * blockDim.x)
    partial.add({x[i], x[i], real[i]});

  __shared__ Partial of_warp[warps];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  partial = reduce_warp(partial);
  if (lane == 0) of_warp[warp] = partial;
  __syncthreads();
  if (warp > 0) return;
  partial = reduce_warp(lane < warps ? of_warp[lane] : Partial{0, 0, 0});
  if (lane > 0) return;
  atomicAdd(sum, partial.sum);
  atomicMax(largest, partial.largest);
  atomicAdd(real_sum, partial.real_sum);
}
