// The barrier first, then one thread fences for all of them and raises the flag; the same on the other side.
extern "C" __global__ void kernel(const unsigned* x, unsigned* z, volatile unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    z[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      *flag = 1;
    }
  } else {
    if (threadIdx.x == 0) {
      while (*flag == 0) {
      }
      __threadfence();
    }
    __syncthreads();
    y[threadIdx.x] = z[threadIdx.x];
  }
}
