// The GEMM's tests on a device with tensor memory.
#pragma once

#include "ops/gemm_fixture.hpp"
#include "plan/chip_rates.hpp"

namespace wm::test {

class GemmSm100 : public Gemm {
 protected:
  void SetUp() override {
    if (plan::instruction_of(device.info().arch) != TensorInstruction::tcgen05)
      GTEST_SKIP() << device.info().name << " is " << device.info().arch.name() << ": this needs sm_100a";
  }
};

}  // namespace wm::test
