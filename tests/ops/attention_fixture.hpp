// The device that the attention's tests are built for: virtual with few multiprocessors, so that small problems already
// take several rounds, or (gpu_attention) the chip.
#pragma once

#include <gtest/gtest.h>

#include "warpmill/device.hpp"

namespace wm::test {

class Attention : public testing::Test {
 protected:
  const Device device = Device::open(ATTENTION_TEST_DEVICE);
  const Stream stream{device};
};

}  // namespace wm::test
