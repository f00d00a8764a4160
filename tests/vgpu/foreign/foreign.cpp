#include "vgpu/foreign/foreign.hpp"

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>

namespace wm {
namespace {

std::vector<ForeignCase> in_every_mode(std::initializer_list<const char*> architectures) {
  std::vector<ForeignCase> cases;
  for (const char* architecture : architectures)
    for (const vgpu::Mode mode : {vgpu::Mode::friendly, vgpu::Mode::random, vgpu::Mode::adversarial})
      cases.push_back({architecture, mode});
  return cases;
}

}  // namespace

const std::vector<ForeignCase> everywhere = in_every_mode({"sm_80", "sm_90a"}), on_hopper = in_every_mode({"sm_90a"});

std::string case_name(const testing::TestParamInfo<ForeignCase>& info) {
  const char* const names[] = {"friendly", "random", "adversarial"};
  return info.param.architecture + "_" + names[std::size_t(info.param.mode)];
}

Foreign::Foreign() : device(Device::open("virtual:" + GetParam().architecture)) {
  vgpu::RunOptions options;
  options.mode = GetParam().mode;
  options.seed = 7;
  options.check = true;
  vgpu::set_run_options(device, options);
}

Module Foreign::module(const std::string& program) {
  const std::filesystem::path path =
      std::filesystem::path(WARPMILL_TEST_DATA) / (program + "." + GetParam().architecture + ".ptx");
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return Module::load_ptx(device, text, path.filename().string());
}

void Foreign::expect_silent_judge() {
  const vgpu::RunReport report = vgpu::last_run(device);
  if (!report.check) return;
  for (const vgpu::Finding& finding : report.check->findings)
    EXPECT_TRUE(finding.severity == vgpu::Severity::advice || finding.name == known_finding) << finding.text();
}

}  // namespace wm
