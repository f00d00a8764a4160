// One block waits at the cluster's barrier for the other, which waits for a message that is sent after it.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u64 message;
  if (threadIdx.x == 0) {
    mbarrier::init(&message, 1);
    fence::mbarrier_init();
  }
  cluster::sync();
  if (cluster::rank() == 0) {
#ifndef REPAIRED
    cluster::sync();  // expect: first
#endif
    if (threadIdx.x == 0) mbarrier::arrive_remote(cluster::map(SharedAddress(&message), 1));
#ifdef REPAIRED
    cluster::sync();
#endif
  } else {
    mbarrier::wait_parity<Scope::cluster>(&message, 0);  // expect: second
    cluster::sync();
  }
  y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
}
