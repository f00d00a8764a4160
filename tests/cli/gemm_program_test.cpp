// Products: gemm, plan, bench and tune, and what they refuse.
#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "pattern.hpp"

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using wm::test::Pattern;

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
           {"plan gemm 67108864x67108864x1", "more than 2147483647 tiles"},
           {"plan gemm 3x3x3 --promote", "promote is for e4m3 and e5m2"},
           {"plan gemm 3x3x3 --batch 2147483648", "'2147483648' is no whole number from 1 to 2147483647"},
           {"bench gemm 3x3x3 --device virtual", "measures a GPU"},
           {"gemm 100000000x100000000x100 --device virtual",
            "and the memory of the virtual GPU is that of this machine"},
           {"plan gemm 3x3x3 --chip foo",
            "nothing is known of a chip 'foo'; there are 'B200', 'NVIDIA H200', 'RTX 5090', 'virtual sm_100a', "},
           {"plan gemm 3x3x3 --dtype e4m3 --chip 'virtual sm_80'", "which has no 8-bit floats"},
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
  const std::string measured = "plan gemm 64x28672x4096 --show 5", modelled = measured + " --chip 'virtual sm_90a'";
  const std::string out = start(measured).out;
  EXPECT_TRUE(Pattern("at best ([0-9.]+) us: \\1 us of device memory").is_in(out)) << out;
  EXPECT_TRUE(Pattern("estimate\n.*taken: measured before, [0-9.]+ us\n").is_in(out)) << out;
  EXPECT_THAT(out, HasSubstr("constants: measured on this chip\n"));
  EXPECT_TRUE(Pattern("estimate\n.*taken: by the model\n").is_in(start(modelled).out));
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
  EXPECT_FALSE(nlohmann::json::parse(start("plan gemm 40x4096x7168 --chip 'virtual sm_80' --json").out)[0]["tuned"]);
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
           {"bench gemm 3x3x3 --plan '64x256 s4 c1x1x4 g1'", "send to the first leave too little shared memory"},
           {"bench gemm 3x3x3 --plan '128x208 s4 c1x1x8'", "do not fit where the stages were"},
           {"bench gemm 3x3x3 --plan '128x24 c1x1x2 exchange'", "tile.n must be 8, or a multiple of 16 up to 256"},
           {"calibrate gemm --out " + missing + "/plans.txt --from " + missing, missing},
           {"calibrate gemm --out " + (folder_ / "plans.txt").string() + " --from " + file, "is no table that"},
           {"calibrate gemm --out " + (folder_ / "plans.txt").string(), "measures a GPU"},
           {"bench gemm 3x3x3 --json " + file + " --svg " + file, "two tables would go to " + file},
           {"bench gemm 3x3x3 --dtype bf16,bf17", "bf17"},
           {"bench gemm 3x3x3 --promote --dtype e4m3,bf16", "promote is for e4m3 and e5m2"},
           {"bench gemm --random 3 --promote --dtype bf16", "promote is for e4m3 and e5m2"},
           {"bench gemm 3x3x3 --promote --plan '128x128 s4 multistage'", "have no clusters and no promotion"},
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

TEST_F(Program, TheRankingIsTheChips) {
  EXPECT_THAT(start("plan gemm 512x512x512").out,
              AllOf(HasSubstr("on 132 multiprocessors of NVIDIA H200"), Not(HasSubstr(" mma"))));
  EXPECT_THAT(start("plan gemm 512x512x512 --chip 'virtual sm_80'").out,
              AllOf(HasSubstr("on 108 multiprocessors of virtual sm_80"), HasSubstr(" mma")));
  EXPECT_THAT(start("plan gemm 512x512x512 --multiprocessors 16").out, HasSubstr("on 16 multiprocessors"));
  folder_.write("plans.txt", "My Chip | bf16 bf16 bf16 | k k | 64x64x64 | 64x32 s4 mma | 5 us\n");
  EXPECT_THAT(start("plan gemm 512x512x512 --chip 'My Chip'").out, HasSubstr(" mma"));
}

// Of a chip that nobody here has.
TEST_F(Program, WhatIsPredictedIsCalledAPredictionAndSaysWhatBinds) {
  const std::string command = "plan gemm 4096x4096x4096 --chip B200 --show 3";
  EXPECT_THAT(start(command).out,
              AllOf(HasSubstr("on 148 multiprocessors of B200"), HasSubstr("pair "), HasSubstr(" products  taken"),
                    HasSubstr("sums of a tile in columns 0 to 255, of the next in 256 to 511, of 512 allocated"),
                    HasSubstr("A prediction from a data sheet's cycles")));
  const auto json = nlohmann::json::parse(start(command + " --json").out);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["binds"], "products");
  EXPECT_EQ(json[0]["tensor_columns"], 512);
  EXPECT_EQ(json[0]["prediction"], true);
}

TEST_F(Program, TuningLeavesNoFolderWhereItCannotRun) {
  const Ended ended = start("tune gemm 3x3x3 --device virtual --out " + (folder_ / "new/deeper/plans.txt").string());
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("tuned by measuring a GPU"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

namespace {

// As bench gemm --json writes it: two plans for each of eight shapes, the second always the faster.
std::string measured_table(std::string_view chip, const char* dtype = "bf16", bool promote = false) {
  auto rows = nlohmann::json::array();
  for (int i = 0; i < 8; ++i)
    for (const auto& [plan, us] : {std::pair{"128x256 s4 c1x1", 20.0}, {"64x64 s4 c1x1 g1", 4.0}})
      rows.push_back({{"m", 64 << i}, {"n", 512}, {"k", 1024}, {"plan", plan}, {"path", "copy engine"}, {"us", us}});
  return nlohmann::json{{{"device", chip},
                         {"multiprocessors", 114},
                         {"dtype", dtype},
                         {"d", "bf16"},
                         {"promote", promote},
                         {"rows", rows}}}
      .dump();
}

}  // namespace

TEST_F(Program, CalibrationGrowsTreesOfPromotedSumsBehindWhatTheTableHas) {
  const auto plans = folder_.write("plans.txt", "Chip | gemm model 8 bits | start 2 | 0.1\n");
  const std::string promoted =
      " --from " + folder_.write("promoted.json", measured_table("Chip", "e4m3", true)).string();
  const std::string plain = " --from " + folder_.write("plain.json", measured_table("Chip", "e4m3")).string();
  // The entry's parts behind the chip: its name, constants, trees, trees of promoted sums.
  const auto entry = [&](const std::string& arguments) {
    const Ended ended = start("calibrate gemm --trees 3 " + arguments);
    EXPECT_EQ(ended.status, 0) << ended.err;
    const auto line = Pattern("Chip \\| gemm model 8 bits \\| ([^|\n]*) \\| ([^|\n]*)( \\| ([^\n]*))?\n")
                          .first(wm::cases::read_text(plans));
    return std::pair(line, ended.err);
  };
  const auto trees = [](const std::string& text) { return std::count(text.begin(), text.end(), ';'); };
  const auto [grown, said] = entry("--promote" + promoted);
  ASSERT_EQ(grown.size(), 5u);
  EXPECT_THAT(grown[1], StartsWith("start 2 cluster_start 0.4798 "));
  EXPECT_EQ(grown[2], "0.1");
  EXPECT_THAT(grown[4], StartsWith("from 64 1024; "));
  EXPECT_EQ(trees(grown[4]), 3);
  const auto again = entry("--promote" + promoted).first;
  EXPECT_EQ(trees(again[4]), 3) << "in the place of those";
  const auto onto = entry("--promote --onto" + promoted).first;
  EXPECT_EQ(trees(onto[4]), 6);
  EXPECT_EQ(onto[1] + onto[2], grown[1] + grown[2]);
  // What they had grown behind changes: they go, and that is said.
  const auto [changed, why] = entry("--dtype e4m3 --onto" + plain);
  EXPECT_THAT(why, HasSubstr("trees of promoted sums had grown behind what has changed, and are left out"));
  EXPECT_EQ(trees(changed[2]), 3);
  EXPECT_EQ(changed[4], "");
  for (const auto& [arguments, words] : {std::pair{"--dtype e4m3" + promoted, "but some with promoted sums: --promote"},
                                         {"--promote" + plain, "but some without promotion: leave --promote out"}})
    EXPECT_THAT(start("calibrate gemm " + arguments).err, HasSubstr(words));
}

TEST_F(Program, CalibrationFitsToTablesAndKeepsTheOtherEntries) {
  const std::string kept = "Chip | bf16 bf16 bf16 | k k | 64x64x64 | 64x32 s4 c1x1 g1 | 5.00 us\n";
  const auto plans = folder_.write("plans.txt", kept);
  const std::string table = folder_.write("table.json", measured_table("Chip")).string();
  const std::string calibrate = "calibrate gemm --steps 200 --from " + table;
  const Ended ended = start(calibrate);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Chip, operands of 16 bits: 16 pairs of shape and plan\n"),
                               HasSubstr("fitted to the others, on those"), HasSubstr("Chip | gemm model 16 bits | ")));
  const auto regrets = Pattern("before +regret ([0-9.]+)%[^\n]*\n +fitted to all +regret ([0-9.]+)%").first(ended.out);
  ASSERT_FALSE(regrets.empty());
  EXPECT_LT(std::stod(regrets[2]), std::stod(regrets[1]));
  const std::string written = wm::cases::read_text(plans);
  EXPECT_THAT(written, AllOf(HasSubstr(kept), HasSubstr("Chip | gemm model 16 bits | ")));
  EXPECT_EQ(start("plan gemm 64x64x64 --chip Chip").status, 0);

  // Behind what is there: the line goes on where it ended.
  const Ended onto = start("calibrate gemm --onto --trees 3 --from " + table);
  EXPECT_EQ(onto.status, 0) << onto.err;
  const auto model_in = [](const std::string& text) { return Pattern("Chip \\| gemm model [^\n]*").first(text).at(0); };
  EXPECT_THAT(wm::cases::read_text(plans), HasSubstr(kept));
  const std::string grown = model_in(wm::cases::read_text(plans)), fitted = model_in(written);
  EXPECT_THAT(grown, StartsWith(fitted));
  EXPECT_EQ(std::count(grown.begin(), grown.end(), ';'), std::count(fitted.begin(), fitted.end(), ';') + 3);
  folder_.write("plans.txt", written);

  const std::string other = folder_.write("other.json", measured_table("Another")).string();
  for (const auto& [arguments, why] :
       {std::pair{calibrate + " --from " + other, "was measured on Another, not on Chip"},
        {calibrate + " --dtype e4m3", "the files hold no products of e4m3"},
        {calibrate + " --promote", "the files hold no products of e4m3 with promoted sums"},
        {calibrate + " --promote --trees 0", "of promoted sums trees are all that is fitted"},
        {calibrate + " --promote --dtype bf16", "promote is for e4m3 and e5m2: --dtype e4m3, not bf16"}}) {
    const Ended refused = start(arguments);
    EXPECT_EQ(refused.status, 2) << arguments;
    EXPECT_THAT(refused.err, HasSubstr(why));
  }
  EXPECT_EQ(wm::cases::read_text(plans), written);
}
