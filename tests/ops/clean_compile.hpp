// Kernels compile for the chip without lost speed: no C75xx line, no spill, no stack frame.
#pragma once

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ops/kernels.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

namespace wm::test {

struct NamedSource {
  std::string name;
  ops::KernelSource source;
};

inline void expect_clean(std::vector<NamedSource> kernels, std::string_view arch = "sm_90a") {
  // Plans that differ only in what the host does with them are one kernel.
  std::set<std::string> seen;
  std::erase_if(kernels, [&](const NamedSource& kernel) { return !seen.insert(kernel.source.expression).second; });
  std::atomic<std::size_t> next = 0;
  std::vector<std::string> failures(kernels.size());
  const auto work = [&] {
    for (std::size_t i; (i = next++) < kernels.size();) try {
        const jit::Program program = ops::compile(kernels[i].source, Architecture::parse(arch), ops::Target::chip);
        for (const std::string& words : program.lost_speed) failures[i] += words + '\n';
        if (program.resources.size() != 1) failures[i] = "the compiler said nothing of the kernel's resources";
      } catch (const Error& error) {
        failures[i] = error.what();
      }
  };
  std::thread second(work);
  work();
  second.join();
  for (std::size_t i = 0; i < kernels.size(); ++i)
    EXPECT_EQ(failures[i], "") << kernels[i].name << ": " << kernels[i].source.expression;
}

}  // namespace wm::test
