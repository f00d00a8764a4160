// The judge against its corpus: each planted bug is found under its name at its lines in every mode with every seed,
// each repaired twin and each clean kernel stays silent.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "case/check_case.hpp"
#include "case/run_case.hpp"
#include "corpus.hpp"
#include "schedules.hpp"
#include "warpmill/error.hpp"

namespace wm::judge {
namespace {

using vgpu::CheckReport;
using vgpu::Finding;
using vgpu::Mode;
using vgpu::Severity;

cases::Case case_of(const std::filesystem::path& folder, const std::string& name, bool repaired) {
  cases::Case description = cases::read_case(folder / (name + ".json"));
  if (repaired) description.defines["REPAIRED"] = "1";
  return description;
}

struct Judged {
  CheckReport report;
  bool holds = false;
};
Judged judge(const cases::Case& description, const Schedule& run, bool strict = false) {
  cases::RunRequest request;
  request.device = "virtual";
  request.virtual_options.mode = run.mode;
  request.virtual_options.seed = run.seed;
  request.virtual_options.max_instructions = most_instructions;
  request.virtual_options.check = true;
  request.virtual_options.strict = strict;
  const cases::RunResult result = cases::run_case(description, request);
  return {*result.virtual_report->check, result.holds()};
}

bool names_line(const Finding& finding, const std::string& file, int line) {
  const auto is = [&](const std::string& f, std::uint32_t l) {
    return f.ends_with(file) && l == static_cast<std::uint32_t>(line);
  };
  return std::any_of(finding.places.begin(), finding.places.end(), [&](const vgpu::FindingPlace& place) {
    return is(place.file, place.line) || std::any_of(place.inlined_at.begin(), place.inlined_at.end(),
                                                     [&](const auto& frame) { return is(frame.file, frame.line); });
  });
}

class PlantedBug : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, IsFoundAtItsLinesWithEverySeed) {
  const Planted& bug = GetParam();
  const cases::Case description = case_of(corpus_folder, bug.name, /*repaired=*/false);
  for (const Schedule& run : all_schedules()) {
    const CheckReport report = judge(description, run).report;
    const bool found = std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
      return finding.name == bug.finding && finding.severity == bug.severity &&
             std::all_of(bug.marked.begin(), bug.marked.end(),
                         [&](const auto& mark) { return names_line(finding, bug.name + ".cu", mark.second); });
    });
    ASSERT_TRUE(found) << bug.name << ", " << run.name() << " found:\n" << text_of(report);
    const auto expect = [&](const Finding& finding) {
      if (finding.severity == Severity::advice) return;
      const bool expected = (finding.name == bug.finding && finding.severity == bug.severity) ||
                            std::count(bug.also.begin(), bug.also.end(), finding.name);
      ASSERT_TRUE(expected) << bug.name << ", " << run.name() << " also found:\n" << finding.text();
    };
    for (const Finding& finding : report.findings) {
      expect(finding);
      for (const Finding& consequence : finding.consequences) expect(consequence);
    }
  }
}

TEST_P(PlantedBug, IsGoneWhenRepaired) {
  const Planted& bug = GetParam();
  const cases::Case description = case_of(corpus_folder, bug.name, /*repaired=*/true);
  for (const Schedule& run : all_schedules()) {
    const Judged judged = judge(description, run);
    ASSERT_TRUE(is_silent(judged.report)) << bug.name << ", " << run.name() << ":\n" << text_of(judged.report);
    ASSERT_TRUE(judged.holds) << bug.name << ", " << run.name() << ": wrong result";
    if (bug.severity != Severity::advice) continue;
    for (const Finding& finding : judged.report.findings)
      ASSERT_NE(finding.name, bug.finding) << bug.name << ":\n" << finding.text();
  }
}

std::string name_of_test(const testing::TestParamInfo<Planted>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Corpus, PlantedBug, testing::ValuesIn(planted_bugs()), name_of_test);

class CleanKernel : public testing::TestWithParam<std::string> {};

TEST_P(CleanKernel, GivesNoErrorAndNoWarning) {
  const cases::Case description = case_of(clean_folder, GetParam(), /*repaired=*/false);
  for (const Schedule& run : all_schedules()) {
    const Judged judged = judge(description, run);
    ASSERT_TRUE(is_silent(judged.report)) << GetParam() << ", " << run.name() << ":\n" << text_of(judged.report);
    ASSERT_TRUE(judged.holds) << GetParam() << ", " << run.name() << ": wrong result";
  }
}

INSTANTIATE_TEST_SUITE_P(Clean, CleanKernel, testing::ValuesIn(clean_kernels()),
                         [](const auto& info) { return info.param; });

// A run that is made again with other contents in unwritten memory begins where the first did, and leaves what that
// left.
TEST(Judge, LooksTwiceAtUnusedContentsAndLeavesTheFirstResults) {
  for (const char* name : {"unused_contents", "unused_contents_of_a_buffer"}) {
    const Judged judged = judge(case_of(corpus_folder, name, /*repaired=*/false), {});
    EXPECT_EQ(judged.report.count(Severity::warning), 1u) << text_of(judged.report);
    EXPECT_TRUE(judged.holds) << name;
  }
}

// What everybody omits is said once a place with what PTX demands, and is an error to who asks for that.
TEST(Judge, WarningsAreErrorsWhereTheRunIsStrict) {
  std::size_t warnings = 0;
  for (const Planted& bug : planted_bugs()) {
    if (bug.severity != Severity::warning) continue;
    ++warnings;
    for (const Schedule& run :
         {Schedule{Mode::friendly, 0}, Schedule{Mode::random, 1}, Schedule{Mode::adversarial, 2}}) {
      const cases::Case description = case_of(corpus_folder, bug.name, /*repaired=*/false);
      const CheckReport lenient = judge(description, run).report, strict = judge(description, run, true).report;
      EXPECT_TRUE(lenient.clean()) << text_of(lenient);
      EXPECT_EQ(lenient.count(Severity::warning), 1u) << bug.name << ", " << run.name() << ":\n" << text_of(lenient);
      EXPECT_NE(text_of(lenient).find("): not promised; compilers rely on it\n"), std::string::npos)
          << text_of(lenient);
      EXPECT_EQ(strict.count(Severity::warning), 0u) << text_of(strict);
      EXPECT_EQ(strict.count(Severity::error), 1u) << text_of(strict);
      EXPECT_EQ(strict.findings.at(0).name, bug.finding);
    }
  }
  EXPECT_GE(warnings, 5u);
}

TEST(Judge, TheSameSeedGivesTheSameReport) {
  const cases::Case description = case_of(corpus_folder, "store_source_reused", /*repaired=*/false);
  const Schedule run{Mode::adversarial, 7};
  EXPECT_EQ(text_of(judge(description, run).report), text_of(judge(description, run).report));
}

// The one that was left out is named, whichever it is and however many there are.
TEST(Judge, AWriteIsHeldAgainstEveryReader) {
  for (const char* name : {"global_race_late_reader", "copies_late_reader"})
    for (const std::uint32_t reader : {0u, 1u, 31u, 63u, 64u, 69u}) {
      cases::Case description = case_of(corpus_folder, name, /*repaired=*/false);
      description.defines["LEFT_OUT"] = std::to_string(reader);
      const CheckReport report = judge(description, {Mode::friendly, 0}).report;
      ASSERT_EQ(report.findings.size(), 1u) << name << ", " << reader << ":\n" << text_of(report);
      EXPECT_EQ(report.findings[0].places.at(1).block.x, reader) << name << ":\n" << text_of(report);
    }
}

TEST(Judge, SaysThatAPhaseEndsInTheMiddleOfACopy) {
  const cases::Case description = case_of(corpus_folder, "bytes_too_few", /*repaired=*/false);
  std::string said;  // where the pieces of the copy come apart at half of it, which some orders do
  for (std::uint64_t seed = 0; seed < 20; ++seed) said += text_of(judge(description, {Mode::random, seed}).report);
  EXPECT_NE(said.find("ends in the middle of a copy: 512 of its 1024 bytes are still to come"), std::string::npos)
      << said;
}

TEST(Judge, TheReportOfARunHasEachPairOfLinesOnce) {
  const CheckReport report =
      judge(case_of(corpus_folder, "race_unrolled", /*repaired=*/false), {Mode::random, 3}).report;
  std::set<std::string> names;
  std::uint64_t races = 0;
  for (const Finding& finding : report.findings) {
    EXPECT_TRUE(names.insert(finding.name).second) << text_of(report);
    if (finding.name == "shared-race") races = finding.count;
  }
  EXPECT_GE(races, 4u) << text_of(report);
}

TEST(Judge, NamesTheAuthorsOwnLineThenTheLibrarysBelowIt) {
  const Finding finding =
      judge(case_of(corpus_folder, "deadlock_ring_releases", /*repaired=*/false), {Mode::friendly, 0})
          .report.findings.at(0);
  const vgpu::FindingPlace& use = finding.places.at(0);
  EXPECT_EQ(use.role, "use");
  EXPECT_EQ(use.file, "deadlock_ring_releases.cu") << finding.text();
  ASSERT_GE(use.through.size(), 2u) << finding.text();
  EXPECT_EQ(use.through.front().file, "warpmill/pipeline/ring.cuh");
  EXPECT_EQ(use.through.back().file, "warpmill/ptx/mbarrier.cuh");
  EXPECT_NE(finding.text().find("in warpmill/pipeline/ring.cuh:"), std::string::npos) << finding.text();
  const vgpu::FindingPlace& load = finding.places.at(1);
  EXPECT_EQ(load.file, "../ring.cuh") << finding.text();
  EXPECT_EQ(load.inlined_at.at(0).file, "deadlock_ring_releases.cu") << finding.text();
}

TEST(Judge, KeepsEveryNameThatTheKernelGives) {
  const auto text = [](const char* name) {
    return text_of(judge(case_of(corpus_folder, name, /*repaired=*/false), {Mode::friendly, 0}).report);
  };
  const std::string rings = text("deadlock_two_rings");
  EXPECT_NE(rings.find("the mbarrier `kv.empty`"), std::string::npos) << rings;
  EXPECT_NE(rings.find("the mbarrier `kv.full`"), std::string::npos) << rings;
  const std::string named = text("uninitialised_named");
  for (const char* what : {"shared `tile[1]` bytes 4 to 7", "shared `full[0]` (of 0x480) bytes 4 to 7",
                           "shared `full[1]` (of 0x490) bytes 0 to 3", "shared `whole` bytes ",
                           "shared `part` bytes 4 to 7", "shared `fresh` bytes 12 to 15"})
    EXPECT_NE(named.find(what), std::string::npos) << what << "\n" << named;
}

// However many findings a wrong parity or a wrong count makes, and in whichever schedule: one, with the rest folded in.
TEST(Judge, PrintsTheCauseAndFoldsWhatFollowsFromIt) {
  const auto joined = [](const char* name) {
    CheckReport report;
    for (const Schedule& run : all_schedules()) {
      report.join(judge(case_of(causes_folder, name, /*repaired=*/false), run).report);
      const Judged repaired = judge(case_of(causes_folder, name, /*repaired=*/true), run);
      EXPECT_TRUE(repaired.report.clean() && repaired.holds) << name << ", " << run.name() << text_of(repaired.report);
    }
    return report;
  };
  const CheckReport parity = joined("ring_wrong_parity");
  ASSERT_EQ(parity.findings.size(), 1u) << text_of(parity);
  const Finding& missed = parity.findings[0];
  EXPECT_EQ(missed.name, "missed-phase") << text_of(parity);
  std::set<std::string> names;
  for (const Finding& consequence : missed.consequences) names.insert(consequence.name);
  EXPECT_TRUE(names.contains("read-before-arrival") && names.contains("deadlock")) << text_of(parity);
  EXPECT_NE(missed.text().find(" more that follow from it: "), std::string::npos) << missed.text();
  EXPECT_NE(missed.text().find("before that: has waited for that phase before"), std::string::npos) << missed.text();

  const CheckReport count = joined("ring_wrong_release_count");
  ASSERT_EQ(count.findings.size(), 1u) << text_of(count);
  EXPECT_EQ(count.findings[0].message,
            "the mbarrier `tiles.empty[0]` expects 1 arrival in a phase, and at least 2 threads of 2 warps arrive");
  EXPECT_EQ(count.findings[0].places.at(1).what, "initialises it with 1");
  EXPECT_EQ(count.findings[0].places.at(2).role, "use");
}

TEST(Judge, FoldsNothingThatConcernsOthers) {
  // Between threads that use no barrier together, and what no barrier prevents.
  for (const char* name : {"race_missing_sync", "proxy_store", "barrier_init_without_fence", "global_race_flag"}) {
    const CheckReport report = judge(case_of(corpus_folder, name, /*repaired=*/false), {Mode::random, 1}).report;
    for (const Finding& finding : report.findings) EXPECT_TRUE(finding.consequences.empty()) << finding.text();
  }
}

TEST(Judge, LanesThatTheScheduleKeepsApartGiveNoAdvice) {
  const cases::Case description = case_of(clean_folder, "lanes_of_different_length", /*repaired=*/false);
  for (const Schedule& run : all_schedules()) {
    const CheckReport report = judge(description, run).report;
    ASSERT_TRUE(report.findings.empty()) << run.name() << ":\n" << text_of(report);
  }
}

TEST(Judge, APlainRunEndsAtAMapInLocalMemoryAndSaysWhere) {
  cases::RunRequest request;
  request.device = "virtual";
  try {
    cases::run_case(case_of(corpus_folder, "tensor_map_in_local_memory", /*repaired=*/false), request);
    ADD_FAILURE() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::execution);
    const std::string text = error.what();
    EXPECT_NE(text.find("the tensor map lies in the thread's local memory"), std::string::npos) << text;
    EXPECT_NE(text.find("const __grid_constant__"), std::string::npos) << text;
  }
}

TEST(Judge, EveryPlantedFindingIsOnItsList) {
  const auto kinds = vgpu::finding_kinds();
  for (const Planted& bug : planted_bugs())
    EXPECT_TRUE(std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.name == bug.finding; }))
        << bug.name << ": " << bug.finding;
}

}  // namespace
}  // namespace wm::judge
