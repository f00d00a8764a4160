// The device that the attention's tests run on, and how a result is checked.
#pragma once

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "attention/random_attention.hpp"
#include "ops/settings.hpp"
#include "warpmill/device.hpp"

namespace wm::test {

class Attention : public testing::Test {
 protected:
  const Device device = Device::open(settings.device);
  const Stream stream{device};
};

// Every row against float64.
inline void check(const Stream& stream, const bench::AttentionCase& problem, std::optional<AttentionPlan> plan = {},
                  std::uint64_t seed = 1) {
  const bench::RandomAttention attention(stream, problem, seed);
  wm::attention(stream, attention.request(plan));
  stream.synchronize();
  EXPECT_LT(attention.error(), 1);
}

}  // namespace wm::test
