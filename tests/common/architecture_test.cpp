// Architecture names: read, written, refused, and which code runs on which.
#include "warpmill/architecture.hpp"

#include <gtest/gtest.h>

#include "warpmill/error.hpp"

using wm::Architecture;

TEST(Architecture, ReadsAndWritesItsName) {
  for (const char* name : {"sm_80", "sm_90", "sm_90a", "sm_100a", "sm_100f", "sm_120a", "sm_120f"})
    EXPECT_EQ(Architecture::parse(name).name(), name);
  EXPECT_EQ(Architecture::parse("compute_90a").name(), "sm_90a");
}

TEST(Architecture, RefusesWhatIsNone) {
  for (const char* text : {"", "sm_", "90a", "sm_9", "sm_90b", "sm_90aa", "sm_99999", "sm_90f", "sm_100af", "cuda"})
    EXPECT_THROW(Architecture::parse(text), wm::Error) << text;
}

TEST(Architecture, RunsCodeOfItsOwnFamilyOnly) {
  const auto hopper = Architecture::parse("sm_90a");
  EXPECT_TRUE(hopper.runs(Architecture::parse("sm_90a")));
  EXPECT_TRUE(hopper.runs(Architecture::parse("sm_90")));
  EXPECT_FALSE(hopper.runs(Architecture::parse("sm_80")));
  EXPECT_FALSE(hopper.runs(Architecture::parse("sm_100a")));
  EXPECT_TRUE(Architecture::parse("sm_86").runs(Architecture::parse("sm_80")));
  EXPECT_FALSE(Architecture::parse("sm_80").runs(Architecture::parse("sm_86")));
}

TEST(Architecture, RunsPtxOfEveryOlderPlainArchitecture) {
  const auto hopper = Architecture::parse("sm_90a");
  for (const char* target : {"sm_75", "sm_80", "sm_90", "sm_90a"})
    EXPECT_TRUE(hopper.runs_ptx(Architecture::parse(target))) << target;
  EXPECT_FALSE(hopper.runs_ptx(Architecture::parse("sm_100")));
  EXPECT_FALSE(Architecture::parse("sm_100a").runs_ptx(hopper));
}

TEST(Architecture, RunsAnFTargetOnItsFamilyAndAnATargetOnItsChipAlone) {
  const auto b200 = Architecture::parse("sm_100a"), b300 = Architecture::parse("sm_103a"),
             rtx = Architecture::parse("sm_120a");
  const auto family = Architecture::parse("sm_100f");
  for (const auto& chip : {b200, b300}) {
    EXPECT_TRUE(chip.runs(family) && chip.runs_ptx(family)) << chip.name();
    EXPECT_TRUE(chip.runs(Architecture::parse("sm_100"))) << chip.name();
  }
  EXPECT_FALSE(b300.runs(b200) || b300.runs_ptx(b200));
  EXPECT_FALSE(b200.runs(Architecture::parse("sm_103f")));
  EXPECT_FALSE(rtx.runs(family) || rtx.runs_ptx(family));
  EXPECT_FALSE(Architecture::parse("sm_100").runs(family));
  EXPECT_TRUE(b200.runs_ptx(Architecture::parse("sm_90")));
  EXPECT_FALSE(b200.runs_ptx(Architecture::parse("sm_90a")));
}
