// Running cases: what the program prints and how it exits.
#include "cli/program.hpp"

#include <nlohmann/json.hpp>

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(Program, RunsEveryExampleOnTheVirtualGpu) {
  const Ended demo = start("demo --device virtual " + examples.string());
  EXPECT_EQ(demo.status, 0) << demo.out << demo.err;
  for (const char* name : {"reduce", "saxpy", "struct_arguments", "tma_copy", "transpose", "vector_add"})
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
                               HasSubstr("y[1] is 3, expected 4"), HasSubstr("`warpmill check ")));
  EXPECT_THAT(start(run_virtual((examples / "saxpy.json").string())).out, Not(HasSubstr("warpmill check")));
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
}

TEST_F(Program, AnUnknownCommandIsRefusedWithThoseThereAre) {
  const std::string there_are =
      "there are run, check, demo, doctor, devices, cache, gemm, attention, plan, bench, calibrate, "
      "tune";
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"bogus", "there is no command 'bogus'; " + there_are},
           {"chek x.json", "there is no command 'chek'; " + there_are + " (is check meant?)"},
           {"", "a command is needed; " + there_are},
           {"plan", "plan ...: a command is needed; there are gemm, attention"},
           {"tune gem 3x3x3", "there is no command 'tune gem'; there are gemm, attention (is gemm meant?)"}}) {
    const Ended ended = start(arguments);
    EXPECT_EQ(ended.status, 2) << arguments;
    EXPECT_EQ(ended.err, "warpmill: " + message + "\n");
  }
  EXPECT_EQ(start("--help").status, 0);
  EXPECT_EQ(start("--version").status, 0);
}

TEST_F(Program, ACountIsDigitsWithinItsBounds) {
  const std::string saxpy = (examples / "saxpy.json").string();
  for (const auto& [option, range] : std::vector<std::pair<std::string, std::string>>{
           {"run " + saxpy + " --max-instructions", "0 to 18446744073709551615"},
           {"run " + saxpy + " --seed", "0 to 18446744073709551615"},
           {"run " + saxpy + " --repeat", "1 to 1000000"},
           {"check " + saxpy + " --max-instructions", "0 to 18446744073709551615"},
           {"check " + saxpy + " --seeds", "1 to 1000000"},
           {"demo " + examples.string() + " --max-instructions", "0 to 18446744073709551615"},
           {"gemm 3x3x3 --batch", "1 to 2147483647"},
           {"gemm 3x3x3 --repeat", "1 to 100000"},
           {"plan gemm 3x3x3 --show", "1 to 1000"},
           {"plan gemm 3x3x3 --multiprocessors", "1 to 1024"},
           {"bench gemm 3x3x3 --rounds", "1 to 1000"},
           {"bench gemm 3x3x3 --plans", "1 to 1000"},
           {"tune gemm 3x3x3 --candidates", "1 to 1000"},
           {"tune gemm 3x3x3 --rounds", "1 to 1000"},
           {"tune gemm 3x3x3 --limit", "1 to 3600"}}) {
    std::vector<std::string> wrong{"-1", "1.5", "x", "3x", "'1 '", "18446744073709551616", "''"};
    if (range.starts_with("1 ")) wrong.push_back("0");
    for (const std::string& value : wrong) {
      const Ended ended = start(option + " " + value);
      EXPECT_EQ(ended.status, 2) << option << " " << value;
      EXPECT_THAT(ended.err, HasSubstr("is no whole number from " + range)) << option << " " << value;
    }
  }
}

TEST_F(Program, ACountIsDecimal) {
  EXPECT_EQ(nlohmann::json::parse(start("plan gemm 512x512x512 --json --show 010").out).size(), 10u);
}

TEST_F(Program, MacrosOfTheCommandLineReachTheCompiler) {
  folder_.write("macro.cu", "extern \"C\" __global__ void k(int* x) { x[threadIdx.x] = VALUE; }");
  const auto file = folder_.write("macro.json", R"({"module": "macro.cu", "entry": "k", "defines": {"VALUE": 1},
    "grid": [1], "block": [32], "buffers": {"x": {"dtype": "i32", "shape": [32]}}, "arguments": [{"buffer": "x"}],
    "outputs": {"x": {"equals": {"value": 7}}}})");
  EXPECT_EQ(start(run_virtual(file.string())).status, 1);
  EXPECT_EQ(start(run_virtual(file.string()) + " --define VALUE=7").status, 0);
  EXPECT_EQ(start(run_virtual(file.string()) + " --define VALUE=FIVE+2 --define FIVE=5").status, 0);
  EXPECT_THAT(start("run --emit ptx --define VALUE=4711 " + file.string()).out, HasSubstr("4711"));
  const Ended refused = start(run_virtual((examples / "saxpy.json").string()) + " --define VALUE=7");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("saxpy.ptx is PTX, which has no macros"));
}

TEST_F(Program, StructsMapsBehindPointersAndVariablesReachTheKernel) {
  const std::string example = (examples / "struct_arguments.json").string();
  EXPECT_EQ(start("check " + example).status, 0);
  std::filesystem::copy(examples / "headers", folder_ / "headers");
  // A variable that is filled has that value, one that is not the module's own.
  EXPECT_EQ(start(run_virtual(changed("struct_arguments.json", "{\"value\": 42}", "{\"value\": 1}"))).status, 1);
  EXPECT_EQ(start(run_virtual(changed("struct_arguments.json", "\"start\": 2, ", "\"start\": 3, "))).status, 1);
  const auto refused = [&](std::string_view part, std::string_view by) {
    const Ended ended = start(run_virtual(changed("struct_arguments.json", part, by)));
    EXPECT_EQ(ended.status, 2) << ended.out;
    return ended.err;
  };
  EXPECT_THAT(refused("counts::launches", "counts::lunches"), HasSubstr("lunches"));
  EXPECT_THAT(refused("\"shape\": [2]", "\"shape\": [3]"),
              HasSubstr("buffers.factors: the variable \"factors\" has 8 bytes, and 12 are described here"));
  EXPECT_THAT(refused("\"box\": [16, 16]}},\n", "\"box\": [16, 16]}, \"alignment\": 64},\n"),
              HasSubstr("is a struct of 256 B, and the kernel takes a struct of 384 B"));
  EXPECT_THAT(refused("--use_fast_math", "-DX=1"), HasSubstr("'-DX=1' is no flag here: macros have a place"));
  EXPECT_THAT(refused("--use_fast_math", "--no-such-flag"), HasSubstr("no-such-flag"));
  EXPECT_THAT(refused("\"include\": [\"headers\"],", ""), HasSubstr("tiles.cuh"));
}

TEST_F(Program, LostSpeedIsToldWithoutAGpu) {
  folder_.write("slow.cu", R"(
extern "C" __global__ void slow(float* x, const int* at) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  float kept[16];
  for (int i = 0; i < 16; ++i) kept[i] = x[i * 32 + threadIdx.x];
  for (int i = 0; i < 16; ++i) x[i * 32 + threadIdx.x] = kept[at[i] & 15];
})");
  const auto file = folder_.write("slow.json", R"({"module": "slow.cu", "entry": "slow", "arch": "sm_90a",
    "grid": [1], "block": [128], "buffers": {"x": {"dtype": "f32", "shape": [1024], "fill": "zeros"},
    "at": {"dtype": "i32", "shape": [16], "fill": "zeros"}}, "arguments": [{"buffer": "x"}, {"buffer": "at"}]})");
  const auto told =
      AllOf(HasSubstr(" registers, 0 bytes of static shared memory, no spills, a stack of 64 bytes a thread"),
            HasSubstr("\n  slow      (C7508) Potential Performance Loss: 'setmaxnreg' ignored"),
            HasSubstr("\n  slow      'slow' has a stack frame of 64 bytes a thread"));
  const std::string code = (folder_ / "slow.cubin").string();
  for (int round = 0; round < 2; ++round) {  // compiled, and from the cache
    const Ended run = start(run_virtual(file.string()));
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, told);
    EXPECT_THAT(start("check --mode friendly " + file.string()).out, told);
    EXPECT_THAT(start("run --emit cubin -o " + code + " " + file.string()).err, told);
    EXPECT_THAT(start("run --emit ptx " + file.string()).err, told);
  }
  for (const std::string& command : {run_virtual(file.string()), "check --mode friendly " + file.string(),
                                     "run --emit cubin -o " + code + " " + file.string()}) {
    const auto compile = nlohmann::json::parse(start(command + " --json").out).at("compile");
    EXPECT_EQ(compile.at("lost_speed").size(), 2u) << command;
    EXPECT_GT(compile.at("resources").at("registers"), 8) << command;
    EXPECT_EQ(compile.at("resources").at("stack_bytes"), 64) << command;
    EXPECT_EQ(compile.at("resources").at("spill_store_bytes"), 0) << command;
  }
  EXPECT_EQ(start("run --emit cubin --json " + file.string()).status, 2) << "both want standard output";
}

TEST_F(Program, WhatTheChipsAssemblerRefusesDoesNotPassOnTheVirtualGpu) {
  folder_.write("wrong.cu",
                "extern \"C\" __global__ void k() { asm volatile(\"setmaxnreg.dec.sync.aligned.u32 7;\"); }");
  const auto file = folder_.write("wrong.json", R"({"module": "wrong.cu", "entry": "k", "arch": "sm_90a",
    "grid": [1], "block": [128]})");
  const Ended ended = start(run_virtual(file.string()));
  EXPECT_EQ(ended.status, 2) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("wrong.cu"));
}

TEST_F(Program, NoTextOfAFileSpeaksToTheTerminal) {
  const std::string escape = "\x1b[31m", shown = "\\x1b[31m";
  folder_.write("loud.cu", "#warning " + escape + "\nextern \"C\" __global__ void loud(int* x) { *x = 1; }");
  const auto file = folder_.write("loud.json", R"({"module": "loud.cu", "entry": "loud", "grid": [1], "block": [1],
    "buffers": {"\u001b[31mx\u009b": {"dtype": "i32", "shape": [1]}}, "arguments": [{"buffer": "\u001b[31mx\u009b"}],
    "outputs": {"\u001b[31mx\u009b": {"equals": {"value": 2}}}})");
  const auto quiet = [&](const Ended& ended) {
    for (const std::string& text : {ended.out, ended.err})
      EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\xc2\x9b"))));
    return ended;
  };
  EXPECT_THAT(quiet(start(run_virtual(file.string()))).out, AllOf(HasSubstr(shown + "x"), HasSubstr("DIFFERS")));
  quiet(start(run_virtual(file.string()) + " --json"));
  quiet(start("check --mode friendly " + file.string()));
  quiet(start("check --mode friendly --json " + file.string()));
  EXPECT_THAT(quiet(start("run '" + (folder_ / escape).string() + "'")).err, HasSubstr(shown));
  folder_.write("loud.cu", escape);
  EXPECT_THAT(quiet(start(run_virtual(file.string()))).err, HasSubstr(shown));
  folder_.write("loud.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n" + escape);
  folder_.write("ptx.json", R"({"module": "loud.ptx", "entry": "\u001b[31m", "grid": [1], "block": [1]})");
  quiet(start(run_virtual((folder_ / "ptx.json").string())));
}

TEST_F(Program, NamesThatAreNoUtf8AreNoReasonToFail) {
  folder_.write("add.cu", "extern \"C\" __global__ void k() {}");
  const auto file = folder_.write("\xe4.json", R"({"module": "add.cu", "entry": "k", "grid": [1], "block": [32]})");
  for (const std::string command : {"run --device virtual --json '", "check --json '"}) {
    const Ended ended = start(command + file.string() + "'");
    EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
    EXPECT_TRUE(nlohmann::json::accept(ended.out));
  }
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
  EXPECT_THAT(start("cache").out, HasSubstr(": 2 programs"));
  EXPECT_THAT(start("cache --clear").out, HasSubstr("2 programs removed"));
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
