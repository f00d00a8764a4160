// docs/your-own-kernel.md is true: its kernels are the files of examples/your_own_kernel, each is right and nothing
// can be said against it, and each broken on purpose is found under the name beside it.
#include <algorithm>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pattern.hpp"
#include "report_part.hpp"

namespace wm::test {
namespace {

namespace fs = std::filesystem;

const fs::path document = source / "docs/your-own-kernel.md";
constexpr const char* last_step = "step4_gemm_bias";

std::vector<std::string> steps() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(steps_folder))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const vgpu::CheckReport& report) {
  std::string text;
  for (const vgpu::Finding& finding : report.findings) text += finding.text();
  return text;
}

std::vector<Shown> all_shown() {
  std::istringstream lines(text_of_file(document));
  std::vector<Shown> reports;
  for (std::string line; std::getline(lines, line);)
    if (const auto report = shown(words_of_mark(line))) reports.push_back(*report);
  return reports;
}

// A kernel's text without what its broken variants put in, and without what only surrounds it.
std::vector<std::string> own_lines(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> own;
  bool broken = false;
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find_first_not_of(' ');
    if (line.starts_with("#ifdef BROKEN_"))
      broken = true;
    else if (line.starts_with("#else") || line.starts_with("#endif"))
      broken = false;
    else if (!broken && first != line.npos && line.compare(first, 2, "//") != 0 && !line.starts_with("#include") &&
             !line.starts_with("#ifndef BROKEN_"))
      own.push_back(line.substr(0, line.find("  //")));
  }
  return own;
}

TEST(Guide, HoldsTheKernelsAndTheReportsAsPrinted) {
  expect_parts(document, [](const std::vector<std::string>& words) -> std::optional<std::string> {
    if (words.size() == 2 && words[0] == "kernel") return indented(text_of_file(steps_folder / (words[1] + ".cu")));
    const auto report = shown(words);
    return report ? std::optional(report_part(*report)) : std::nullopt;
  });
}

TEST(Guide, ShowsEveryStep) {
  std::istringstream lines(text_of_file(document));
  std::vector<std::string> kernels;
  for (std::string line; std::getline(lines, line);)
    if (const auto words = words_of_mark(line); words.size() == 2 && words[0] == "kernel") kernels.push_back(words[1]);
  EXPECT_EQ(kernels, steps());
  EXPECT_EQ(kernels.back(), last_step);
}

TEST(Guide, EveryStepIsRightInEveryModeAndTheJudgeHasNothingAgainstIt) {
  std::set<std::string> told;
  for (const Shown& report : all_shown())
    if (report.define.empty()) told.insert(report.finding);
  for (const std::string& step : steps()) {
    const auto result = check_step(step, "", {}, 5);
    EXPECT_EQ(result.right, 11u) << step;
    EXPECT_EQ(result.right, result.wanted) << step;
    for (const vgpu::Finding& finding : result.report.findings) {
      EXPECT_EQ(finding.severity, vgpu::Severity::advice) << step << "\n" << finding.text();
      EXPECT_TRUE(told.contains(finding.name)) << "advice that the guide does not tell of: " << finding.text();
    }
    ASSERT_NE(result.first.machine_code(), nullptr);
    EXPECT_THAT(result.first.machine_code()->lost_speed, testing::IsEmpty()) << step;
  }
}

TEST(Guide, TheLastStepLeavesTheJudgeSilent) {
  const auto result = check_step(last_step, "", {}, 5);
  EXPECT_THAT(result.report.findings, testing::IsEmpty()) << text_of(result.report);
}

TEST(Guide, EveryBrokenVariantIsFoundUnderItsNameInEveryMode) {
  std::set<std::pair<std::string, std::string>> told, there;
  for (const auto& [step, finding, define] : all_shown()) {
    if (define.empty()) continue;
    told.emplace(step, define);
    for (const vgpu::Mode mode : {vgpu::Mode::friendly, vgpu::Mode::random, vgpu::Mode::adversarial}) {
      const auto result = check_step(step, define, {mode}, 2);
      EXPECT_NE(find(result.report, finding), nullptr)
          << step << " " << define << " mode " << static_cast<int>(mode) << "\n"
          << text_of(result.report);
    }
  }
  static const Pattern variant("BROKEN_\\w+");
  for (const std::string& step : steps()) {
    const std::string text = text_of_file(steps_folder / (step + ".cu"));
    for (const Match& define : variant.all(text)) there.emplace(step, define[0]);
  }
  EXPECT_EQ(told, there);
}

TEST(Guide, TheLastKernelHasUnderNinetyLinesOfItsAuthor) {
  EXPECT_LT(own_lines(text_of_file(steps_folder / (std::string(last_step) + ".cu"))).size(), 90u);
}

// What is chosen stands in `constexpr` lines; all else follows from it.
TEST(Guide, TheLastKernelHasNoNumberButZeroAndOneOutsideItsPlan) {
  static const Pattern number(R"((^|[^\w"])([0-9]\w*))");
  for (const std::string& line : own_lines(text_of_file(steps_folder / (std::string(last_step) + ".cu")))) {
    if (line.starts_with("constexpr int ")) continue;
    for (const Match& found : number.all(line)) EXPECT_THAT(found[2], testing::AnyOf("0", "1")) << line;
  }
}

}  // namespace
}  // namespace wm::test
