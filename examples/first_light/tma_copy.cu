// A matrix copied tile by tile with the copy engine (TMA): load, wait on an mbarrier, store. Plain inline PTX; tiles at
// the right and the bottom reach out of the matrix, and the engine cuts them.

constexpr int tile_rows = 32, tile_columns = 32;
constexpr unsigned tile_bytes = tile_rows * tile_columns * sizeof(float);

struct alignas(64) TensorMap {
  char bytes[128];
};

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

extern "C" __global__ void tma_copy(const __grid_constant__ TensorMap source,
                                    const __grid_constant__ TensorMap destination) {
  __shared__ alignas(128) float tile[tile_rows][tile_columns];
  __shared__ alignas(8) unsigned long long full;
  const unsigned tile_at = shared_address(tile), full_at = shared_address(&full);
  const int column = blockIdx.x * tile_columns, row = blockIdx.y * tile_rows;

  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full_at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // the engine sees the barrier
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full_at), "r"(tile_bytes) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(tile_at),
        "l"(&source), "r"(column), "r"(row), "r"(full_at)
        : "memory");
  }
  __syncthreads();  // nobody waits on a barrier that is not there yet

  unsigned arrived = 0;
  while (!arrived)
    asm volatile(
        "{\n"
        "  .reg .pred done;\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 done, [%1], 0;\n"
        "  selp.u32 %0, 1, 0, done;\n"
        "}"
        : "=r"(arrived)
        : "r"(full_at)
        : "memory");
  __syncthreads();

  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&destination),
                 "r"(column), "r"(row), "r"(tile_at)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
