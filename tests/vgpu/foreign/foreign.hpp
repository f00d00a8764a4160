// Programs that nobody wrote for this repository's sake: compiled by nvcc, run on the virtual GPU, compared with the
// host.
#pragma once

#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"
#include "warpmill/module.hpp"
#include "warpmill/virtual.hpp"

namespace wm {

struct ForeignCase {
  std::string architecture;  // that the PTX was compiled for
  vgpu::Mode mode = vgpu::Mode::friendly;
};

class Foreign : public testing::TestWithParam<ForeignCase> {
 protected:
  Foreign();

  std::string known_finding;  // that is true of the program
  Device device;

  Module module(const std::string& program);
  Kernel kernel(const std::string& program, const std::string& entry) { return module(program).kernel(entry); }

  template <typename... Arguments>
  void run(const Kernel& kernel, const LaunchConfig& config, const Arguments&... arguments) {
    const Stream stream(device);
    launch(stream, kernel, config, arguments...);
    stream.synchronize();
    expect_silent_judge();
  }

  template <typename T>
  Buffer buffer(const std::vector<T>& elements) {
    return Buffer::of(device, std::span<const T>(elements));
  }
  template <typename T>
  Buffer zeros(std::size_t count) {
    return buffer(std::vector<T>(count));
  }

 private:
  void expect_silent_judge();  // but for the known finding and advice
};

// Whole numbers from low to high, always the same ones.
template <typename T>
std::vector<T> whole_numbers(std::size_t count, long long low, long long high, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = T(low + (long long)(random() % (unsigned long long)(high - low + 1)));
  return values;
}

// Each test with both architectures' PTX, or with Hopper's alone, under every mode of the scheduler.
extern const std::vector<ForeignCase> everywhere, on_hopper;

std::string case_name(const testing::TestParamInfo<ForeignCase>& info);

}  // namespace wm
