// A matrix of bytes is loaded and transposed before the copy of its tile has arrived.
#include "../byte_matrix.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap x, u32* y) {
  __shared__ alignas(128) u8 tile[16][16];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    load_tile(tile, x, &full);  // expect: second
  }
#ifdef REPAIRED
  mbarrier::wait_parity(&full, 0);
#else
  __syncthreads();
#endif
  u32 columns[2];
  load_bytes(columns, tile[threadIdx.x % 16]);  // expect: first
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = columns[0];
  y[32 + threadIdx.x] = columns[1];
}
