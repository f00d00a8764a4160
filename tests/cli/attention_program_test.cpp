// Attentions: attention, plan, check, tune and bench, and what they refuse.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(Program, AnAttentionIsCheckedAndItsPlanIsTold) {
  const std::string device = " --device virtual:sm_90a:sms=4";
  Ended ended = start("attention 1x2x150x64 --causal --plan '128x64 s2 o1'" + device);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("1 x 2 x 150 x 64 bf16, causal, on virtual"),
                    HasSubstr("plan        128x64 s2 o1, 4 blocks, by hand"), HasSubstr("check       right")));
  ended = start(
      "attention 1x4x1x64 --lengths 100,33/64,0 --kv-heads 2 --dtype f16 --window 40,10 --layout positions-first" +
      device);
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("3 sequences (100, 33/64, 0) x 4/2 x 64 f16, 40 keys to the left, 10 keys to "
                                         "the right, on virtual"),
                               HasSubstr("by the model"), HasSubstr("check       right")));
  const auto json = nlohmann::json::parse(start("attention 1x1x70x64 --kv-length 90 --softcap 20 --json" + device).out);
  EXPECT_EQ(json["attention"], "1 x 1 x 70/90 x 64 bf16, softcap 20");
  EXPECT_LT(json["error"].get<double>(), 1);
  ended = start("attention 1x2x70x40 --causal --alibi --sinks" + device);
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("1 x 2 x 70 x 40 bf16, causal, ALiBi, sinks"), HasSubstr("check       right")));
  ended = start("attention 1x2x70x64 --causal --dtype e4m3 --out-dtype e4m3 --scales heads" + device);
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("1 x 2 x 70 x 64 e4m3 to e4m3, scales for each head, causal"),
                               HasSubstr("check       right")));
  ended = start("attention 0x1x70x64" + device);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("nothing to do"));
}

TEST_F(Program, AnAttentionsTimelineIsWritten) {
  const auto file = folder_ / "stamps.json";
  const Ended ended = start("attention 1x1x70x64 --device virtual:sm_90a:sms=2 --stamps " + file.string());
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_FALSE(nlohmann::json::parse(wm::cases::read_text(file))["traceEvents"].empty());
}

TEST_F(Program, WhatIsNoAttentionIsRefusedInWords) {
  for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {"attention 3x3x3", "'3x3x3' is no shape; write it as BATCHxHEADSxLENGTHxDIM"},
           {"attention 1x1x8x100 --device virtual", "a head dim of 100 is not served"},
           {"attention 1x1x8x1000", "a head dim of 1000"},
           {"attention 1x3x8x64 --kv-heads 2", "3 heads are no multiple of 2"},
           {"attention 1x1x8x64 --dtype f32", "bf16, f16 and e4m3, not f32"},
           {"attention 1x1x8x64 --scales heads", "--out-dtype and --scales are for --dtype e4m3"},
           {"attention 1x1x8x64 --dtype e4m3 --scales rows", "'rows' is no word for scales"},
           {"attention 1x1x8x64 --dtype e4m3 --plan 128x48", "a step has a multiple of 32 keys"},
           {"attention 1x1x8x64 --window left", "'left' is no window"},
           {"attention 1x1x8x64 --align top", "'top' is no alignment; there are ends and beginnings"},
           {"attention 1x1x8x64 --layout sbhd", "'sbhd' is no layout"},
           {"attention 1x1x8x64 --lengths 3,-4", "'-4' is no length"},
           {"attention 1x1x8x64 --plan 100x64", "a tile has a multiple of 64 queries"},
           {"attention 1x1x8x64 --plan 128x7", "the plan '128x7' is impossible"},
           {"attention 1x1x8x64 --plan s2", "a plan has a tile"},
           {"attention 1x1x8x64 --plan '256x64 tcgen05 pair' --device virtual:sm_100a", "each block has two groups"},
           {"attention 1x1x8x64 --plan '512x64 tcgen05 pair' --device virtual:sm_100a",
            "a counter answers one of them"},
           {"attention 1x1x8x64 --plan '512x64 tcgen05 pair share' --device virtual:sm_100a:sms=1", "the chip has 1"},
           {"attention 1x1x8x64 --device virtual:sm_80", "the kernels are for sm_90a and sm_100a"},
           {"attention 1x1000x1000000x128 --device virtual", "the memory of the virtual GPU is that of this machine"},
           {"plan attention 1x1x8x64 --chip foo", "nothing is known of a chip 'foo'"},
           {"plan attention 1x1x8x64 --chip 'virtual sm_80'", "no plan serves"},
           {"plan attention 1x1x8x256 --chip B200", "on sm_100a a value dim is 8 to 128"},
           {"tune attention 1x1x8x64 --device virtual", "tuned by measuring a GPU"},
           {"check", "Give a case file, or gemm or attention and a shape"}}) {
    const Ended ended = start(arguments);
    EXPECT_EQ(ended.status, 2) << arguments;
    EXPECT_THAT(ended.err, HasSubstr(why)) << arguments;
  }
}

TEST_F(Program, PlansOfAttentionAreListedWithTheirArithmeticTheTakenOneFirst) {
  const Ended words = start("plan attention 4x16x4096x128 --show 3");
  EXPECT_THAT(words.out, AllOf(HasSubstr("at best 640.7 us of tensor cores"), HasSubstr("taken: by the model")));
  const auto plans = nlohmann::json::parse(start("plan attention 4x16x4096x128 --show 5 --json").out);
  ASSERT_EQ(plans.size(), 5u);
  EXPECT_TRUE(plans[0]["taken"]);
  EXPECT_LE(plans[0]["us"], plans[1]["us"]);
  // A measured plan of the user's own comes before the model.
  folder_.write("plans.txt", "NVIDIA H200 | attention bf16 128 128 | 4x16/16x4096/4096 | 128x64 s2 o1 | 900 us\n");
  const auto tuned = nlohmann::json::parse(start("plan attention 4x16x4096x128 --json").out);
  EXPECT_EQ(tuned[0]["plan"], "128x64 s2 o1");
  EXPECT_TRUE(tuned[0]["tuned"]);
  EXPECT_FALSE(nlohmann::json::parse(start("plan attention 4x16x4096x128 --causal --json").out)[0]["tuned"]);
}

TEST_F(Program, SaysHowAPlanForBlackwellUsesItsMemoriesAndWhatBinds) {
  const Ended words = start("plan attention 1x32x16384x64 --chip B200");
  EXPECT_EQ(words.status, 0);
  for (const char* part :
       {"256x128 s4 o1 tcgen05 fma3", "scores of the two groups in columns 0 to 127 and 128 to 255",
        "columns 256 to 319 and 384 to 447, of 512 allocated", "Q 2 x 16384, K 4 x 16384, V 4 x 16384", "softmax 176",
        "exponentials 1664", "Binds: exponentials", "no such chip has run it"})
    EXPECT_NE(words.out.find(part), std::string::npos) << part << ": " << words.out;
  const Ended narrow = start("plan attention 1x32x16384x128 --chip B200 --dtype e4m3");
  for (const char* part : {"256x128 s4 o1 tcgen05 fma6", "four in a cell", "Q 2 x 16384, K 4 x 16384, V 4 x 16384",
                           "products 1024, exponentials 1280", "% of 4486"})
    EXPECT_NE(narrow.out.find(part), std::string::npos) << part << ": " << narrow.out;
  const Ended pair = start("plan attention 1x32x16384x192 --value-dim 128 --chip B200");
  for (const char* part : {"512x128 s2 o1 tcgen05 pair fma3 share", "K 2 x 24576, V 2 x 16384",
                           "64 of 128 keys and 64 of 128 columns of values",
                           "read 2048 clocks of shared memory, not 1408, and copy for 1280, not 640"})
    EXPECT_NE(pair.out.find(part), std::string::npos) << part << ": " << pair.out;
  const auto plans = nlohmann::json::parse(start("plan attention 1x32x16384x128 --causal --chip B200 --json").out);
  EXPECT_EQ(plans[0]["clocks"]["products"], 2048);
  EXPECT_EQ(plans[0]["binds"], "chain");
  EXPECT_TRUE(plans[0]["prediction"]);
  EXPECT_GT(plans[0]["share_of_peak"], 0.8);
  EXPECT_LT(plans[0]["share_of_peak"], 1.0);
}

TEST_F(Program, TheLibrarysOwnKernelsAreJudged) {
  Ended ended = start("check attention 1x1x100x64 --causal --seeds 1 --plan '64x64 s2 o1'");
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("attention 1 x 1 x 100 x 64 bf16, causal: 0 errors, 0 warnings, 1 of advice; 3 runs, "
                              "results right in 3"),
                    HasSubstr("plan      64x64 s2 o1")));
  ended = start("check gemm 100x64x128 --seeds 1 --mode random --plan '64x64 s2 g1' --json");
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["plan"], "64x64 s2 c1x1 g1");
  EXPECT_EQ(json["results"]["right"], 1);
  EXPECT_GT(json["executed"]["products"], 0);
  // Blocks that others take over never start, and the run has ended all the same.
  EXPECT_THAT(
      start("check gemm 900x300x64 --seeds 1 --device virtual:sm_100a --plan '128x128 s4 g1 tcgen05 claim'").out,
      HasSubstr("results right in 3"));
  EXPECT_EQ(start("check gemm 100x64x128 --seeds 0").status, 2);
  EXPECT_THAT(start("check gemm 100x64x128 --plan 128x7").err, HasSubstr("impossible"));
}

TEST_F(Program, TheBenchmarkOfAttentionIsAScriptBesideTheProgram) {
  const Ended ended = start("bench attention --help");
  EXPECT_THAT(ended.out + ended.err,
              testing::AnyOf(HasSubstr("warpmill bench attention [--shapes"), HasSubstr("needs PyTorch")));
}
