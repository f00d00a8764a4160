// z = x + y, one thread an element; the last block is not full.
extern "C" __global__ void vector_add(float* z, const float* x, const float* y, int elements) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) z[i] = x[i] + y[i];
}
