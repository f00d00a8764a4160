// tcgen05.cp in every confirmed shape, with and without expansion, against the sheet's table and CuTe's layouts, and
// cluster launch control.
#include <set>

#include "vgpu/tcgen05/cute.hpp"
#include "vgpu/tcgen05/kernels.hpp"
#include "vgpu/tcgen05/sheet.hpp"

namespace wm::vgpu::testing {
namespace {

using std::uint32_t;

struct CellCopy {
  const char* shape;
  uint32_t rows, pieces;
};
constexpr CellCopy shapes[] = {{"128x256b", 128, 2},
                               {"128x128b", 128, 1},
                               {"64x128b.warpx2::02_13", 64, 1},
                               {"64x128b.warpx2::01_23", 64, 1},
                               {"32x128b.warpx4", 32, 1}};

// The lanes that data row i comes to.
std::set<uint32_t> lanes_of(const std::string& shape, uint32_t i) {
  if (shape == "64x128b.warpx2::02_13") return {i, i + 64};
  if (shape == "64x128b.warpx2::01_23") return i < 32 ? std::set{i, i + 32} : std::set{i + 32, i + 64};
  if (shape == "32x128b.warpx4") return {i, i + 32, i + 64, i + 96};
  return {i};
}

// The same by CuTe, and the column of a word of the row.
std::set<uint32_t> lanes_by_cute(const std::string& shape, uint32_t row) {
  const auto& walks = cute::vectors().walks("cp " + shape);
  std::set<uint32_t> lanes;
  for (uint32_t copy = 0; copy < walks.at(2).count(); ++copy)
    lanes.insert(walks.at(0).at(row).lane + walks.at(2).at(copy).lane);
  return lanes;
}
uint32_t column_by_cute(const std::string& shape, uint32_t word) {
  return cute::vectors().walks("cp " + shape).at(1).at(word).column;
}

// Element `i` of those of `bits` that lie together from `bytes` on.
uint32_t element(const std::uint8_t* bytes, uint32_t bits, uint32_t i) {
  uint32_t value = 0;
  for (uint32_t bit = 0; bit < bits; ++bit) value |= (bytes[(i * bits + bit) / 8] >> (i * bits + bit) % 8 & 1u) << bit;
  return value;
}

// A word of tensor memory from the piece of 16 bytes it comes from: bytes as they are, sixteen elements of 6 bits in
// the low bits of a byte each, or sixteen of 4 bits in the middle.
uint32_t word_of(const std::uint8_t* piece, uint32_t word, uint32_t bits) {
  uint32_t cell = 0;
  for (uint32_t i = 0; i < 4; ++i) cell |= element(piece, bits, 4 * word + i) << (bits == 4 ? 2 : 0) << 8 * i;
  return cell;
}

const char* expansion_of(uint32_t bits) { return bits == 8 ? "" : bits == 6 ? ".b8x16.b6x16_p32" : ".b8x16.b4x16_p64"; }

void check(const CellCopy& c, int blocks, int swizzle, Mode mode, uint32_t bits = 8) {
  SCOPED_TRACE(fmt::format("{} blocks {} swizzle {} bits {}", c.shape, blocks, swizzle, bits));
  constexpr uint32_t image_bytes = 16384;
  const uint32_t width = swizzle == 0 ? 0 : swizzle == 6 ? 32 : swizzle == 4 ? 64 : 128;
  const sheet::Layout layout{false, swizzle, 128, swizzle == 0 ? 256 : 8 * width};
  std::string body = "  shr.u32 %r24, %image, 4;\n  cvt.u64.u32 %rd2, %r24;\n";
  body += fmt::format("  add.u64 %rd3, %rd2, {};\n  add.u32 %r22, %base, 40;\n", layout.descriptor());
  body += "  setp.eq.u32 %p4, %rank, 0;\n  and.pred %p4, %p4, %first;\n  @!%p4 bra issued;\n";
  body += fmt::format("  tcgen05.cp.cta_group::{}.{}{} [%r22], %rd3;\n", blocks, c.shape, expansion_of(bits));
  body += blocks == 2 ? "  mov.b16 %h1, 3;\n"
                        "  tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
                        "[%bar], %h1;\n"
                      : "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n";
  body += "issued:\n";
  body += wait_for_commit;
  Gpu gpu("sm_100a", 2);
  gpu.options.mode = mode;
  gpu.options.deterministic = true;
  gpu.load(tensor_kernel(body, blocks, image_bytes));
  std::vector<uint32_t> image(static_cast<std::size_t>(blocks) * image_bytes / 4);
  for (uint32_t i = 0; i < image.size(); ++i) image[i] = i * 2654435761u;
  const auto in = gpu.upload(image);
  const std::size_t cells = static_cast<std::size_t>(blocks) * 128 * 512;
  const auto out = gpu.upload(std::vector<uint32_t>(cells));
  const auto count = static_cast<uint32_t>(blocks);
  gpu.run("test", {{count}, {128}, {count}, image_bytes}, parameters(out, in));
  const auto got = gpu.download<uint32_t>(out, cells);
  std::vector<uint32_t> want(cells, fresh);
  for (uint32_t block = 0; block < count; ++block)
    for (uint32_t row = 0; row < c.rows; ++row) {
      ASSERT_EQ(lanes_of(c.shape, row), lanes_by_cute(c.shape, row));
      for (uint32_t byte = 0; byte < 16 * c.pieces; byte += 4) {
        ASSERT_EQ(byte / 4, column_by_cute(c.shape, byte / 4));
        const auto* const piece = reinterpret_cast<const std::uint8_t*>(image.data()) + block * image_bytes +
                                  layout.byte(row, byte / 16 * 16, 1);
        for (const uint32_t lane : lanes_of(c.shape, row))
          want[(block * 128 + lane) * 512 + 40 + byte / 4] = word_of(piece, byte % 16 / 4, bits);
      }
    }
  ASSERT_EQ(got, want);
}

TEST(TensorCopy, BringsRowsToTheirLanes) {
  for (const CellCopy& c : shapes)
    for (const int blocks : {1, 2})
      for (const int swizzle : {0, 2, 4, 6}) check(c, blocks, swizzle, Mode::friendly);
  for (const Mode mode : {Mode::random, Mode::adversarial}) check(shapes[4], 2, 0, mode);
}

TEST(TensorCopy, GivesElementsOfFourAndSixBitsAByteEach) {
  for (const CellCopy& c : shapes)
    for (const uint32_t bits : {4u, 6u}) {
      check(c, 1, 2, Mode::friendly, bits);
      check(c, 2, 0, Mode::random, bits);
    }
  // Numbers 0 to 15, written down by hand, packed and in bytes.
  constexpr std::uint8_t fours[] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};
  constexpr std::uint8_t sixes[] = {0x40, 0x20, 0x0c, 0x44, 0x61, 0x1c, 0x48, 0xa2, 0x2c, 0x4c, 0xe3, 0x3c};
  constexpr uint32_t middles[] = {0x0c080400, 0x1c181410, 0x2c282420, 0x3c383430};
  constexpr uint32_t lows[] = {0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c};
  for (uint32_t word = 0; word < 4; ++word) {
    EXPECT_EQ(word_of(fours, word, 4), middles[word]);
    EXPECT_EQ(word_of(sixes, word, 6), lows[word]);
  }
}

TEST(TensorCopy, FormsThatAreNotConfirmedAreNamed) {
  Gpu gpu("sm_100a");
  const std::pair<const char*, const char*> forms[] = {
      {"tcgen05.cp.cta_group::1.4x256b [%r1], %rd1;", "where `.4x256b` writes is not confirmed"},
      {"tcgen05.cp.cta_group::1.64x128b [%r1], %rd1;", "`.64x128b` is .warpx2::02_13 or .warpx2::01_23"},
      {"tcgen05.cp.cta_group::1.32x128b.warpx2::02_13 [%r1], %rd1;", "`.32x128b` is .warpx4"},
      {"tcgen05.cp.cta_group::1.128x256b.warpx4 [%r1], %rd1;", "and the others are neither"},
      {"tcgen05.cp.cta_group::1.128x128b.b8x16 [%r1], %rd1;", "`.b8x16` is made of .b4x16_p64 or .b6x16_p32"},
      {"tcgen05.cp.cta_group::1.16x16b [%r1], %rd1;", "its shapes are"},
  };
  for (const auto& [text, words] : forms)
    EXPECT_TRUE(contains(gpu.refusal(kernel_text(text, "sm_100a")), words)) << text;
}

// Persistent blocks: each takes over clusters that have not started until there are none; every one is done once.
TEST(ClusterLaunchControl, EveryClusterIsDoneOnce) {
  Gpu gpu("sm_100a", 3);
  gpu.load(module_text(R"(
.visible .entry test(.param .u64 out)
{
  .reg .pred %p<6>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<10>;
  .reg .b128 %q;
  .shared .align 16 .b8 answer[16];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, answer;
  mov.u32 %r2, barrier;
  mov.u32 %r3, %tid.x;
  setp.eq.u32 %p1, %r3, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %ctaid.y;
  mov.u32 %r6, 0;
again:
  mad.lo.u32 %r7, %r5, 10, %r4;
  mad.wide.u32 %rd3, %r7, 4, %rd2;
  @%p1 red.global.add.u32 [%rd3], 1;
  fence.proxy.async;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %rd4, [%r2], 16;
  @%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], %r6;
  @!%p2 bra wait;
  xor.b32 %r6, %r6, 1;
  ld.shared.b128 %q, [%r1];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q;
  @%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r4, %r5, %r8, _}, %q;
  clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r8, %q;  // of an answer that says no: left open
  @%p3 mov.u32 %r5, %r8;
  bar.sync 0;
  @%p3 bra again;
  ret;
}
)",
                       "sm_100a"));
  const auto out = gpu.upload(std::vector<uint32_t>(40));
  under_every_schedule(gpu, [&] {
    gpu.machine().fill(out, std::byte{0}, 160);
    gpu.run("test", {{10, 4}, {32}, {}, 200000}, parameters(out));
    EXPECT_EQ(gpu.download<uint32_t>(out, 40), std::vector<uint32_t>(40, 1));
  });
}

}  // namespace
}  // namespace wm::vgpu::testing
