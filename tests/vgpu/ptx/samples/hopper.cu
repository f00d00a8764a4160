// Inline assembly in its own scopes, and the asynchronous instructions of sm_90a.
#include <cstdint>

struct alignas(64) Map {
  unsigned char bytes[128];
};

__device__ bool arrived(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return done != 0;
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra "
      "again;\ndone:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128, 1)
    hopper(const __grid_constant__ Map map, float* out, uint64_t descriptor) {
  __shared__ alignas(128) float tile[1024];
  __shared__ uint64_t barrier;
  const uint32_t barrier_address = uint32_t(__cvta_generic_to_shared(&barrier));
  const uint32_t tile_address = uint32_t(__cvta_generic_to_shared(tile));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_address));
    asm volatile("// wm.name barrier full %0" ::"r"(barrier_address));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(barrier_address));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, "
        "%3}], "
        "[%4], %5;" ::"r"(tile_address),
        "l"(&map), "r"(0), "r"(int(blockIdx.x)), "r"(barrier_address), "l"(descriptor)
        : "memory");
  }
  __syncthreads();
  if (!arrived(barrier_address, 0)) wait(barrier_address, 0);
  wait(barrier_address, 0);
  float sum[4] = {};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, p, 1, 1, 0, 0;\n}"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "l"(descriptor), "r"(1));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
  out[threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3] + tile[threadIdx.x];
}
