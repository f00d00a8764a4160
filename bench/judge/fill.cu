// Random numbers by rejection: lanes leave the inner loop one by one.
extern "C" __global__ void kernel(unsigned* y, unsigned rounds) {
  unsigned state = (blockIdx.x * 256 + threadIdx.x) * 2654435761u + 1, sum = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    do state = state * 1664525u + 1013904223u;
    while ((state >> 24) >= 128);
    sum += state >> 31;
  }
  y[blockIdx.x * 256 + threadIdx.x] = sum;
}
