// Illegal combinations do not compile, and the message says why.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compile.hpp"

namespace wm::test {
namespace {

struct Refusal {
  const char* promise;
  const char* header;
  const char* code;  // in a kernel with float f[128], unsigned u[64], a[4]; int i[128]; SharedAddress s; TensorMap map
  const char* message;  // what the compiler's error must contain
};

const Refusal refusals[] = {
    {"WgmmaOfAWrongN", "wgmma_bf16", "f32 d[10]; wgmma::multiply<bf16>(d, tile, tile, true);",
     "the accumulator's size must make N a multiple of 8, 8 to 256"},
    {"WgmmaPastN256", "wgmma_bf16", "f32 d[132]; wgmma::multiply<bf16>(d, tile, tile, true);",
     "the accumulator's size must make N a multiple of 8, 8 to 256"},
    {"WgmmaOfIntegersAtN40", "wgmma_i8", "i32 d[20]; wgmma::multiply<i8>(d, tile, tile, true);",
     "with 8-bit integers N is 8, 16, 24, 32 or a multiple of 16"},
    {"WgmmaWithoutItsHeader", "wgmma", "wgmma::multiply<bf16>(f, tile, tile, true);", "include warpmill/ptx/wgmma_"},
    {"WgmmaOfMixedTypesThereAreNot", "wgmma_bf16", "wgmma::multiply<bf16, f16>(f, tile, tile, true);",
     "include warpmill/ptx/wgmma_"},
    {"Tf32MnMajor", "wgmma_tf32",
     "wgmma::multiply<tf32, tf32, wgmma::Options{.b_major = wgmma::Major::mn}>(f, tile, tile, true);",
     "only bf16 and f16 tiles may be MN-major"},
    {"Fp8MnMajor", "wgmma_e4m3",
     "wgmma::multiply<e4m3, e4m3, wgmma::Options{.a_major = wgmma::Major::mn}>(f, tile, tile, true);",
     "only bf16 and f16 tiles may be MN-major"},
    {"RegistersMnMajor", "wgmma_bf16",
     "wgmma::multiply<bf16, bf16, wgmma::Options{.a_major = wgmma::Major::mn}>(f, a, tile, true);",
     "A in registers has no other major-ness than K"},
    {"WgmmaScaledByTwo", "wgmma_bf16",
     "wgmma::multiply<bf16, bf16, wgmma::Options{.scale_a = 2}>(f, tile, tile, true);",
     "scale_a and scale_b are 1 or -1"},
    {"IntegersNegated", "wgmma_i8", "wgmma::multiply<i8, i8, wgmma::Options{.scale_b = -1}>(i, tile, tile, true);",
     "integers cannot be negated"},
    {"FloatsSaturated", "wgmma_bf16",
     "wgmma::multiply<bf16, bf16, wgmma::Options{.saturate = true}>(f, tile, tile, true);",
     "only integer sums saturate"},
    {"Bf16IntoF16", "wgmma_bf16", "wgmma::multiply<bf16>(u, tile, tile, true);",
     "integers accumulate in i32, floats in f32"},
    {"IntegersIntoFloats", "wgmma_i8", "wgmma::multiply<i8>(f, tile, tile, true);",
     "integers accumulate in i32, floats in f32"},
    {"WaitForNinthGroup", "wgmma", "wgmma::wait<8>();", "waits for all but 0 to 7 groups"},
    {"TensorMemoryWithoutItsHeader", "tcgen05", "tcgen05::load<tcgen05::Shape::lanes32>(u, TensorAddress{0});",
     "include warpmill/ptx/tcgen05_access.cuh"},
    {"TensorMemoryInThreeRegisters", "tcgen05_access",
     "u32 v[3]; tcgen05::load<tcgen05::Shape::lanes32>(v, TensorAddress{0});", "a power of two of registers up to 128"},
    {"TensorMemoryInTooFewRegisters", "tcgen05_access",
     "u32 v[2]; tcgen05::load<tcgen05::Shape::lanes16_bytes32>(v, TensorAddress{0});", "4 of lanes16_bytes32"},
    {"HalvesOfTensorMemoryNowhereApart", "tcgen05_access",
     "tcgen05::load<tcgen05::Shape::lanes16_twice>(u, TensorAddress{0});", "is told how far apart its halves lie"},
    {"ThreeBlocksThatMultiply", "tcgen05", "tcgen05::commit<3>(s);", "one block, or two that multiply together"},
    {"ScaledSumsOfIntegers", "tcgen05",
     "tcgen05::multiply_scaled<1, tcgen05::Kind::i8, 1>(TensorAddress{0}, u64(0), u64(0), 0, true);",
     "only sums of f16, bf16 and tf32 are scaled"},
    {"SumsHalvedSixteenTimes", "tcgen05",
     "tcgen05::multiply_scaled<1, tcgen05::Kind::f16, 16>(TensorAddress{0}, u64(0), u64(0), 0, true);",
     "D is halved 0 to 15 times"},
    {"SixCoordinates", "tma", "tma::load(s, map, {1, 2, 3, 4, 5, 6}, s);", "give as many coordinates"},
    {"Im2colInTwoDimensions", "tma", "tma::store_im2col(map, {1, 2}, s);", "im2col: 3 to 5 coordinates"},
    {"Im2colWithTooManyOffsets", "tma", "const u16 o[2] = {}; tma::load_im2col(s, map, {1, 2, 3}, o, s);",
     "one offset for each but the channel and the image"},
    {"BulkMinimumOfFloats", "bulk", "bulk::reduce<Reduction::min>(f, s, 64);",
     "no such operation on this element type"},
    {"BulkAndIntoBlockOfU64", "bulk", "bulk::reduce_to_block<Reduction::bit_and, u64>(s, s, 64, s);",
     "u32 with every operation, i32 with add, min and max, u64 with add"},
    {"NegativeBulkGroups", "bulk", "bulk::wait_group<-1>();", "a number of groups is not negative"},
    {"AsynchronousReductionOfFloats", "cluster", "cluster::reduce_async<Reduction::add>(s, 1.0f, s);",
     "u32 with every operation, i32 with add, min and max, u64 with add"},
    {"ClusterLoadOfTwoBytes", "cluster", "u[0] = cluster::load<u16>(s);", "moves 4, 8 or 16 bytes"},
    {"CopyOfTwelveBytes", "cp_async", "cp_async::copy<12>(s, f);", "cp.async copies 4, 8 or 16 bytes"},
    {"SeventeenthNamedBarrier", "barrier", "barrier::sync<16, 64>();", "a block has named barriers 0 to 15"},
    {"BarrierOfHalfAWarp", "barrier", "barrier::sync<1, 48>();", "a multiple of 32 threads"},
    {"ThreeMatrices", "ldmatrix", "u32 three[3]; ldmatrix::load(three, s);", "ldmatrix loads 1, 2 or 4 matrices"},
    {"ThreeStoredMatrices", "stmatrix", "const u32 three[3] = {}; stmatrix::store(s, three);",
     "stmatrix stores 1, 2 or 4 matrices"},
    {"MmaOfFloatsIntoIntegers", "mma", "i32 d[4] = {}; const u32 b[2] = {}; mma::m16n8k32<bf16>(d, a, b, d);",
     "mma with i32 accumulators takes i8 and u8"},
    {"MmaOfBf16IntoF16", "mma", "u32 d[2] = {}; const u32 b[2] = {}; mma::m16n8k16<bf16>(d, a, b, d);",
     "with f16 accumulators and four words of A takes f16"},
    {"RegistersNotByEight", "registers", "registers::increase_to<100>();", "a multiple of 8 registers, 24 to 256"},
    {"RegistersPast256", "registers", "registers::decrease_to<264>();", "a multiple of 8 registers, 24 to 256"},
    {"SixthDimensionOfAMap", "tensor_map", "tensor_map::set_size<5>(s, 3u);", "dimensions 0 (innermost) to 4"},
    {"MbarrierWaitAtDeviceScope", "mbarrier", "mbarrier::wait_parity<Scope::device>(s, 0);",
     "an mbarrier wait acquires at block or cluster scope"},
    {"RemoteAddressInALocalWait", "mbarrier", "mbarrier::wait_parity(ClusterAddress(s), 0);",
     "argument #1 does not match parameter"},
};

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithAReadableMessage) {
  const Refusal& refusal = GetParam();
  // The template's own words ("integers cannot be negated") must come out of the compiler, whatever else it says.
  const bool tile = std::string_view(refusal.header).starts_with("wgmma");
  const std::string text = fmt::format(
      "#include \"warpmill/ptx/{}.cuh\"\nusing namespace wm;\n"
      "__global__ void kernel(const __grid_constant__ TensorMap map) {{\n  __shared__ u64 memory[64];\n"
      "  f32 f[128]; u32 u[64], a[4]; i32 i[128];\n  const SharedAddress s = memory;\n{}  {}\n}}\n",
      refusal.header, tile ? "  const wgmma::Descriptor tile{0};\n" : "", refusal.code);
  try {
    compile("refused.cu", text, "sm_90a");
    FAIL() << "it compiled:\n" << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::compile);
    EXPECT_NE(std::string_view(error.what()).find(refusal.message), std::string_view::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Instructions, Refused, ::testing::ValuesIn(refusals),
                         [](const auto& info) { return std::string(info.param.promise); });

}  // namespace
}  // namespace wm::test
