// The device that the GEMM's tests are built for: virtual with few multiprocessors, so that small products already take
// several waves, or (gpu_gemm) the chip.
#pragma once

#include <gtest/gtest.h>

#include "ops/gemm_case.hpp"

namespace wm::test {

class Gemm : public testing::Test {
 protected:
  const Device device = Device::open(GEMM_TEST_DEVICE);
  const Stream stream{device};
};

}  // namespace wm::test
