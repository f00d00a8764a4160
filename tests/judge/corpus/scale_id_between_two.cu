// Products of mxf4 take two scales of a row, from byte 0 or 2 of a cell; the descriptor says byte 1.
#include "../scaled.cuh"

extern "C" __global__ void kernel(const u8* ones, const u8* scales, f32* y) {
  __shared__ ScaledOperands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin_scaled(tile, ones, scales, place, done);
  constexpr auto kind = tcgen05::ScaledKind::mxf4;
  constexpr auto e2m1 = tcgen05::Narrow::e2m1;
#ifdef REPAIRED
  constexpr int byte = 2;
#else
  constexpr int byte = 1;
#endif
  constexpr u32 product =
      tcgen05::ScaledProduct{.kind = kind, .a = e2m1, .b = e2m1, .m = 128, .n = 16, .a_byte = byte}.bits();
  if (threadIdx.x == 0) {
    const TensorAddress a = d + scale_columns, b = a + 4;
    copy_scales(a, tile.a_scales);
    copy_scales(b, tile.b_scales);
    const u64 from_a = descriptor(tile.a), from_b = descriptor(tile.b);
    tcgen05::multiply_block_scaled<1, kind>(d, from_a, from_b, product, a, b, false);  // expect: first
    tcgen05::commit<1>(SharedAddress(&done));
  }
  wait(done);
  write(y, d);
  give_back(d);
}
