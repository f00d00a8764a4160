// A kernel under every order that the virtual GPU's scheduler can choose, with the judge watching.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include "warpmill/virtual.hpp"

namespace wm::test {

// Calls `run`, which launches and compares, once for each mode and seed; the judge must find no error and no warning in
// any of them.
template <class Run>
void in_every_schedule(const Device& device, std::uint64_t seeds, const Run& run) {
  for (const vgpu::Mode mode : {vgpu::Mode::friendly, vgpu::Mode::random, vgpu::Mode::adversarial})
    for (std::uint64_t seed = 0; seed < (mode == vgpu::Mode::friendly ? 1 : seeds); ++seed) {
      SCOPED_TRACE(testing::Message() << "mode " << int(mode) << ", seed " << seed);
      vgpu::RunOptions options;
      options.mode = mode;
      options.seed = seed;
      options.check = true;
      vgpu::set_run_options(device, options);
      run();
      const auto report = vgpu::last_run(device).check;
      ASSERT_TRUE(report);
      EXPECT_GT(report->executed.accesses, 0u);
      for (const vgpu::Finding& finding : report->findings)
        if (finding.severity != vgpu::Severity::advice) ADD_FAILURE() << finding.text();
    }
  vgpu::set_run_options(device, {});
}

}  // namespace wm::test
