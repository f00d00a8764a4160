// The judge's corpus is valid code: every kernel, wrong, repaired or clean, passes the compiler for its chip.
#include "corpus.hpp"

#include <gtest/gtest.h>

#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

namespace wm::judge {
namespace {

void expect_compiles(const std::filesystem::path& folder, const std::string& name, bool repaired) {
  jit::Options options;
  const std::string description = read_text(folder / (name + ".json"));
  options.arch = Architecture::parse("sm_90a");
  for (const char* chip : {"sm_100a", "sm_120a"})
    if (description.find(chip) != std::string::npos) options.arch = Architecture::parse(chip);
  options.include_folders = {folder};
  if (repaired) options.defines["REPAIRED"] = "1";
  try {
    const auto program = jit::compile({name + ".cu", read_text(folder / (name + ".cu"))}, options);
    EXPECT_FALSE(program.cubin.empty()) << name;
  } catch (const Error& error) {
    ADD_FAILURE() << name << (repaired ? " (repaired)" : "") << ": " << error.what();
  }
}

TEST(Corpus, PlantedBugsAndTheirRepairsCompile) {
  for (const auto& bug : planted_bugs()) {
    expect_compiles(corpus_folder, bug.name, /*repaired=*/false);
    expect_compiles(corpus_folder, bug.name, /*repaired=*/true);
  }
}

TEST(Corpus, CleanKernelsCompile) {
  const auto names = clean_kernels();
  EXPECT_GE(names.size(), 12u);
  for (const auto& name : names) expect_compiles(clean_folder, name, /*repaired=*/false);
}

TEST(Corpus, EveryPlantedBugHasItsCaseItsRepairAndItsMark) {
  const auto bugs = planted_bugs();
  EXPECT_GE(bugs.size(), 48u);
  for (const auto& bug : bugs) {
    EXPECT_TRUE(bug.marked.contains("first")) << bug.name;
    EXPECT_TRUE(std::filesystem::exists(corpus_folder / (bug.name + ".json"))) << bug.name;
    EXPECT_NE(read_text(corpus_folder / (bug.name + ".cu")).find("REPAIRED"), std::string::npos) << bug.name;
  }
}

}  // namespace
}  // namespace wm::judge
