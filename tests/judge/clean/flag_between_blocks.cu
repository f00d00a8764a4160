// Every writer fences, a barrier gathers them, and one thread raises a flag with a relaxed atomic.
extern "C" __global__ void kernel(const unsigned* x, unsigned* z, unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    z[threadIdx.x] = x[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else {
    if (threadIdx.x == 0)
      while (atomicAdd(flag, 0) == 0) {
      }
    __syncthreads();
    __threadfence();
    y[threadIdx.x] = z[threadIdx.x];
  }
}
