// A warp stores a matrix of bytes, and the copy engine takes it away with no fence between.
#include "../byte_matrix.cuh"

extern "C" __global__ void kernel(const u32* x, u8* y) {
  __shared__ alignas(128) u8 tile[8][16];
  store_bytes(tile[threadIdx.x % 8], x[threadIdx.x]);  // expect: second
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk::store(y, tile, sizeof tile);  // expect: first
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
