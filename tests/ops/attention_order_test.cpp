// In which order sequences and tiles are taken: the longest first, by the kernel's own code.
#include <algorithm>
#include <numeric>
#include <random>

#include "ops/attention_fixture.hpp"
#include "warpmill/attention/arguments.h"
#include "warpmill/buffer.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/module.hpp"

namespace wm::test {

TEST_F(Attention, TakesTheLongestSequencesFirst) {
  const char* const source = R"(
#include "warpmill/attention/tiles.cuh"
using namespace wm;
constexpr AttentionPlan plan{.kind = {.sequences = true}};
extern "C" __global__ void order(const AttentionArguments args, u32* out) {
  __shared__ SequenceOrder<plan> order;
  order.find(args, threadIdx.x, blockDim.x);
  __syncthreads();
  for (u32 i = threadIdx.x; i < args.schedule.batches; i += blockDim.x) out[i] = order.at(i, args.schedule.batches);
}
)";
  const jit::Program program = jit::compile({"order.cu", source}, {.arch = device.info().arch});
  const Kernel kernel = Module::load(device, program, "order.cu").kernel("order");
  std::mt19937 dice(7);
  for (const std::size_t sequences : {1, 2, 31, 200, 256, 257}) {
    std::vector<std::uint32_t> lengths(sequences), offsets(sequences + 1), expected(sequences);
    for (auto& length : lengths) length = dice() % 50 * 20;  // some are 0, some equal
    std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
    std::iota(expected.begin(), expected.end(), 0u);
    if (sequences <= 256)
      std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return lengths[a] > lengths[b]; });

    const Buffer on_device = Buffer::of<std::uint32_t>(device, offsets), out(device, 4 * sequences);
    AttentionArguments args{};
    args.query_offsets = args.key_offsets = on_device.address();
    args.schedule.batches = static_cast<unsigned>(sequences);
    launch(stream, kernel, {.grid = {1}, .block = {128}}, args, out);
    EXPECT_EQ(out.download<std::uint32_t>(), expected);
  }
}

TEST_F(Attention, BeginsTheCostliestTilesOfEachBatchFirst) {
  const char* const source = R"(
#include "warpmill/attention/tiles.cuh"
using namespace wm;
constexpr AttentionPlan plan{.kind = {.expressions = {.skip = true}}};
extern "C" __global__ void order(const QuerySchedule schedule, const u16* costs, u32* out) {
  __shared__ TileOrder<plan> order;
  const u32 tiles = schedule.batches * schedule.tiles;
  if (order.serves(schedule)) {
    for (u32 i = threadIdx.x; i < tiles; i += blockDim.x) order.cost[i] = costs[i];
    __syncthreads();
    order.find(schedule);
    __syncthreads();
  }
  for (u32 i = threadIdx.x; i < tiles; i += blockDim.x) out[i] = order.at(schedule, i / schedule.tiles, i % schedule.tiles);
}
)";
  const jit::Program program = jit::compile({"order.cu", source}, {.arch = device.info().arch});
  const Kernel kernel = Module::load(device, program, "order.cu").kernel("order");
  std::mt19937 dice(8);
  for (const unsigned batches : {1u, 3u})
    for (const unsigned tiles : {1u, 2u, 7u, 85u, 86u, 256u, 257u}) {  // 3 x 85 tiles are put into order, 3 x 86 not
      std::vector<std::uint16_t> costs(std::size_t{batches} * tiles);
      for (auto& cost : costs) cost = static_cast<std::uint16_t>(dice() % 20);  // many are equal
      std::vector<std::uint32_t> expected;
      for (unsigned batch = 0; batch < batches; ++batch) {
        std::vector<std::uint32_t> own(tiles);
        std::iota(own.rbegin(), own.rend(), 0u);  // as the schedule has them: the last first
        if (costs.size() <= 256)
          std::stable_sort(own.begin(), own.end(),
                           [&](auto a, auto b) { return costs[batch * tiles + a] > costs[batch * tiles + b]; });
        expected.insert(expected.end(), own.begin(), own.end());
      }
      const Buffer on_device = Buffer::of<std::uint16_t>(device, costs), out(device, 4 * costs.size());
      const QuerySchedule schedule{.batches = batches, .heads = 2, .tiles = tiles, .group = 2 * batches, .rows = tiles};
      launch(stream, kernel, {.grid = {1}, .block = {128}}, schedule, on_device, out);
      EXPECT_EQ(out.download<std::uint32_t>(), expected) << batches << " x " << tiles;
    }
}

}  // namespace wm::test
