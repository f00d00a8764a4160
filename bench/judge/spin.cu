// Seven warps spin on a flag while the eighth computes.
extern "C" __global__ void kernel(unsigned* y, unsigned* flag, unsigned rounds) {
  if (threadIdx.x == 0) {
    unsigned state = 1;
    for (unsigned i = 0; i < rounds; ++i) state = state * 1664525u + 1013904223u;
    y[256] = state;
    asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
  }
  if (threadIdx.x >= 32) {
    unsigned up = 0;
    while (up == 0) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(up) : "l"(flag) : "memory");
  }
  y[threadIdx.x] = threadIdx.x;
}
