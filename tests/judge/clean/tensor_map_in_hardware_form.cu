// A tensor map in the hardware's own form, which the kernel writes bit by bit: used where its 64 bytes lie, and as a
// copy with another address.
#include "../common.cuh"

// A box of 32 x 4 elements of u32, which is all of the tensor.
WM_DEVICE void write_map(u64* words, const u32* tensor) {
  words[0] = u64(tensor);
  words[1] = 2 | 1 << 4 | 2 << 7 | u64(128 / 16) << 32;  // a tiled map; dimensions less one; u32; bytes of a row / 16
  words[2] = words[3] = words[5] = 0;
  words[4] = 31 | u64(3) << 32;  // sizes less one
  words[6] = u64(31) << 56;      // the box less one
  words[7] = 3;
}

extern "C" __global__ void kernel(const u32* x, u64* written, u64* with_more, TensorMap* changed, u32* y) {
  __shared__ alignas(128) u32 tiles[3][128];
  __shared__ alignas(128) u64 draft[16];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x < 32) {
    auto* const map = reinterpret_cast<TensorMap*>(written);
    if (threadIdx.x == 0) {
      write_map(written, x);
      write_map(with_more, x + 128);
      fence::tensor_map_release<Scope::device>();
      fence::tensor_map_acquire<Scope::device>(map);
      fence::tensor_map_acquire<Scope::device>(reinterpret_cast<TensorMap*>(with_more));
      write_map(draft, x);
      tensor_map::set_global_address(SharedAddress(draft), u64(x + 128));
    }
    __syncwarp();
    tensor_map::publish<Scope::device>(changed, draft);
    fence::tensor_map_acquire<Scope::device>(changed);
    if (threadIdx.x == 1) with_more[8] = 1;  // behind the 64 bytes
    __syncwarp();
    if (threadIdx.x == 0) {
      mbarrier::arrive_expect_tx(&full, sizeof tiles);
      tma::load(tiles[0], *map, {0, 0}, &full);
      tma::load(tiles[1], *changed, {0, 0}, &full);
      tma::load(tiles[2], *reinterpret_cast<TensorMap*>(with_more), {0, 0}, &full);
    }
  }
  mbarrier::wait_parity(&full, 0);
  for (u32 half = 0; half < 2; ++half) y[128 * half + threadIdx.x] = tiles[half][threadIdx.x];
  y[128 + threadIdx.x] += tiles[2][threadIdx.x] - tiles[1][threadIdx.x];
}
