// The device that the GEMM's tests run on.
#pragma once

#include <gtest/gtest.h>

#include "ops/gemm_case.hpp"
#include "ops/settings.hpp"

namespace wm::test {

class Gemm : public testing::Test {
 protected:
  const Device device = Device::open(settings.device);
  const Stream stream{device};
};

}  // namespace wm::test
