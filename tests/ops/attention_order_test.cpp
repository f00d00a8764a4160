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

// Of each tile as many steps as it takes, twice those that are not whole; of more than 32 steps a sample.
TEST_F(Attention, CountsWhatTheStepsOfATileCost) {
  const char* const source = R"(
#include "warpmill/attention/chosen_steps.cuh"
using namespace wm;
template <AttentionPlan plan>
struct wm::CallersOwn {  // queries see keys before 64 times their tile's number, and of the next 32 some
  static WM_DEVICE bool skip(const AttentionArguments&, i32 q, i32, i32 k, i32, const Tile<plan>&) {
    return k >= q / 128 * 64 + 32;
  }
  static WM_DEVICE bool whole(const AttentionArguments&, i32 q, i32, i32, i32 k, const Tile<plan>&) {
    return k < q / 128 * 64;
  }
};
constexpr AttentionPlan plan{.kind = {.expressions = {.mask = true, .skip = true, .whole = true}}, .keys = 16};
extern "C" __global__ void order(const AttentionArguments args, u32* costs, u32* tiles) {
  __shared__ TileOrder<plan> order;
  order_tiles<plan>(args, order);
  __syncthreads();
  for (u32 i = threadIdx.x; i < args.schedule.tiles; i += blockDim.x) {
    costs[i] = order.cost[i];
    tiles[i] = order.at(args.schedule, 0, i);
  }
}
)";
  const jit::Program program = jit::compile({"order.cu", source}, {.arch = device.info().arch});
  const Kernel kernel = Module::load(device, program, "order.cu").kernel("order");
  for (const unsigned tiles : {4u, 8u, 20u}) {  // 16, 32 and 80 steps of keys
    AttentionArguments args{};
    args.queries = tiles * 128, args.keys = tiles * 64;
    args.schedule = {.batches = 1, .heads = 2, .tiles = tiles, .group = 2, .rows = tiles};
    const Buffer costs(device, 4 * tiles), order(device, 4 * tiles);
    launch(stream, kernel, {.grid = {1}, .block = {96}}, args, costs, order);
    std::vector<std::uint32_t> expected(tiles), falling(tiles);
    const unsigned steps = tiles * 4, apart = std::max(1u, (steps + 31) / 32);
    for (unsigned tile = 0; tile < tiles; ++tile)
      for (unsigned lane = 0; lane < 32 && lane * apart < steps; ++lane) {
        const unsigned step = steps - 1 - lane * apart;  // whole up to 4 for each tile before, masked in the two behind
        expected[tile] += step < 4 * tile ? apart : step < 4 * tile + 2 ? 2 * apart : 0;
      }
    std::iota(falling.rbegin(), falling.rend(), 0u);
    EXPECT_EQ(costs.download<std::uint32_t>(), expected) << tiles;
    std::stable_sort(falling.begin(), falling.end(), [&](auto a, auto b) { return expected[a] > expected[b]; });
    EXPECT_EQ(order.download<std::uint32_t>(), falling) << tiles;
  }
}

}  // namespace wm::test
