// The device that the attention's tests run on.
#pragma once

#include <gtest/gtest.h>

#include "ops/settings.hpp"
#include "warpmill/device.hpp"

namespace wm::test {

class Attention : public testing::Test {
 protected:
  const Device device = Device::open(settings.device);
  const Stream stream{device};
};

}  // namespace wm::test
