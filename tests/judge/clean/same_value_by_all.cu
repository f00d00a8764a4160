// Every thread that finds something writes the same word: whichever comes last, the value is the same.
extern "C" __global__ void kernel(const unsigned* x, unsigned* y) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  if (x[threadIdx.x] % 2 == 1) found = 1;
  __syncthreads();
  y[threadIdx.x] = found ? x[threadIdx.x] : 0;
}
