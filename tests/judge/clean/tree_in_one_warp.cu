// A warp adds up through shuffles and through shared memory with __syncwarp.
extern "C" __global__ void kernel(const unsigned* x, unsigned* y) {
  __shared__ unsigned partial[32];
  partial[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  for (unsigned half = 16; half > 4; half /= 2) {
    const unsigned other = threadIdx.x < half ? partial[threadIdx.x + half] : 0;
    __syncwarp();
    if (threadIdx.x < half) partial[threadIdx.x] += other;
    __syncwarp();
  }
  unsigned sum = threadIdx.x < 8 ? partial[threadIdx.x] : 0;
  for (unsigned half = 4; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
  if (threadIdx.x == 0) *y = sum;
}
