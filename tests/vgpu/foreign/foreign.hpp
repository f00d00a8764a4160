// Programs that nobody wrote for this repository's sake: compiled by nvcc, run on the virtual GPU, compared with the
// host.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"
#include "warpmill/module.hpp"
#include "warpmill/virtual.hpp"

namespace wm {

// Runs each test for both architectures' PTX, under every mode of the scheduler.
class Foreign : public testing::TestWithParam<std::tuple<std::string, vgpu::Mode>> {
 protected:
  Foreign() {
    const vgpu::Mode mode = std::get<1>(GetParam());
    vgpu::RunOptions options;
    options.mode = mode;
    options.seed = 7;
    options.check = true;
    vgpu::set_run_options(device, options);
  }

  std::string known_finding;  // that is true of the program
  const std::string architecture = std::get<0>(GetParam());
  Device device = Device::open("virtual:" + architecture);

  Module module(const std::string& program) {
    const std::filesystem::path path =
        std::filesystem::path(WARPMILL_TEST_DATA) / (program + "." + architecture + ".ptx");
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return Module::load_ptx(device, text, path.filename().string());
  }

  Kernel kernel(const std::string& program, const std::string& entry) { return module(program).kernel(entry); }

  template <typename... Arguments>
  void run(const Kernel& kernel, const LaunchConfig& config, const Arguments&... arguments) {
    const Stream stream(device);
    launch(stream, kernel, config, arguments...);
    stream.synchronize();
    // Nor does the judge find anything in them.
    const vgpu::RunReport report = vgpu::last_run(device);
    if (!report.check) return;
    for (const vgpu::Finding& finding : report.check->findings)
      EXPECT_TRUE(finding.severity == vgpu::Severity::advice || finding.name == known_finding) << finding.text();
  }

  template <typename T>
  Buffer buffer(const std::vector<T>& elements) {
    return Buffer::of(device, std::span<const T>(elements));
  }
  template <typename T>
  Buffer zeros(std::size_t count) {
    return buffer(std::vector<T>(count));
  }
};

// Whole numbers from low to high, always the same ones.
template <typename T>
std::vector<T> whole_numbers(std::size_t count, long long low, long long high, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = T(low + (long long)(random() % (unsigned long long)(high - low + 1)));
  return values;
}

inline const auto modes = testing::Values(vgpu::Mode::friendly, vgpu::Mode::random, vgpu::Mode::adversarial);
inline const auto everywhere = testing::Combine(testing::Values(std::string("sm_80"), std::string("sm_90a")), modes);

inline std::string case_name(const testing::TestParamInfo<std::tuple<std::string, vgpu::Mode>>& info) {
  const char* const names[] = {"friendly", "random", "adversarial"};
  return std::get<0>(info.param) + "_" + names[std::size_t(std::get<1>(info.param))];
}

}  // namespace wm
