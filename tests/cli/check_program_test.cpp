// `warpmill check`: what it prints and how it exits.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(Program, CheckEndsWithOneWhereItFindsAnErrorAndZeroWhereItDoesNot) {
  const std::string wrong = "check --seeds 1 " + (corpus / "proxy_store.json").string();
  const Ended found = start(wrong);
  EXPECT_EQ(found.status, 1) << found.err;
  EXPECT_THAT(found.out, AllOf(StartsWith("error[missing-proxy-fence]: "), HasSubstr("\n  --> proxy_store.cu:"),
                               HasSubstr("\n  help: "), HasSubstr("\n  executed "), HasSubstr("\n  checked ")));
  const Ended repaired = start(wrong + " --define REPAIRED");
  EXPECT_EQ(repaired.status, 0) << repaired.out << repaired.err;
  EXPECT_EQ(start("check --seeds 1 " + (corpus / "advice_uncoalesced.json").string()).status, 0);
  EXPECT_EQ(start("check there_is_none.json").status, 2);
  EXPECT_EQ(start(wrong + " --mode kind").status, 2);
}

TEST_F(Program, CheckEndsWithZeroWhereItWarnsAndWithOneWhereItIsStrict) {
  const std::string omits = "check --mode friendly " + (corpus / "barrier_init_without_fence.json").string();
  const Ended lenient = start(omits);
  EXPECT_EQ(lenient.status, 0) << lenient.out << lenient.err;
  EXPECT_THAT(lenient.out, AllOf(StartsWith("warning[barrier-init-not-visible]: "),
                                 HasSubstr("(PTX ISA 9.7.13.4): not promised; compilers rely on it\n"),
                                 HasSubstr(": 0 errors, 1 warning, 0 of advice; ")));
  const Ended strict = start(omits + " --strict");
  EXPECT_EQ(strict.status, 1);
  EXPECT_THAT(strict.out, AllOf(StartsWith("error[barrier-init-not-visible]: "), HasSubstr(": 1 error, 0 warnings, ")));
  const auto finding = nlohmann::json::parse(start(omits + " --json").out).at("findings").at(0);
  EXPECT_EQ(finding.at("severity"), "warning");
  EXPECT_EQ(finding.at("section"), "9.7.13.4");
  EXPECT_FALSE(finding.at("relies_on").empty());
}

TEST_F(Program, CheckGivesItsFindingsAsJson) {
  const Ended found = start("check --json --mode friendly " + (corpus / "proxy_store.json").string());
  EXPECT_EQ(found.status, 1) << found.err;
  const auto report = nlohmann::json::parse(found.out);
  const auto& finding = report.at("findings").at(0);
  EXPECT_EQ(finding.at("name"), "missing-proxy-fence");
  EXPECT_EQ(finding.at("severity"), "error");
  EXPECT_FALSE(finding.at("message").empty());
  EXPECT_FALSE(finding.at("help").empty());
  ASSERT_EQ(finding.at("places").size(), 2u);
  for (const auto& place : finding.at("places")) {
    EXPECT_EQ(place.at("file"), "proxy_store.cu");
    EXPECT_GT(place.at("line"), 0);
    EXPECT_FALSE(place.at("instruction").empty());
    EXPECT_EQ(place.at("block"), (std::vector<int>{0, 0, 0}));
    EXPECT_TRUE(place.contains("warp") && place.contains("role"));
  }
  EXPECT_GT(report.at("executed").at("copies"), 0);
}

TEST_F(Program, CheckFailsOnAWrongResultThatNoFindingExplains) {
  const std::string wrong = changed("tma_copy.json", "\"equals\": \"x\"", "\"equals\": {\"value\": 7}");
  const Ended ended = start("check --seeds 2 " + wrong);
  EXPECT_EQ(ended.status, 1) << ended.out;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("changed: 0 errors, 0 warnings, 0 of advice; 5 runs, results WRONG in 5\n"),
                               HasSubstr("\n  wrong     friendly, seed 0\n  y         DIFFERS from the fill"),
                               HasSubstr("\n  not judged which elements of an allocation"), Not(HasSubstr("right"))));
  const auto report = nlohmann::json::parse(start("check --json --seeds 2 " + wrong).out);
  EXPECT_EQ(report.at("results"), (nlohmann::json{{"right", 0}, {"wrong", 5}, {"not_ended", 0}}));
  EXPECT_EQ(report.at("wrong").at("mode"), "friendly");
  EXPECT_FALSE(report.at("wrong").at("outputs").at(0).at("holds").get<bool>());
}

TEST_F(Program, CheckSaysRightOnlyOfWhatWasCompared) {
  const std::string example = (examples / "tma_copy.json").string();
  EXPECT_THAT(start("check --seeds 1 " + example).out, HasSubstr("; 3 runs, results right in 3\n"));
  EXPECT_THAT(start("check --seeds 1 " + changed("tma_copy.json", "\"equals\": \"x\"", "\"write\": \"y.npy\"")).out,
              HasSubstr("; 3 runs, no results compared\n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "y.npy"));
  const Ended stuck = start("check --seeds 1 " + (corpus / "deadlock_no_release.json").string());
  EXPECT_EQ(stuck.status, 1);
  EXPECT_THAT(stuck.out, HasSubstr("; 3 runs, 3 did not end, no results compared\n"));
  const Ended trap = start("check --mode friendly " + (corpus / "fault_trap.json").string());
  EXPECT_THAT(trap.out, AllOf(HasSubstr("error[execution-fault]"), HasSubstr("; 1 run, 1 did not end, no results")));
  // What is out of bounds is told, and the run goes on.
  const Ended outside = start("check --mode friendly " + (corpus / "out_of_bounds_copy.json").string());
  EXPECT_THAT(outside.out, AllOf(HasSubstr("error[out-of-bounds]"), HasSubstr("; 1 run, results WRONG in 1")));
}

TEST_F(Program, TooLittleSharedMemoryIsNotBlamedOnTheGrid) {
  folder_.write("dynamic.cu", R"(extern "C" __global__ void k(int* x) {
  extern __shared__ int kept[];
  kept[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = kept[31 - threadIdx.x];
})");
  const auto file = folder_.write("dynamic.json", R"({"module": "dynamic.cu", "entry": "k", "grid": [1], "block": [32],
    "shared": 64, "buffers": {"x": {"dtype": "i32", "shape": [32], "fill": "zeros"}}, "arguments": [{"buffer": "x"}]})");
  const Ended ended = start("check --mode friendly " + file.string());
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("error[out-of-bounds]: shared write"), HasSubstr("(`shared` in a case file)"),
                               Not(HasSubstr("grid"))));
}
