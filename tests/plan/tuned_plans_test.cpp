// The table of measured plans: its text, what is wrong with a line, who serves a shape, and files that cannot be read.
#include "plan/tuned_plans.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/gemm_choice.hpp"
#include "plan/gemm_plan_text.hpp"
#include "support/temporary_folder.hpp"

using namespace wm;
using namespace wm::plan;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

constexpr const char* table = R"(# a comment

Chip | bf16 bf16 bf16 | k k | 4096x4096x4096 | 128x256 s4 c2x1 b8 | 179.1 us
Chip  |  e4m3 e5m2 bf16|mn k threads|64x28672x4096 | 64x64 s8 c1x1 g1 split exchange | 30.5 us
Chip | tf32 tf32 f32 | k mn | 16x16x0 | 64x32 s4 c1x1 g1 | 3 us
)";

TunedPlans read(std::string_view text) {
  std::vector<std::string> problems;
  const TunedPlans plans = TunedPlans::from_text(text, "file", problems);
  EXPECT_THAT(problems, IsEmpty());
  return plans;
}

std::vector<std::string> problems_of(std::string_view text) {
  std::vector<std::string> problems;
  TunedPlans::from_text(text, "file", problems);
  return problems;
}

std::string entry(std::int64_t m, std::string_view plan) {
  return "Chip | bf16 bf16 bf16 | k k | " + std::to_string(m) + "x512x256 | " + std::string(plan) + " | 5 us\n";
}

std::string found(const TunedPlans& plans, std::int64_t m, const GemmKind& kind = {}, std::string_view chip = "Chip") {
  const TunedPlan* plan = plans.find(key_of(chip, kind, {m, 512, 256}));
  return plan ? plan->plan : "";
}

}  // namespace

TEST(TunedPlans, ReadsAndWritesTheSame) {
  const TunedPlans plans = read(table);
  ASSERT_EQ(plans.entries().size(), 3u);
  EXPECT_EQ(plans.text(), table);  // as it was, comments and all
  TunedPlans copy;
  for (const TunedPlan& plan : plans.entries()) copy.set(plan);
  const TunedPlans again = read(copy.text());
  for (std::size_t i = 0; i < 3; ++i) {
    const TunedPlan before = plans.entries()[i], after = again.entries()[i];
    EXPECT_EQ(before.key, after.key);
    EXPECT_EQ(before.plan, after.plan);
    EXPECT_EQ(before.us, after.us);
  }
  const TunedKey key = plans.entries()[1].key;
  EXPECT_EQ(key, (TunedKey{"Chip", DType::e4m3, DType::e5m2, DType::bf16, Major::mn, Major::k, true, 64, 28672, 4096}));
}

TEST(TunedPlans, AnEntryTakesThePlaceOfItsPredecessor) {
  TunedPlans plans = read("# above\n" + entry(64, "64x64 c1x1 g1") + "# between\n" + entry(128, "128x64 c1x1"));
  plans.set(TunedPlan{key_of("Chip", GemmKind{}, {64, 512, 256}), "64x32 s4 c1x1 g1 b2", 4.25});
  EXPECT_EQ(plans.text(),
            "# above\nChip | bf16 bf16 bf16 | k k | 64x512x256 | 64x32 s4 c1x1 g1 b2 | 4.25 us\n# between\n" +
                entry(128, "128x64 c1x1"));
}

TEST(TunedPlans, SaysWhatIsWrongWithALineAndKeepsTheOthers) {
  std::vector<std::string> problems;
  const TunedPlans plans =
      TunedPlans::from_text(entry(64, "64x64 c1x1 g1") + "half a line\n" + entry(128, "128x64 c1x1"), "f", problems);
  EXPECT_THAT(problems, ElementsAre(testing::StartsWith("f:2: an entry has 6 parts")));
  EXPECT_EQ(plans.entries().size(), 2u);
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {"Chip | bf16 bf16 | k k | 1x1x1 | 64x64 g1 | 1 us", "three types"},
           {"Chip | bf16 bf16 bf17 | k k | 1x1x1 | 64x64 g1 | 1 us", "bf17"},
           {"Chip | bf16 bf16 bf16 | k m | 1x1x1 | 64x64 g1 | 1 us", "'m' is no major-ness"},
           {"Chip | bf16 bf16 bf16 | k k k | 1x1x1 | 64x64 g1 | 1 us", "'k k k' is not the major-ness"},
           {"Chip | bf16 bf16 bf16 | k k | 1x1 | 64x64 g1 | 1 us", "'1x1' is no shape"},
           {"Chip | bf16 bf16 bf16 | k k | 1x1x-1 | 64x64 g1 | 1 us", "'1x1x-1' is no shape"},
           {"Chip | bf16 bf16 bf16 | k k | 1x1x1 | fast | 1 us", "'fast' is no part of a plan"},
           {"Chip | bf16 bf16 bf16 | k k | 1x1x1 | 64x64 g1 | soon", "'soon' is no time"},
           {"Chip | bf16 bf16 bf16 | k k | 1x1x1 | 64x64 g1 | -1 us", "'-1 us' is no time"},
           {" | bf16 bf16 bf16 | k k | 1x1x1 | 64x64 g1 | 1 us", "6 parts"}})
    EXPECT_THAT(problems_of(line), ElementsAre(HasSubstr(why))) << line;
}

TEST(TunedPlans, TheFirstEntryOfAShapeServesIt) {
  const TunedPlans plans = read(entry(4096, "128x256 c2x1") + entry(4096, "256x128 c2x1"));
  EXPECT_EQ(found(plans, 4096), "128x256 c2x1");
}

TEST(TunedPlans, AnEntryServesItsShapeChipTypesAndMajorness) {
  const TunedPlans plans = read(entry(64, "64x64 c1x1 g1"));
  EXPECT_EQ(found(plans, 64), "64x64 c1x1 g1");
  EXPECT_EQ(found(plans, 64, {}, "Other chip"), "");
  EXPECT_EQ(found(plans, 64, {.d = DType::f32}), "");
  EXPECT_EQ(found(plans, 64, {.a = DType::f16, .b = DType::f16}), "");
  EXPECT_EQ(found(plans, 64, {.a_major = Major::mn}), "");
  EXPECT_EQ(found(plans, 64, {.a_producer = Producer::copies8, .b_producer = Producer::copies8}), "");
  EXPECT_EQ(plans.find(key_of("Chip", GemmKind{}, {64, 512, 512})), nullptr);
  EXPECT_EQ(found(plans, 64, {.epilogue = {.column_bias = true}}), "64x64 c1x1 g1");
}

TEST(TunedPlans, FewRowsAreServedByTheNearestEntryOfTheSamePowerOfTwo) {
  const TunedPlans plans = read(entry(64, "64x64 c1x1 g1") + entry(48, "64x48 c1x1 g1") + entry(4096, "128x256 c2x1"));
  EXPECT_EQ(found(plans, 48), "64x48 c1x1 g1");
  EXPECT_EQ(found(plans, 33), "64x48 c1x1 g1");
  EXPECT_EQ(found(plans, 60), "64x64 c1x1 g1");
  EXPECT_EQ(found(plans, 32), "");
  EXPECT_EQ(found(plans, 65), "");
  EXPECT_EQ(found(plans, 4000), "");  // many rows: waves count, and the model knows them
}

TEST(GemmChoice, TakesTheTableThenTheModel) {
  const ChipRates rates;
  const GemmShape shape{4096, 512, 256};
  const TunedPlans plans = read(entry(4096, "128x32 s4 c1x1 b3"));
  const GemmChoice tuned = *choose({}, shape, rates, "Chip", plans);
  EXPECT_TRUE(tuned.tuned);
  EXPECT_EQ(text_of(tuned.plan), "128x32 s4 c1x1 b3");
  EXPECT_EQ(schedule_of(tuned.plan, shape, rates).work.tiles.band, 3u);
  const auto by_model = [&](const GemmKind& kind, const GemmShape& asked, const TunedPlans& from) {
    const GemmChoice choice = *choose(kind, asked, rates, "Chip", from);
    EXPECT_EQ(choice.plan, rank(kind, asked, rates).front().plan);
    return !choice.tuned;
  };
  EXPECT_TRUE(by_model({}, shape, {}));
  EXPECT_TRUE(by_model({}, {4096, 512, 256, 2}, plans));                   // a batch
  EXPECT_TRUE(by_model({.d_columns = true}, shape, plans));                // the other way round
  EXPECT_TRUE(by_model({}, shape, read(entry(4096, "256x256 s2 c1x1"))));  // impossible
}

TEST(TunedPlans, TheShippedTableHoldsPossiblePlansOnly) {
  const TunedPlans plans = read(shipped_plans_text());
  for (const TunedPlan& tuned : plans.entries()) {
    EXPECT_EQ(plan_from_text(tuned.plan, tuned.key.kind()).problem(), nullptr) << tuned.plan;
  }
}

TEST(TunedPlans, AMissingFileIsAnEmptyTableAndAnUnreadableOneAProblem) {
  const TemporaryFolder folder;
  std::vector<std::string> problems;
  EXPECT_THAT(read_plans(folder / "none.txt", problems).entries(), IsEmpty());
  EXPECT_THAT(read_plans(folder / "none/none.txt", problems).entries(), IsEmpty());
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(read_plans(folder.path(), problems).entries(), IsEmpty());
  EXPECT_THAT(problems, ElementsAre(HasSubstr("it is a folder, not a file")));
  std::filesystem::create_symlink(folder / "loop", folder / "loop");
  problems.clear();
  EXPECT_THAT(read_plans(folder / "loop/plans.txt", problems).entries(), IsEmpty());
  EXPECT_THAT(problems, ElementsAre(HasSubstr("cannot open")));
  problems.clear();
  EXPECT_EQ(read_plans(folder.write("plans.txt", table), problems).entries().size(), 3u);
  EXPECT_THAT(problems, IsEmpty());
}

TEST(TunedPlans, TheUsersFileIsWhereTheEnvironmentSays) {
  const auto file_with = [](const char* own, const char* xdg, const char* home) {
    const auto set = [](const char* name, const char* value) { *value ? setenv(name, value, 1) : unsetenv(name); };
    set("WARPMILL_PLANS", own), set("XDG_CONFIG_HOME", xdg), set("HOME", home);
    return user_plans_file();
  };
  EXPECT_EQ(file_with("/own.txt", "/xdg", "/home"), "/own.txt");
  EXPECT_EQ(file_with("", "/xdg", "/home"), "/xdg/warpmill/plans.txt");
  EXPECT_EQ(file_with("", "not/absolute", "/home"), "/home/.config/warpmill/plans.txt");
  EXPECT_EQ(file_with("", "", "/home"), "/home/.config/warpmill/plans.txt");
}

TEST(TunedPlans, HoldTheRankingsConstantsOfAChip) {
  const TunedPlans plans = read("Chip | gemm model 8 bits | start 2.5 kept 40\n");
  EXPECT_EQ(plans.find(TunedModelKey{"Chip", 16}), nullptr);
  const TunedModel* const found = plans.find(TunedModelKey{"Chip", 8});
  ASSERT_NE(found, nullptr);
  GemmModel expected;
  expected.start = 2.5, expected.kept = 40;
  EXPECT_TRUE(found->model.has_the_constants_of(expected));  // what is left out is an H200's of 16 bits
  EXPECT_EQ(found->model.trees, nullptr);
  TunedPlans copy;
  copy.set(*found);
  EXPECT_TRUE(read(copy.text()).find(found->key)->model.has_the_constants_of(expected));

  EXPECT_THAT(problems_of("Chip | gemm model 12 bits | start 1"), ElementsAre(HasSubstr("8, 16 or 32")));
  EXPECT_THAT(problems_of("Chip | gemm model 8 bits"), ElementsAre(HasSubstr("3 to 5 parts")));
  EXPECT_THAT(problems_of("Chip | gemm model 8 bits | begin 1"), ElementsAre(HasSubstr("no constant 'begin'")));
  EXPECT_THAT(problems_of("Chip | gemm model 8 bits | step_exponent 0.5"), ElementsAre(HasSubstr("no number from 1")));
  EXPECT_THAT(problems_of("Chip | gemm model 8 bits |"), ElementsAre(HasSubstr("no constants")));
  for (const char* value : {"", "0", "-1", "x", "inf", "nan"})
    EXPECT_THAT(problems_of(std::string("Chip | gemm model 8 bits | start ") + value),
                ElementsAre(HasSubstr("no number above 0")));
}

TEST(TunedPlans, HoldTheTreesThatCorrectTheRanking) {
  const char* const entry =
      "Chip | gemm model 16 bits | start 2 | blocks 60.5 -0.02 tile_columns 88 0.01 0.03; 0.1; k 64 steps 3 1 2 3\n";
  const TunedPlans plans = read(entry);
  const TunedModel* const found = plans.find(TunedModelKey{"Chip", 16});
  ASSERT_NE(found, nullptr);
  ASSERT_NE(found->model.trees, nullptr);
  ASSERT_EQ(found->model.trees->trees.size(), 3u);
  const auto trait = [](std::string_view name) {
    return std::find(std::begin(gemm_trait_names), std::end(gemm_trait_names), name) - std::begin(gemm_trait_names);
  };
  const auto log_factor = [&](double blocks, double columns, double k, double steps) {
    GemmTraits traits{};
    traits[trait("blocks")] = blocks, traits[trait("tile_columns")] = columns;
    traits[trait("k")] = k, traits[trait("steps")] = steps;
    return std::log(found->model.trees->factor(traits));
  };
  EXPECT_NEAR(log_factor(60, 256, 63, 2), -0.02 + 0.1 + 1, 1e-9);
  EXPECT_NEAR(log_factor(61, 87, 63, 3), 0.01 + 0.1 + 2, 1e-9);  // what equals the limit is not less
  EXPECT_NEAR(log_factor(61, 88, 64, 0), 0.03 + 0.1 + 3, 1e-9);
  TunedPlans copy;
  copy.set(*found);
  EXPECT_EQ(read(copy.text()).find(found->key)->model.trees->trees[2].text(), "k 64 steps 3 1 2 3");

  const auto problem = [&](const char* trees) {
    return problems_of(std::string("Chip | gemm model 16 bits | start 2 | ") + trees);
  };
  EXPECT_THAT(problem("blocks 60"), ElementsAre(HasSubstr("ends before its last answer")));
  EXPECT_THAT(problem("blocks 60 1"), ElementsAre(HasSubstr("ends before its last answer")));
  EXPECT_THAT(problem("blocks 60 1 2 3"), ElementsAre(HasSubstr("ends before '3'")));
  EXPECT_THAT(problem("colour 60 1 2"), ElementsAre(HasSubstr("'colour'")));
  EXPECT_THAT(problem("blocks x 1 2"), ElementsAre(HasSubstr("'x'")));
  EXPECT_THAT(problem("0.1; ; 0.2"), ElementsAre(HasSubstr("ends before")));
  EXPECT_THAT(problem("nan"), ElementsAre(HasSubstr("'nan'")));
}

// Of promoted sums they come behind the others, which they leave as they are; with them or alone.
TEST(TunedPlans, HoldTheTreesOfPromotedSums) {
  for (const char* const others : {"0.1; 0.2", ""}) {
    const TunedPlans plans =
        read(std::string("Chip | gemm model 8 bits | start 2 | ") + others + " | from 100 300; 0.3; 0.4\n");
    const TunedModel* const found = plans.find(TunedModelKey{"Chip", 8});
    ASSERT_NE(found, nullptr);
    const double behind = *others ? 0.3 : 0;
    const auto log_factor = [&](bool promote, const GemmShape& shape) {
      return std::log(factor_of(found->model, {.promote = promote}, shape, {}));
    };
    const GemmShape least{200, 100, 300};
    EXPECT_NEAR(log_factor(false, least), behind, 1e-9);
    EXPECT_NEAR(log_factor(true, least), behind + 0.7, 1e-9);
    for (const GemmShape& smaller : {GemmShape{99, 200, 300}, {200, 99, 300}, {200, 100, 299}})
      EXPECT_NEAR(log_factor(true, smaller), behind, 1e-9);
    TunedPlans copy;
    copy.set(*found);
    const GemmModel again = read(copy.text()).find(found->key)->model;
    EXPECT_EQ(again.trees != nullptr, *others != 0);
    ASSERT_NE(again.promoted, nullptr);
    EXPECT_EQ(again.promoted->trees[1].text(), "0.4");
    EXPECT_EQ(again.promoted->least_side, 100);
    EXPECT_EQ(again.promoted->least_k, 300);
  }
  EXPECT_THAT(problems_of("Chip | gemm model 16 bits | start 2 | 0.1 | 0.2"), ElementsAre(HasSubstr("8 bits alone")));
  EXPECT_THAT(problems_of("Chip | gemm model 8 bits | start 2 | 0.1 | "), ElementsAre(HasSubstr("ends before")));
  for (const char* const least : {"from 100", "from 100 x", "from -1 100", "from 1 2 3"})
    EXPECT_THAT(problems_of(std::string("Chip | gemm model 8 bits | start 2 | 0.1 | ") + least + "; 0.2"),
                ElementsAre(HasSubstr("as in 'from 1040 4096'")));
}

// The header's constants are the table's: those of an H200 and 16 bits.
TEST(TunedPlans, ShipTheConstantsThatTheModelBeginsWith) {
  const TunedPlans shipped = read(shipped_plans_text());
  ASSERT_NE(shipped.find(TunedModelKey{"NVIDIA H200", 16}), nullptr);
  EXPECT_TRUE(shipped.find(TunedModelKey{"NVIDIA H200", 16})->model.has_the_constants_of({}));
  ASSERT_NE(shipped.find(TunedModelKey{"NVIDIA H200", 8}), nullptr);
  EXPECT_FALSE(shipped.find(TunedModelKey{"NVIDIA H200", 8})->model.has_the_constants_of({}));
  for (const int bits : {8, 16}) {
    const auto& trees = shipped.find(TunedModelKey{"NVIDIA H200", bits})->model.trees;
    ASSERT_NE(trees, nullptr);
    EXPECT_GE(trees->trees.size(), 100u);
  }
  const auto& promoted = shipped.find(TunedModelKey{"NVIDIA H200", 8})->model.promoted;
  ASSERT_NE(promoted, nullptr);
  EXPECT_GE(promoted->least_side, 1024);
}

TEST(ChipRates, HaveTheConstantsOfTheChipOrOfAnH200) {
  const DeviceInfo hopper = Device::open("virtual:sm_90a").info();
  const GemmModel of_8_bits = read(shipped_plans_text()).find(TunedModelKey{"NVIDIA H200", 8})->model;
  for (const char* chip : {"NVIDIA H200", "NVIDIA H100 PCIe"}) {
    const GemmModel known = rates_of(hopper, chip).gemm.of_8_bits;
    EXPECT_TRUE(known.has_the_constants_of(of_8_bits));
    EXPECT_EQ(known.trees != nullptr, chip == std::string_view("NVIDIA H200"));
    EXPECT_EQ(known.promoted != nullptr, chip == std::string_view("NVIDIA H200"));
  }
  EXPECT_TRUE(rates_of(hopper).gemm.of_16_bits.has_the_constants_of({}));
}
