// Modes of tensor copies that came with Blackwell, run as instructions: four rows at once (.tile::gather4, scatter4)
// and pixels along W alone (.im2col::w); where they are refused.
#include <vector>

#include "tensor_map/virtual_form.hpp"
#include "vgpu/machine/virtual_gpu.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm::vgpu::testing {
namespace {

using std::uint32_t;

// One thread; `copies` between the map %m1 and the tile %tile, then between the tile and %m2. %bar expects EXPECTED.
std::string kernel_of(const std::string& copies, uint32_t expected, const char* target = "sm_100a") {
  return fmt::format(R"(.version 8.8
.target {}
.address_size 64
.visible .entry test(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128], .param .u64 out)
{{
  .reg .b32 %tile, %bar, %r<8>;
  .reg .b64 %m1, %m2, %rd<4>;
  .reg .b16 %h<4>;
  .reg .pred %p1;
  .shared .align 1024 .b8 tile[32768];
  .shared .align 8 .b64 barrier;
  mov.b64 %m1, from;
  cvta.param.u64 %m1, %m1;
  mov.b64 %m2, to;
  cvta.param.u64 %m2, %m2;
  mov.u32 %tile, tile;
  mov.u32 %bar, barrier;
  mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {};
  {}
  ret;
}}
)",
                     target, expected, copies);
}

constexpr const char* wait_for_it = R"(
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0;
  @!%p1 bra wait;
)";

std::vector<uint32_t> counted(std::size_t count) {
  std::vector<uint32_t> numbers(count);
  for (uint32_t i = 0; i < count; ++i) numbers[i] = 1000 + i;
  return numbers;
}

TensorMapSpec rows_of(std::uint64_t address, std::int64_t width, Swizzle swizzle) {
  return {.element = MapElement::u32,
          .address = address,
          .dims = {16, width},
          .strides = {4 * width},
          .swizzle = swizzle,
          .box = {1, 32}};
}

std::string gather_as(const char* modifiers, const char* rows) {
  return fmt::format(
      "cp.async.bulk.tensor.2d.{}.mbarrier::complete_tx::bytes [%tile], [%m1, {{32, {}}}], "
      "[%bar];",
      modifiers, rows);
}
std::string gather(const char* to, const char* rows) {
  return gather_as(fmt::format("{}.global.tile::gather4", to).c_str(), rows);
}
std::string scatter(const char* modifiers = "global.shared::cta.tile::scatter4") {
  return fmt::format("cp.async.bulk.tensor.2d.{}.bulk_group [%m2, {{0, 3, 1, 0, 15}}], [%tile];\n", modifiers) +
         "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;";
}

// Four rows of a tensor that lie anywhere, one of them twice and one outside, side by side in shared memory, and back
// to four others: under every schedule, with nothing to say for the judge.
TEST(FourRows, AreGatheredAndScattered) {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b128}) {
    Gpu gpu("sm_100a");
    gpu.options.check = true;
    // ptxas takes the mode before the spaces too, where Triton has it.
    const bool mode_first = swizzle == Swizzle::b128;
    const std::string load = mode_first ? gather_as("tile::gather4.shared::cta.global", "9, 2, 2, 16")
                                        : gather("shared::cta", "9, 2, 2, 16");
    const std::string store = mode_first ? scatter("tile::scatter4.global.shared::cta") : scatter();
    gpu.load(kernel_of(load + wait_for_it + store, 512));
    const auto in = gpu.upload(counted(16 * 64)), out = gpu.upload(std::vector<uint32_t>(16 * 32));
    const TensorMap from = tensor_map::encode_virtual(rows_of(in, 64, swizzle)),
                    to = tensor_map::encode_virtual(rows_of(out, 32, swizzle));
    under_every_schedule(gpu, [&] {
      gpu.run("test", {{1}, {1}, {}, 0}, parameters(from, to, out));
      for (const Finding& finding : gpu.report.check->findings)
        EXPECT_EQ(finding.severity, Severity::advice) << finding.text();
      const auto got = gpu.download<uint32_t>(out, 16 * 32);
      const uint32_t rows[] = {9, 2, 2, 16}, places[] = {3, 1, 0, 15};
      for (int r = 0; r < 4; ++r)
        for (uint32_t i = 0; i < 32; ++i)
          ASSERT_EQ(got[places[r] * 32 + i], rows[r] == 16 ? 0 : 1000 + rows[r] * 64 + 32 + i);
    });
  }
}

std::string failure(const std::string& copies, const TensorMapSpec& spec, uint32_t expected = 512) {
  Gpu gpu("sm_100a");
  gpu.load(kernel_of(copies, expected));
  TensorMapSpec own = spec;
  own.address = gpu.upload(counted(64 * 1024));
  const TensorMap map = tensor_map::encode_virtual(own);
  return gpu.failure("test", {{1}, {1}, {}, 0}, parameters(map, map, own.address));
}
bool contains(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

TEST(FourRows, OfAnotherMapAreRefused) {
  const std::string copy = gather("shared::cta", "9, 2, 2, 14") + wait_for_it;
  const TensorMapSpec one = rows_of(0, 64, Swizzle::b128);
  EXPECT_EQ(failure(copy, one), "");
  TensorMapSpec many = one;
  many.box = {4, 32};
  EXPECT_TRUE(
      contains(failure(copy, many), "the tensor map's box has 4 rows; of .tile::gather4 and scatter4 it has one"));
  TensorMapSpec narrow = one;
  narrow.box = {1, 16};
  EXPECT_TRUE(contains(failure(copy, narrow), "how four such rows lie is not confirmed"));
  const TensorMapSpec line{.element = MapElement::u32, .dims = {1024}, .box = {32}};
  EXPECT_TRUE(contains(failure(copy, line), "the tensor map has 1 dimensions, the instruction 2"));
  EXPECT_TRUE(contains(failure(copy, one, 513 * 4), "waits for"));  // bytes that nobody brings
}

TEST(FourRows, OfFormsThatThereAreNotAreRefused) {
  Gpu gpu("sm_100a");
  const std::pair<const char*, const char*> forms[] = {
      {"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%tile], [%m1, {0, 1}], "
       "[%bar];",
       "four rows have five coordinates"},
      {"cp.async.bulk.tensor.3d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%tile], [%m1, {0, 1, 2, "
       "3, "
       "4}], [%bar];",
       "four rows are of a tensor of two dimensions"},
      {"cp.async.bulk.tensor.2d.shared::cta.global.tile::scatter4.mbarrier::complete_tx::bytes [%tile], [%m1, {0, 1, "
       "2, 3, "
       "4}], [%bar];",
       "a load is .tile::gather4, a store .tile::scatter4"},
      {"cp.async.bulk.tensor.2d.global.shared::cta.tile::gather4.bulk_group [%m1, {0, 1, 2, 3, 4}], [%tile];",
       "a load is .tile::gather4, a store .tile::scatter4"},
      {"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile::scatter4.bulk_group [%m1, {0, 1, 2, 3, 4}], "
       "[%tile];",
       "a load is .tile::gather4, a store .tile::scatter4"},
  };
  for (const auto& [text, words] : forms)
    EXPECT_TRUE(contains(gpu.refusal(kernel_of(text, 512)), words)) << text << gpu.refusal(kernel_of(text, 512));
}

std::string pixels(const char* mode, const char* to, int halo, int offset) {
  return fmt::format(
      "mov.b16 %h0, {};\n  mov.b16 %h1, {};\n  cp.async.bulk.tensor.4d.{}.global.{}.mbarrier::complete_tx::bytes "
      "[%tile], "
      "[%m1, {{0, -1, 2, 0}}], [%bar], {{%h0, %h1}};",
      halo, offset, to, mode);
}
TensorMapSpec images(MapMode mode) {
  return {.mode = mode,
          .element = MapElement::u32,
          .dims = {3, 4, 5, 32},
          .strides = {2560, 640, 128},
          .swizzle = Swizzle::b128,
          .lower_corner = {-1},
          .upper_corner = {0},
          .channels_per_pixel = 32,
          .pixels_per_column = 7};
}

// Row 2 of images of 4 rows of 5 pixels, from the pixel before the first on: six to an image, one of them outside. The
// mbarrier counts the halo too.
TEST(PixelsAlongW, AreLoadedAndCounted) {
  Gpu gpu("sm_100a");
  gpu.options.check = true;
  std::string copy = pixels("im2col::w", "shared::cta", 2, 0) + wait_for_it + "ld.param.u64 %rd0, [out];\n";
  for (int i = 0; i < 9; ++i)  // the first number of each pixel, where the swizzle has it
    copy +=
        fmt::format("  ld.shared.u32 %r0, [%tile+{}];\n  st.global.u32 [%rd0+{}], %r0;\n", i * 128 + i % 8 * 16, 4 * i);
  gpu.load(kernel_of(copy, 9 * 128));
  TensorMapSpec spec = images(MapMode::im2col_w);
  spec.address = gpu.upload(counted(3 * 640));
  const auto out = gpu.upload(std::vector<uint32_t>(9));
  const TensorMap map = tensor_map::encode_virtual(spec);
  under_every_schedule(gpu, [&] {
    gpu.run("test", {{1}, {1}, {}, 0}, parameters(map, map, out));
    for (const Finding& finding : gpu.report.check->findings)
      EXPECT_EQ(finding.severity, Severity::advice) << finding.text();
    const std::vector<uint32_t> want = {0, 1320, 1352, 1384, 1416, 1448, 0, 1960, 1992};
    EXPECT_EQ(gpu.download<uint32_t>(out, 9), want);
  });
}

TEST(PixelsAlongW, NeedTheirMapTheirOperandsAndTheirChip) {
  const std::string w = pixels("im2col::w", "shared::cta", 0, 0) + wait_for_it;
  EXPECT_EQ(failure(w, images(MapMode::im2col_w), 7 * 128), "");
  EXPECT_EQ(
      failure(pixels("im2col::w::128", "shared::cluster", 1, 0) + wait_for_it, images(MapMode::im2col_w128), 132 * 128),
      "");
  EXPECT_TRUE(contains(failure(w, images(MapMode::im2col_w128), 7 * 128),
                       "the tensor map is im2col::w::128, the instruction im2col::w"));
  EXPECT_TRUE(contains(failure(pixels("im2col::w", "shared::cta", 512, 0), images(MapMode::im2col_w)), "at most 511"));
  EXPECT_TRUE(contains(failure(w, images(MapMode::im2col_w), 9 * 128), "256 bytes to come"));
  Gpu hopper("sm_90a"), home("sm_120a"), server("sm_100a");
  const auto at_home = [&](const std::string& text) { return home.refusal(kernel_of(text, 512, "sm_120a")); };
  constexpr const char* of_sm100 = "this mode is of sm_100a and its family";
  EXPECT_TRUE(contains(hopper.refusal(kernel_of(pixels("im2col::w", "shared::cluster", 0, 0), 512, "sm_90a")),
                       "this load mode is not of this architecture"));
  EXPECT_EQ(at_home(pixels("im2col::w", "shared::cta", 0, 0)), "");
  EXPECT_EQ(at_home(gather("shared::cta", "9, 2, 2, 14")), "");
  EXPECT_TRUE(contains(at_home(pixels("im2col::w", "shared::cluster", 0, 0)), of_sm100));
  EXPECT_TRUE(contains(at_home(pixels("im2col::w::128", "shared::cta", 0, 0)), of_sm100));
  EXPECT_TRUE(contains(at_home(gather("shared::cluster", "9, 2, 2, 14")), of_sm100));
  EXPECT_TRUE(contains(at_home(scatter()), of_sm100));
  EXPECT_TRUE(contains(server.refusal(kernel_of("cp.async.bulk.tensor.3d.global.shared::cta.im2col::w.bulk_group [%m1, "
                                                "{0, 0, 0}], [%tile];",
                                                512)),
                       "a store is .im2col_no_offs"));
  EXPECT_TRUE(contains(server.refusal(kernel_of(
                           "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [%tile], "
                           "[%m1, {0, 0, 0}], [%bar], {%h0};",
                           512)),
                       "im2col::w has a halo and an offset"));
}

}  // namespace
}  // namespace wm::vgpu::testing
