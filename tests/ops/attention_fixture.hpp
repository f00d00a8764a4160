// The device that the attention's tests run on, and how a result is checked.
#pragma once

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "attention/random_attention.hpp"
#include "ops/settings.hpp"
#include "plan/chip_rates.hpp"
#include "warpmill/attention/plan.h"
#include "warpmill/device.hpp"

namespace wm::test {

class Attention : public testing::Test {
 protected:
  const Device device = Device::open(settings.device);
  const Stream stream{device};
  const TensorInstruction instruction = plan::instruction_of(device.info().arch);
  const int largest_value_dim = instruction == TensorInstruction::tcgen05 ? AttentionPlan::most_tensor_values : 256;
};

// Several tiles and tails of every plan.
inline bench::AttentionCase several_tiles() { return {.heads = 2, .kv_heads = 2, .queries = 300, .keys = 333}; }

// Every row against float64.
inline void check(const Stream& stream, const bench::AttentionCase& problem, std::optional<AttentionPlan> plan = {},
                  std::uint64_t seed = 1) {
  const bench::RandomAttention attention(stream, problem, seed);
  wm::attention(stream, attention.request(plan));
  stream.synchronize();
  EXPECT_LT(attention.error(), 1);
}

}  // namespace wm::test
