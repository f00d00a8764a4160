// Whole small kernels: what compilers write for them, and by hand.
#include <numeric>

#include "tensor_map/virtual_form.hpp"
#include "vgpu/machine/virtual_gpu.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm::vgpu::testing {
namespace {

constexpr std::string_view saxpy = R"(
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
  .reg .pred %p<2>;
  .reg .f32 %f<5>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<8>;
  ld.param.u32 %r1, [n];
  ld.param.f32 %f1, [a];
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.u32 %rd3, %r5, 4;
  add.u64 %rd4, %rd1, %rd3;
  add.u64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f4;
done:
  ret;
}
)";

TEST(FirstLight, SaxpyByHandGivesTheSums) {
  Gpu gpu;
  gpu.load(module_text(saxpy));
  const std::uint32_t n = 1000;  // no multiple of the block
  std::vector<float> x(n), y(n);
  std::iota(x.begin(), x.end(), 1.f);
  std::iota(y.begin(), y.end(), 0.f);
  const auto dx = gpu.upload(x), dy = gpu.upload(y);
  const RunReport report = gpu.run("saxpy", {{4}, {256}, {}, 0}, parameters(n, 2.f, dx, dy));
  const auto result = gpu.download<float>(dy, n);
  for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(result[i], 2 * x[i] + y[i]) << i;
  EXPECT_EQ(report.blocks, 4u);
  EXPECT_GT(report.warp_instructions, 32u * 16u);
}

// 32 x 33 floats of shared memory, blocks of 32 x 8 threads, tails in both directions.
constexpr std::string_view transpose = R"(
.visible .entry transpose(.param .u64 to, .param .u64 from, .param .u32 rows, .param .u32 columns)
{
  .shared .align 4 .b8 tile[4224];
  .reg .pred %p<8>;
  .reg .f32 %f<3>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.param.u32 %r1, [rows];
  ld.param.u32 %r2, [columns];
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %tid.y;
  mov.u32 %r5, %ctaid.x;
  mov.u32 %r6, %ctaid.y;
  shl.b32 %r7, %r5, 5;
  shl.b32 %r8, %r6, 5;
  add.u32 %r9, %r7, %r3;      // column
  mov.u32 %r10, %r4;          // row in the tile
  mov.u32 %r20, tile;
read:
  add.u32 %r11, %r8, %r10;    // row
  setp.ge.u32 %p1, %r11, %r1;
  @%p1 bra skip_read;
  setp.ge.u32 %p2, %r9, %r2;
  @%p2 bra skip_read;
  mad.lo.u32 %r12, %r11, %r2, %r9;
  mul.wide.u32 %rd3, %r12, 4;
  add.u64 %rd4, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  mad.lo.u32 %r13, %r10, 33, %r3;
  shl.b32 %r13, %r13, 2;
  add.u32 %r13, %r13, %r20;
  st.shared.f32 [%r13], %f1;
skip_read:
  add.u32 %r10, %r10, 8;
  setp.lt.u32 %p3, %r10, 32;
  @%p3 bra read;
  bar.sync 0;
  add.u32 %r14, %r8, %r3;     // column of the result: a row of the source
  mov.u32 %r10, %r4;
write:
  add.u32 %r15, %r7, %r10;
  setp.lt.u32 %p4, %r15, %r2;
  setp.lt.and.u32 %p5, %r14, %r1, %p4;
  @!%p5 bra skip_write;
  mad.lo.u32 %r16, %r3, 33, %r10;
  shl.b32 %r16, %r16, 2;
  add.u32 %r16, %r16, %r20;
  ld.shared.f32 %f2, [%r16];
  mad.lo.u32 %r17, %r15, %r1, %r14;
  mul.wide.u32 %rd5, %r17, 4;
  add.u64 %rd6, %rd1, %rd5;
  st.global.f32 [%rd6], %f2;
skip_write:
  add.u32 %r10, %r10, 8;
  setp.lt.u32 %p6, %r10, 32;
  @%p6 bra write;
  ret;
}
)";

TEST(FirstLight, TransposeThroughSharedMemoryWithTails) {
  Gpu gpu;
  gpu.load(module_text(transpose));
  const std::uint32_t rows = 77, columns = 45;
  std::vector<float> from(rows * columns);
  std::iota(from.begin(), from.end(), 0.f);
  const auto source = gpu.upload(from), target = gpu.upload(std::vector<float>(rows * columns, -1));
  for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial}) {
    gpu.options = {.mode = mode, .seed = 7, .deterministic = mode != Mode::friendly};
    gpu.machine().fill(target, std::byte{0xff}, rows * columns * 4);
    gpu.run("transpose", {{2, 3}, {32, 8}, {}, 0}, parameters(target, source, rows, columns));
    const auto result = gpu.download<float>(target, rows * columns);
    for (std::uint32_t r = 0; r < rows; ++r)
      for (std::uint32_t c = 0; c < columns; ++c)
        ASSERT_EQ(result[c * rows + r], from[r * columns + c]) << r << " " << c;
  }
}

// Each block adds up its part with shuffles and shared memory, then adds to the total atomically.
constexpr std::string_view reduction = R"(
.visible .entry sum(.param .u64 total, .param .u64 values, .param .u32 n)
{
  .shared .align 4 .b8 partial[128];
  .reg .pred %p<8>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [total];
  ld.param.u64 %rd2, [values];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %nctaid.x;
  mad.lo.u32 %r6, %r3, %r4, %r2;
  mul.lo.u32 %r7, %r4, %r5;
  mov.u32 %r8, 0;
loop:
  setp.ge.u32 %p1, %r6, %r1;
  @%p1 bra added;
  mul.wide.u32 %rd3, %r6, 4;
  add.u64 %rd4, %rd2, %rd3;
  ld.global.nc.u32 %r9, [%rd4];
  add.u32 %r8, %r8, %r9;
  add.u32 %r6, %r6, %r7;
  bra.uni loop;
added:
  shfl.sync.down.b32 %r10, %r8, 16, 31, 0xffffffff;
  add.u32 %r8, %r8, %r10;
  shfl.sync.down.b32 %r10, %r8, 8, 31, 0xffffffff;
  add.u32 %r8, %r8, %r10;
  shfl.sync.down.b32 %r10, %r8, 4, 31, 0xffffffff;
  add.u32 %r8, %r8, %r10;
  shfl.sync.down.b32 %r10, %r8, 2, 31, 0xffffffff;
  add.u32 %r8, %r8, %r10;
  shfl.sync.down.b32 %r10, %r8, 1, 31, 0xffffffff;
  add.u32 %r8, %r8, %r10;
  and.b32 %r11, %r2, 31;
  shr.u32 %r12, %r2, 5;
  setp.ne.u32 %p2, %r11, 0;
  mov.u32 %r13, partial;
  shl.b32 %r14, %r12, 2;
  add.u32 %r14, %r14, %r13;
  @!%p2 st.shared.u32 [%r14], %r8;
  bar.sync 0;
  setp.ne.u32 %p3, %r2, 0;
  @%p3 bra done;
  shr.u32 %r15, %r4, 5;
  mov.u32 %r16, 0;
more:
  ld.shared.u32 %r17, [%r13];
  add.u32 %r16, %r16, %r17;
  add.u32 %r13, %r13, 4;
  sub.u32 %r15, %r15, 1;
  setp.ne.u32 %p4, %r15, 0;
  @%p4 bra more;
  red.global.add.u32 [%rd1], %r16;
done:
  ret;
}
)";

TEST(FirstLight, GridReductionWithAtomics) {
  Gpu gpu;
  gpu.load(module_text(reduction));
  const std::uint32_t n = 12345;
  std::vector<std::uint32_t> values(n);
  std::iota(values.begin(), values.end(), 1u);
  const auto source = gpu.upload(values), total = gpu.upload(std::vector<std::uint32_t>{0});
  for (const int threads : {1, 2, 4}) {
    gpu.options.host_threads = threads;
    gpu.machine().fill(total, std::byte{0}, 4);
    gpu.run("sum", {{13}, {192}, {}, 0}, parameters(total, source, n));
    EXPECT_EQ(gpu.download<std::uint32_t>(total, 1)[0], n * (n + 1) / 2);
  }
}

// A tile of 16 x 8 floats: tensor load, mbarrier, tensor store.
constexpr std::string_view tile_copy = R"(
.visible .entry tile_copy(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128])
{
  .shared .align 128 .b8 tile[512];
  .shared .align 8 .b64 arrived;
  .reg .pred %p<4>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<6>;
  mov.b64 %rd1, from;
  cvta.param.u64 %rd2, %rd1;
  mov.b64 %rd3, to;
  cvta.param.u64 %rd4, %rd3;
  mov.u32 %r1, tile;
  mov.u32 %r2, arrived;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %ctaid.y;
  shl.b32 %r6, %r4, 4;
  shl.b32 %r7, %r5, 3;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra issued;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r6, %r7}], [%r2];
issued:
  bar.sync 0;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra wait;
  // Each of the 128 threads doubles one element.
  .reg .f32 %f<2>;
  shl.b32 %r8, %r3, 2;
  add.u32 %r8, %r8, %r1;
  ld.shared.f32 %f1, [%r8];
  add.f32 %f1, %f1, %f1;
  st.shared.f32 [%r8], %f1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 bra done;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {%r6, %r7}], [%r1];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
done:
  ret;
}
)";

TensorMap map_of(std::uint64_t address, std::int64_t rows, std::int64_t columns) {
  TensorMapSpec spec;
  spec.element = MapElement::f32;
  spec.address = address;
  spec.dims = {rows, columns};
  spec.strides = {columns * 4};
  spec.box = {8, 16};
  return tensor_map::encode_virtual(spec);
}

TEST(FirstLight, TensorLoadBarrierWaitAndTensorStore) {
  Gpu gpu;
  gpu.load(module_text(tile_copy));
  const std::int64_t rows = 20, columns = 40;  // tails in both directions
  std::vector<float> from(rows * columns);
  std::iota(from.begin(), from.end(), 1.f);
  const auto source = gpu.upload(from), target = gpu.upload(std::vector<float>(rows * columns, -1));
  Parameters p;
  p.add(map_of(source, rows, columns), 64).add(map_of(target, rows, columns), 64);
  for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      gpu.options = {.mode = mode, .seed = seed, .deterministic = mode != Mode::friendly};
      gpu.machine().fill(target, std::byte{0xff}, rows * columns * 4);
      gpu.run("tile_copy", {{3, 3}, {128}, {}, 0}, p);
      const auto result = gpu.download<float>(target, rows * columns);
      for (std::int64_t i = 0; i < rows * columns; ++i) ASSERT_EQ(result[i], 2 * from[i]) << i;
    }
}

// One tile is stored at the coordinates given.
constexpr std::string_view tile_store = R"(
.visible .entry tile_store(.param .align 64 .b8 to[128], .param .s32 x, .param .s32 y)
{
  .shared .align 128 .b8 tile[512];
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  mov.b64 %rd1, to;
  cvta.param.u64 %rd2, %rd1;
  ld.param.s32 %r1, [x];
  ld.param.s32 %r2, [y];
  mov.u32 %r3, tile;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {%r1, %r2}], [%r3];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)";

TEST(FirstLight, TensorCoordinatesThatTheChipTrapsOnAreFaults) {
  Gpu gpu;
  gpu.load(module_text(tile_store));
  const auto target = gpu.upload(std::vector<float>(20 * 40));
  const auto at = [&](std::int32_t x, std::int32_t y) {
    Parameters p;
    p.add(map_of(target, 20, 40), 64).add(x).add(y);
    return gpu.failure("tile_store", {{1}, {1}, {}, 0}, p);
  };
  EXPECT_EQ(at(36, 19), "");
  EXPECT_EQ(at(400, 0), "");
  EXPECT_NE(at(6, 0).find("the innermost coordinate 6 of a tensor of f32 is at byte 24"), std::string::npos);
  EXPECT_NE(at(-4, 0).find("coordinate 0 of a tensor store is -4"), std::string::npos);
  EXPECT_NE(at(0, -1).find("coordinate 1 of a tensor store is -1"), std::string::npos);
}

// Four pixels are stored through an im2col map, or added.
constexpr std::string_view pixels_store = R"(
.visible .entry pixels_store(.param .align 64 .b8 to[128], .param .u32 add)
{
  .shared .align 128 .b8 tile[128];
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  .reg .pred %p<2>;
  mov.b64 %rd1, to;
  cvta.param.u64 %rd2, %rd1;
  mov.u32 %r1, 0;
  ld.param.u32 %r2, [add];
  setp.ne.u32 %p1, %r2, 0;
  mov.u32 %r3, tile;
  @!%p1 cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%rd2, {%r1, %r1, %r1}], [%r3];
  @%p1 cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.im2col_no_offs.bulk_group [%rd2, {%r1, %r1, %r1}], [%r3];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)";

TEST(FirstLight, StoresThroughCornersThatTheChipTrapsOnAreFaults) {
  Gpu gpu;
  gpu.load(module_text(pixels_store));
  TensorMapSpec spec;
  spec.mode = MapMode::im2col;
  spec.element = MapElement::f32;
  spec.address = gpu.upload(std::vector<float>(2 * 9 * 8));
  spec.dims = {2, 9, 8};
  spec.strides = {9 * 8 * 4, 8 * 4};
  spec.channels_per_pixel = 8;
  spec.pixels_per_column = 4;
  const auto with = [&](std::int64_t lower, std::int64_t upper, std::uint32_t add) {
    spec.lower_corner = {lower};
    spec.upper_corner = {upper};
    Parameters p;
    p.add(tensor_map::encode_virtual(spec), 64).add(add);
    return gpu.failure("pixels_store", {{1}, {1}, {}, 0}, p);
  };
  for (const std::uint32_t add : {0u, 1u}) {
    EXPECT_EQ(with(0, 0, add), "");
    EXPECT_NE(with(-1, 0, add).find("im2col map whose corners are not all 0"), std::string::npos);
    EXPECT_NE(with(0, -1, add).find("im2col map whose corners are not all 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace wm::vgpu::testing
