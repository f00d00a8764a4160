// The program itself, started as a user starts it: what it prints and how it exits.
#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>

#include "case/files.hpp"
#include "support/temporary_folder.hpp"

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

struct Ended {
  int status = -1;
  std::string out, err;
};

const std::filesystem::path corpus = std::filesystem::path(WARPMILL_SOURCE) / "tests/judge/corpus";
const std::filesystem::path examples = std::filesystem::path(WARPMILL_SOURCE) / "examples/first_light";

// A folder with a cache and cases of its own.
class Program : public testing::Test {
 protected:
  Ended start(const std::string& arguments, const std::string& environment = "") {
    const std::string command = "WARPMILL_PLANS=" + (folder_ / "plans.txt").string() + " " + environment +
                                " WARPMILL_CACHE_DIR=" + (folder_ / "cache").string() + " " WARPMILL_PROGRAM " " +
                                arguments + " >" + (folder_ / "out").string() + " 2>" + (folder_ / "err").string() +
                                " </dev/null";
    Ended ended;
    const int status = std::system(command.c_str());
    if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
    ended.out = wm::cases::read_text(folder_ / "out");
    ended.err = wm::cases::read_text(folder_ / "err");
    return ended;
  }
  // A copy of an example with one part replaced.
  std::string changed(const std::string& example, std::string_view part, std::string_view by) {
    for (const auto& entry : std::filesystem::directory_iterator(examples))
      std::filesystem::copy(entry, folder_.path(), std::filesystem::copy_options::skip_existing);
    std::string text = wm::cases::read_text(examples / example);
    const auto at = text.find(part);
    EXPECT_NE(at, text.npos) << part;
    return folder_.write("changed.json", text.replace(at, part.size(), by)).string();
  }
  std::string run_virtual(const std::string& case_file) { return "run --device virtual " + case_file; }
  TemporaryFolder folder_;
};

}  // namespace

TEST_F(Program, RunsEveryExampleOnTheVirtualGpu) {
  const Ended demo = start("demo --device virtual " + examples.string());
  EXPECT_EQ(demo.status, 0) << demo.out << demo.err;
  for (const char* name : {"reduce", "saxpy", "tma_copy", "transpose", "vector_add"})
    EXPECT_THAT(demo.out, HasSubstr(std::string("\n") + name));
  EXPECT_THAT(demo.out, Not(HasSubstr("WRONG")));
}

TEST_F(Program, RunsEveryExampleInEveryModeWithASeed) {
  for (const char* mode : {"friendly", "random", "adversarial"}) {
    const Ended demo = start(std::string("demo --device virtual --seed 3 --mode ") + mode + " " + examples.string());
    EXPECT_EQ(demo.status, 0) << mode << "\n" << demo.out << demo.err;
  }
}

TEST_F(Program, SaysWhatItRanAndCompared) {
  const Ended ended = start(run_virtual((examples / "saxpy.json").string()));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("saxpy on virtual"), HasSubstr("warp instructions"),
                               HasSubstr("y         equals the fill \"iota\" exactly: 10,007 elements")));
}

TEST_F(Program, AWrongResultExitsWithOneAndShowsWhere) {
  const Ended ended = start(run_virtual(changed("saxpy.json", "\"step\": 2", "\"step\": 3")));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("DIFFERS from the fill \"iota\" in 10,006 of 10,007 elements"),
                               HasSubstr("y[1] is 3, expected 4")));
}

TEST_F(Program, AToleranceIsKept) {
  EXPECT_EQ(start(run_virtual(changed("saxpy.json", "{\"start\": 1, \"step\": 2}}",
                                      "{\"start\": 1.5, \"step\": 2}}, \"tolerance\": 0.5")))
                .status,
            0);
  EXPECT_EQ(start(run_virtual(changed("saxpy.json", "{\"start\": 1, \"step\": 2}}",
                                      "{\"start\": 1.5, \"step\": 2}}, \"tolerance\": 0.4")))
                .status,
            1);
}

TEST_F(Program, WhatCannotRunExitsWithTwoAndSaysWhy) {
  Ended ended = start("run none.json");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "warpmill: cannot open none.json: No such file or directory\n");

  const std::string wrong = changed("saxpy.json", "{\"buffer\": \"x\"}", "{\"buffer\": \"z\"}");
  ended = start(run_virtual(wrong));
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "warpmill: " + wrong + ":8:45: arguments[1].buffer: there is no buffer \"z\"; there are x, y\n");

  ended = start(run_virtual(changed("saxpy.json", "\"entry\": \"saxpy\"", "\"entry\": \"daxpy\"")));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("the module has no kernel \"daxpy\"; it has saxpy"));

  ended = start(run_virtual(changed("tma_copy.json", "\"box\": [32, 32]", "\"box\": [32, 3]")));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("changed.json:9:5: arguments[0]: tensor map refused"));

  // More than the device has; and, with a stride of 0, a byte there but more than this machine has to compare it.
  ended = start(run_virtual(changed("saxpy.json", "[10007]", "[1099511627776]")));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("changed.json:5:10: buffers.x: 4398046511104 bytes were asked of the virtual GPU"));
  ended = start(run_virtual(changed("saxpy.json", "[10007]", "[281474976710656], \"strides\": [0]")) + " --json");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(nlohmann::json::parse(ended.out)["error"]["code"], "out of memory");
  EXPECT_THAT(ended.out, HasSubstr("buffers.x: its elements take 1125899906842624 bytes, more than the "));

  ended = start("run --device quantum " + (examples / "saxpy.json").string());
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("quantum"));

  EXPECT_EQ(start("run").status, 2);
  EXPECT_EQ(start("walk").status, 2);
}

TEST_F(Program, PrintsJsonAndNothingElse) {
  Ended ended = start(run_virtual((examples / "reduce.json").string()) + " --json --repeat 3");
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  const auto result = nlohmann::json::parse(ended.out);
  EXPECT_EQ(result["case"], "reduce");
  EXPECT_EQ(result["holds"], true);
  EXPECT_EQ(result["milliseconds"]["all"].size(), 3u);
  EXPECT_EQ(result["outputs"].size(), 3u);
  EXPECT_EQ(result["compile"]["from_cache"], false);
  EXPECT_GT(result["virtual"]["warp_instructions"], 1000);

  ended = start("run none.json --json");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(nlohmann::json::parse(ended.out)["error"]["code"], "not found");
}

TEST_F(Program, WritesOutputsAsNpyAndReadsThemAgain) {
  ASSERT_EQ(start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"write\": \"y.npy\""))).status, 0);
  EXPECT_THAT(wm::cases::read_text(folder_ / "y.npy"), AllOf(StartsWith("\x93NUMPY"), HasSubstr("(100, 76)")));
  EXPECT_EQ(start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"equals\": \"y.npy\""))).status, 0);
}

// A limit on the size of files stands in for a full disk.
TEST_F(Program, AnOutputThatCannotBeWrittenWholeIsNotThere) {
  const Ended ended =
      start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"write\": \"y.npy\"")), "ulimit -f 8;");
  EXPECT_EQ(ended.status, 2) << "no signal ended it";
  EXPECT_THAT(ended.err, AllOf(HasSubstr("outputs.y: cannot write"), HasSubstr("File too large")));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith("y.npy")));
}

TEST_F(Program, AnOutputThatCannotBeWrittenIsSaidBeforeAnythingIsCompiled) {
  folder_.write("tma_copy.cu", "this does not compile");
  const Ended ended = start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"write\": \"none/y.npy\"")));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("changed.json:12:"), HasSubstr("outputs.y: cannot create a file beside"),
                               HasSubstr("none/y.npy: No such file or directory")));
}

TEST_F(Program, FilesWithoutAnEndAreRefused) {
  const std::string pipe = (folder_ / "pipe.json").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(start("run " + pipe).err, "warpmill: cannot read " + pipe + ": it is a pipe, not a file\n");
  EXPECT_EQ(start("check /dev/zero").err, "warpmill: cannot read /dev/zero: it is a device, not a file\n");
  std::filesystem::create_symlink("/dev/zero", folder_ / "zero.npy");
  const Ended ended = start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"equals\": \"zero.npy\"")));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("zero.npy: it is a device, not a file"));
}

TEST_F(Program, EmitsPtxAndCubin) {
  Ended ended = start("run --emit ptx " + (examples / "tma_copy.json").string());
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr(".target sm_90a"), HasSubstr(".entry tma_copy")));
  ended = start("run --emit cubin -o " + (folder_ / "k.cubin").string() + " " + (examples / "tma_copy.json").string());
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(wm::cases::read_text(folder_ / "k.cubin"), StartsWith("\x7f"
                                                                    "ELF"));
  EXPECT_EQ(start("run --emit cubin " + (examples / "saxpy.json").string()).status, 2);
}

TEST_F(Program, CompilesOnceAndThenTakesTheCache) {
  const std::string case_file = (examples / "vector_add.json").string();
  EXPECT_THAT(start(run_virtual(case_file)).out, Not(HasSubstr("from the cache")));
  EXPECT_THAT(start(run_virtual(case_file)).out, HasSubstr("from the cache"));
  EXPECT_THAT(start("cache").out, HasSubstr(": 1 programs"));
  EXPECT_THAT(start("cache --clear").out, HasSubstr("1 programs removed"));
  EXPECT_THAT(start("cache").out, HasSubstr(": 0 programs"));
}

TEST_F(Program, FindsKernelsByTheirCxxName) {
  const std::string source =
      "template <class T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }\n"
      "__global__ void thrice(float* x) { x[threadIdx.x] *= 3; }\n";
  folder_.write("named.cu", source);
  const auto case_file = [&](const std::string& entry, int factor) {
    return folder_
        .write("named.json", R"({"module": "named.cu", "entry": ")" + entry + R"(", "grid": [1], "block": [32],
          "buffers": {"x": {"dtype": "f32", "shape": [32], "fill": {"value": 5}}}, "arguments": [{"buffer": "x"}],
          "outputs": {"x": {"equals": {"value": )" +
                                 std::to_string(5 * factor) + "}}}}")
        .string();
  };
  EXPECT_EQ(start(run_virtual(case_file("twice<float>", 2))).status, 0);
  EXPECT_EQ(start(run_virtual(case_file("thrice", 3))).status, 0);
  EXPECT_EQ(start(run_virtual(case_file("thrice", 2))).status, 1);
}

TEST_F(Program, StopsAKernelThatRunsTooLong) {
  folder_.write("loop.cu", "extern \"C\" __global__ void loop(volatile int* x) { while (*x == 0); }");
  const auto file = folder_.write("loop.json", R"({"module": "loop.cu", "entry": "loop", "grid": [1], "block": [32],
    "buffers": {"x": {"dtype": "i32", "shape": [1], "fill": "zeros"}}, "arguments": [{"buffer": "x"}]})");
  const Ended ended = start(run_virtual(file.string()) + " --max-instructions 10000");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("instructions"));
}

TEST_F(Program, ListsHowCloseEachInstructionIsToTheChip) {
  folder_.write("root.ptx", R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry root(.param .u64 x) {
  .reg .b64 %a;
  .reg .f32 %f;
  .reg .pred %p;
  ld.param.u64 %a, [x];
  ld.global.f32 %f, [%a];
  add.rn.f32 %f, %f, %f;
  setp.eq.f32 %p, %f, 0f00000000;
  @%p bra END;
  sqrt.approx.f32 %f, %f;
  st.global.f32 [%a], %f;
  ret;
END:
  sin.approx.f32 %f, %f;
  ret;
})");
  const auto file = folder_.write("root.json", R"({"module": "root.ptx", "entry": "root", "grid": [3], "block": [1],
    "buffers": {"x": {"dtype": "f32", "shape": [1], "fill": {"value": 2}}}, "arguments": [{"buffer": "x"}]})");
  const Ended words = start(run_virtual(file.string()) + " --fidelity");
  EXPECT_EQ(words.status, 0) << words.err;
  EXPECT_THAT(words.out, AllOf(HasSubstr("approximate: 1 ulp"), HasSubstr("add.rn.f32"), Not(HasSubstr("sin.approx"))));
  const auto result = nlohmann::json::parse(start(run_virtual(file.string()) + " --fidelity --json").out);
  for (const auto& entry : result["fidelity"]) {
    EXPECT_EQ(entry["executed"], 3) << entry;
    EXPECT_EQ(entry["exact"], entry["instruction"] != "sqrt.approx.f32") << entry;
  }
  EXPECT_EQ(result["fidelity"].size(), 8u);
  EXPECT_FALSE(nlohmann::json::parse(start(run_virtual(file.string()) + " --json").out).contains("fidelity"));
}

TEST_F(Program, TheDoctorNamesWhatIsMissingAndHowToGetIt) {
  Ended ended = start("doctor");
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("virtual:sm_90a"), HasSubstr("NVRTC        13."), HasSubstr("cache")));
  ended = start("doctor", "WARPMILL_NVRTC=/nowhere");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("MISSING"), HasSubstr("pip install")));
  EXPECT_TRUE(nlohmann::json::parse(start("doctor --json").out)["nvrtc"]["found"]);
  EXPECT_GE(nlohmann::json::parse(start("devices --json").out).size(), 2u);
}

TEST_F(Program, AProductIsCheckedAndItsPlanAndPathAreTold) {
  const std::string device = " --device virtual:sm_90a:sms=4";
  Ended ended = start("gemm 72x40x96 --plan '64x32 s4 g1 b2'" + device);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("72 x 40 x 96, bf16, on virtual"),
                               HasSubstr("plan        64x32 s4 c1x1 g1 b2, 4 blocks, band 2, by hand"),
                               HasSubstr("path        copy engine"), HasSubstr("check       right")));
  ended =
      start("gemm 72x40x96 --dtype e4m3 --out-dtype f16 --a-major mn --batch 2 --epilogue bias,amax --activation gelu" +
            device);
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("2 times 72 x 40 x 96, e4m3 to f16"), HasSubstr("threads, transposing"),
                               HasSubstr("by the model"), HasSubstr("check       right")));
  const auto json =
      nlohmann::json::parse(start("gemm 72x40x96 --dtype i8 --expression 'x * x' --out-dtype f32 --json" + device).out);
  EXPECT_EQ(json["dtype"], "i8");
  EXPECT_LT(json["error"].get<double>(), 1);
}

TEST_F(Program, WhatIsNoProductIsRefusedInWords) {
  for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {"gemm 3x3", "'3x3' is no shape"},
           {"gemm 3x3x3 --dtype bf17", "bf17"},
           {"gemm 3x3x3 --a-major n", "'n' is no major-ness; there are k, mn"},
           {"gemm 3x3x3 --epilogue bias,tanh", "'tanh' is no part of an epilogue"},
           {"gemm 3x3x3 --activation gelu2", "'gelu2' is no activation; there are none, relu, gelu, gelu-erf, silu"},
           {"gemm 3x3x3 --activation relu --expression x", "not both"},
           {"gemm 3x3x3 --plan 128", "'128' is no part of a plan"},
           {"gemm 3x3x3 --plan 128x250 --device virtual", "the plan given is impossible"},
           {"gemm 3x3x3 --dtype i8 --epilogue bias --device virtual", "integer results have no epilogue"},
           {"gemm 3x3x3 --dtype f64 --device virtual", "gemm refused: a holds f64 and b holds f64; they are both bf16"},
           {"gemm 3x3x3 --dtype e4m3 --device virtual:sm_80", "which has no 8-bit floats"},
           {"gemm 2147483648x1x1 --device virtual", "a dimension of 2147483648 is beyond 32-bit coordinates"},
           {"plan gemm 16777216x16777216x1", "more than 2147483647 tiles"},
           {"plan gemm 3x3x3 --batch 2147483648", "not in range 1 to 2147483647"},
           {"bench gemm 3x3x3 --device virtual", "measures a GPU"},
           {"tune gemm 3x3x3 --device virtual", "tuned by measuring a GPU"}}) {
    const Ended ended = start(arguments);
    EXPECT_EQ(ended.status, 2) << arguments;
    EXPECT_THAT(ended.err, HasSubstr(why)) << arguments;
    EXPECT_LE(std::count(ended.err.begin(), ended.err.end(), '\n'), 2) << "no compiler's report: " << ended.err;
  }
}

TEST_F(Program, AProductWithoutElementsIsNothingToDo) {
  for (const std::string command : {"gemm 0x64x64 --device virtual", "gemm 64x0x64 --device virtual",
                                    "plan gemm 0x64x64", "plan gemm 64x0x64 --dtype e4m3"}) {
    const Ended ended = start(command);
    EXPECT_EQ(ended.status, 0) << command << ended.err;
    EXPECT_THAT(ended.out, AllOf(HasSubstr("nothing to do: D has no elements"), Not(HasSubstr("plan")),
                                 Not(HasSubstr("copy engine")), Not(HasSubstr("right"))));
  }
  const auto json = nlohmann::json::parse(start("gemm 0x64x64 --device virtual --json").out);
  EXPECT_EQ(json["blocks"], 0);
  EXPECT_FALSE(json.contains("plan"));
  EXPECT_EQ(nlohmann::json::parse(start("plan gemm 0x64x64 --json").out).size(), 0u);
  EXPECT_EQ(start("plan gemm 0x64x64 --dtype f64").status, 2);
  EXPECT_THAT(start("gemm 64x64x0 --device virtual:sm_90a:sms=4").out, HasSubstr("right"));  // D is all zeros
}

TEST_F(Program, TheRankingBeginsWithWhatIsTakenAndNamesNoPlanTwice) {
  const std::string measured = "plan gemm 64x28672x4096 --show 5", modelled = measured + " --chip other";
  const std::string out = start(measured).out;
  EXPECT_TRUE(std::regex_search(out, std::regex("at best ([0-9.]+) us: \\1 us of device memory"))) << out;
  EXPECT_TRUE(std::regex_search(out, std::regex("estimate\n.*taken: measured before\n"))) << out;
  EXPECT_TRUE(std::regex_search(start(modelled).out, std::regex("estimate\n.*taken: by the model\n")));
  for (const std::string& command : {measured, modelled}) {
    const auto rows = nlohmann::json::parse(start(command + " --json").out);
    EXPECT_EQ(rows.size(), 5u);
    std::set<std::string> plans;
    for (const auto& row : rows) {
      EXPECT_TRUE(plans.insert(row["plan"]).second) << row;
      EXPECT_EQ(row["taken"], plans.size() == 1) << row;
      EXPECT_EQ(row["tuned"], plans.size() == 1 && command == measured) << row;
    }
  }
}

TEST_F(Program, TheUsersTableOfPlansComesBeforeTheModel) {
  const std::string entry = " | bf16 bf16 bf16 | k k | 64x4096x7168 | 128x48 s4 c1x1 exchange split | 12.5 us\n";
  folder_.write("plans.txt", "NVIDIA H200" + entry + "no entry\nvirtual sm_90a" + entry);
  Ended ended = start("plan gemm 64x4096x7168 --show 2");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, testing::ContainsRegex("128x48 s4 c1x1 split exchange .*taken: measured before"));
  EXPECT_THAT(ended.err, HasSubstr("plans.txt:2: an entry has 6 parts"));
  EXPECT_TRUE(nlohmann::json::parse(start("plan gemm 40x4096x7168 --json").out)[0]["tuned"]);  // near enough
  EXPECT_FALSE(nlohmann::json::parse(start("plan gemm 40x4096x7168 --chip other --json").out)[0]["tuned"]);
  EXPECT_FALSE(nlohmann::json::parse(start("plan gemm 64x4096x7168 --dtype f16 --json").out)[0]["tuned"]);

  folder_.write("plans.txt", "virtual sm_90a | bf16 bf16 bf16 | k k | 72x40x96 | 64x32 s4 c1x1 g1 b2 | 5 us\n");
  ended = start("gemm 72x40x96 --device virtual:sm_90a:sms=4");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("plan        64x32 s4 c1x1 g1 b2, 4 blocks, band 2, measured before"));
}

TEST_F(Program, WhatCannotBeMeasuredOrKeptIsSaidBeforeAnythingRuns) {
  const std::string missing = (folder_ / "none/file").string(), file = folder_.write("file", "as it was").string();
  for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {"tune gemm 3x3x3 --plan 128x64q", "'128x64q' is no part of a plan"},
           {"tune gemm 3x3x3 --without 128x64q", "'128x64q' is no part of a plan"},
           {"tune gemm 3x3x3 --dtype bf16,f64", "a holds f64"},
           {"tune gemm 3x3x3 0x3x3", "0 x 3 x 3, bf16: nothing to measure"},
           {"tune gemm 3x3x3 --out /proc/none/plans.txt", "cannot make the folder of /proc/none/plans.txt"},
           {"tune gemm 3x3x3 --out /proc/plans.txt", "cannot create a file beside /proc/plans.txt"},
           {"bench gemm 3x3x3 --plan 128x64q", "'128x64q' is no part of a plan"},
           {"bench gemm 3x3x3 --plan '64x64 s99'", "the plan '64x64 s99' is impossible for 3 x 3 x 3, bf16"},
           {"bench gemm 3x3x3 --plan '128x256 s4 c1x1x4'", "send to the first leave too little shared memory"},
           {"bench gemm 3x3x3 --json " + file + " --svg " + file, "two tables would go to " + file},
           {"bench gemm 3x3x3 --dtype bf16,bf17", "bf17"},
           {"bench gemm 3x3x3 --json " + missing, "cannot create a file beside " + missing},
           {"bench gemm 3x3x3 --svg " + missing, "cannot create a file beside " + missing},
           {"bench gemm 3x3x3 --markdown " + missing, "cannot create a file beside " + missing},
           {"bench gemm 3x3x3 --json " + file, "measures a GPU"}}) {
    const Ended ended = start(arguments + " --device virtual");
    EXPECT_EQ(ended.status, 2) << arguments;
    EXPECT_THAT(ended.err, AllOf(StartsWith("warpmill: "), HasSubstr(why))) << arguments;
  }
  EXPECT_EQ(wm::cases::read_text(file), "as it was");
}

TEST_F(Program, TuningDoesNotTouchATableItCannotRead) {
  const std::string text = "no entry\n";
  const auto file = folder_.write("plans.txt", text);
  const Ended ended = start("tune gemm 64x64x64 --device virtual");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("plans.txt:1:"), HasSubstr("mend it first")));
  EXPECT_EQ(wm::cases::read_text(file), text);
}

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
