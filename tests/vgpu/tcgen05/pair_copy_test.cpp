// Tensor copies of sm_100a for pairs of blocks (.cta_group::2), whose mbarrier counts their bytes.
#include <vector>

#include <gtest/gtest.h>

#include "warpmill/buffer.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/module.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm {
namespace {

// A cluster of four. Each block copies 256 bytes; each barrier expects `EXPECTED` bytes and is waited for in its block.
constexpr const char* source = R"(
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/tma.cuh"
using namespace wm;
extern "C" __global__ void copies(const __grid_constant__ TensorMap map, u64 address) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  const u32 rank = cluster::rank();
  const SharedAddress own(&full);
  if (threadIdx.x == 0) {
    mbarrier::init(own, 1);
    fence::mbarrier_init();
    if (EXPECTED > 0) mbarrier::arrive_expect_tx(own, EXPECTED);
  }
  cluster::sync();
  if (threadIdx.x == 0) {
    COPY;
    if (EXPECTED > 0) mbarrier::wait_parity(own, 0);
  }
  cluster::sync();
  reinterpret_cast<u32*>(address)[rank * 32 + threadIdx.x] = tile[threadIdx.x];
}
)";

std::vector<std::uint32_t> run(const char* copy, const char* expected) {
  const Device device = Device::open("virtual:sm_100a:sms=4");
  const Stream stream(device);
  const auto program = jit::compile(
      {"copies.cu", source},
      {.arch = device.info().arch, .defines = {{"COPY", copy}, {"EXPECTED", expected}}, .line_table = true});
  std::vector<std::uint32_t> numbers(256);
  for (std::uint32_t i = 0; i < 256; ++i) numbers[i] = i;
  const Buffer in = Buffer::of<std::uint32_t>(device, numbers), out(device, 128 * sizeof(std::uint32_t));
  const TensorMap map = make_tensor_map(
      device, {.element = MapElement::u32, .address = in.address(), .dims = {4, 64}, .strides = {256}, .box = {1, 64}});
  launch(stream, Module::load(device, program).kernel("copies"), {.grid = {4}, .block = {32}, .cluster = {4}}, map,
         out.address());
  stream.synchronize();
  return out.download<std::uint32_t>();
}

std::string failure(const char* copy) {
  try {
    run(copy, "0");
  } catch (const Error& error) {
    return error.what();
  }
  return "it ran";
}

TEST(PairCopy, IsCountedByTheBarrierOfEitherBlock) {
  const auto got =
      run("tma::load_for_pair(tile, map, {0, i32(rank)}, cluster::map(own, rank & 2))", "(rank % 2 == 0 ? 512 : 0)");
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(got[i], i / 32 * 64 + i % 32);
}

// As CUTLASS writes it: .cta_group::2 before the state spaces, which PTX does not have and ptxas takes.
TEST(PairCopy, MayNameTheGroupBeforeTheSpaces) {
  const auto got =
      run("asm volatile(\"cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes "
          "[%0], [%1, {%3, %4}], [%2];\" ::\"r\"(SharedAddress(tile).value), \"l\"(&map), "
          "\"r\"(cluster::map(own, rank & 2).value), \"r\"(0), \"r\"(rank) : \"memory\")",
          "(rank % 2 == 0 ? 512 : 0)");
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(got[i], i / 32 * 64 + i % 32);
}

// One copy to all four, counted by the odd block of each pair, twice.
TEST(PairCopy, ToManyIsCountedByTheBlockOfEachPairThatIsAsOddAsTheBarriers) {
  const auto got = run("if (rank == 0) tma::load_multicast_for_pairs(tile, map, {0, 3}, cluster::map(own, 1), u16(15))",
                       "(rank % 2 == 1 ? 512 : 0)");
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(got[i], 3 * 64 + i % 32);
}

TEST(PairCopy, IsNotCountedInAnotherPair) {
  EXPECT_NE(failure("if (rank == 0) tma::load_for_pair(tile, map, {0, 0}, cluster::map(own, 2))")
                .find("in the same block or in the other of its pair"),
            std::string::npos);
}

}  // namespace
}  // namespace wm
