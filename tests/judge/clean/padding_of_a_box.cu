// A box reaches beyond the tensor, within 16 bytes and by rows: what the copy engine takes along there, nobody wrote.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, const __grid_constant__ TensorMap map, const u32* rows, u32* y) {
  __shared__ alignas(128) u32 tile[8][8];
  if (threadIdx.x < 30) tile[threadIdx.x / 5][threadIdx.x % 5] = x[threadIdx.x];
  fence::proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma::store(map, {0, 0}, tile);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
  __syncthreads();
  if (threadIdx.x < 30) y[threadIdx.x] = rows[threadIdx.x / 5 * 8 + threadIdx.x % 5];
}
