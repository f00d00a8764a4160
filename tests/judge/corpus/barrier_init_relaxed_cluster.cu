// A relaxed cluster barrier carries nothing: the peer's arrival may meet a barrier that is not initialised yet.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u64 message;
  if (threadIdx.x == 0) {
    mbarrier::init(&message, 1);  // expect: second
#ifdef REPAIRED
    fence::mbarrier_init();
#endif
  }
  __syncwarp();
  cluster::arrive_relaxed();
  cluster::wait();
  const u32 peer = cluster::rank() ^ 1;
  if (threadIdx.x == 0) mbarrier::arrive_remote(cluster::map(SharedAddress(&message), peer));  // expect: first
  mbarrier::wait_parity<Scope::cluster>(&message, 0);
  y[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
  cluster::sync();
}
