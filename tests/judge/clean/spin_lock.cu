// A lock taken with compare-and-swap guards an ordinary counter.
extern "C" __global__ void kernel(int* lock, unsigned* y) {
  if (threadIdx.x % 32 != 0) return;
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *y += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
