// Programs and numbers that documents show: compiled and run, and as they were recorded.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pattern.hpp"
#include "report_part.hpp"
#include "support/temporary_folder.hpp"

namespace wm::test {
namespace {

// A document's programs are the files of examples/, its reports what is printed.
std::optional<std::string> part_of(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "program") {
    const auto file = source / "examples" / (words[1] + ".cpp");
    return indented(text_of_file(exists(file) ? file : source / "examples" / (words[1] + ".cu")));
  }
  const auto report = shown(words);
  return report ? std::optional(report_part(*report)) : std::nullopt;
}

TEST(Readme, HoldsItsProgramAndItsReportAsTheyAre) { expect_parts(source / "README.md", part_of); }

TEST(Timelines, HoldTheirProgramAsItIs) { expect_parts(source / "docs/timelines.md", part_of); }

TEST(Readme, ItsProgramIsRightAndTwelveLines) {
  EXPECT_EQ(std::system(EXAMPLE_product), 0);
  std::istringstream lines(text_of_file(source / "examples/product.cpp"));
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += !line.empty();
  EXPECT_LE(count, 12);
}

TEST(Timelines, TheirProgramWritesATimeline) {
  const TemporaryFolder folder;
  const auto file = folder / "timeline.json";
  ASSERT_EQ(std::system((std::string(EXAMPLE_timeline) + " " + file.string()).c_str()), 0);
  const auto timeline = nlohmann::json::parse(text_of_file(file));
  std::size_t loads = 0;
  for (const auto& event : timeline.at("traceEvents")) loads += event.at("name") == "load";
  EXPECT_EQ(loads, 2u * 2 * 4);  // blocks, warps, steps
}

// A row of the README is the recorded one of its operands, without the plan.
TEST(Readme, ItsRowsOfSpeedAreThoseRecorded) {
  const std::string readme = text_of_file(source / "README.md");
  const std::string recorded = text_of_file(source / "bench/results/gemm.md");
  static const Pattern row(R"(\| (\d+ x \d+ x \d+) \| (\w+) \| ([\d.]+) \| (\d+) \| (\d+) \| ([\d.]+) \|)");
  const std::vector<Match> rows = row.all(readme);
  for (const Match& cells : rows) {
    const auto section = recorded.find("NVIDIA H200, " + cells[2]);
    ASSERT_NE(section, recorded.npos) << cells[0];
    const auto at = recorded.find("| " + cells[1] + " ", section);
    ASSERT_NE(at, recorded.npos) << cells[0];
    const std::string line = recorded.substr(at, recorded.find('\n', at) - at);
    for (const auto& cell : {" | " + cells[3] + " | " + cells[4] + " | ", " | " + cells[5] + " | " + cells[6] + " ("})
      EXPECT_THAT(line, testing::HasSubstr(cell)) << cells[0];
  }
  EXPECT_EQ(rows.size(), 3u);
}

TEST(Readme, ItsRowsOfAttentionAreThoseRecorded) {
  const std::string readme = text_of_file(source / "README.md");
  const std::string recorded = text_of_file(source / "bench/results/attention.md");
  static const Pattern row(R"(\| (\d+ x \d+ x \d+ x \d+( causal)?) \| ([\d.]+ \| \d+ \| \d+ \| [\d.]+) \|)");
  const std::vector<Match> rows = row.all(readme);
  for (const Match& cells : rows) {
    const auto at = recorded.find("\n| " + cells[1] + " |");
    ASSERT_NE(at, recorded.npos) << cells[0];
    EXPECT_THAT(recorded.substr(at + 1, recorded.find('\n', at + 1) - at - 1),
                testing::HasSubstr(" | " + cells[3] + " | "));
  }
  EXPECT_EQ(rows.size(), 3u);
}

}  // namespace
}  // namespace wm::test
