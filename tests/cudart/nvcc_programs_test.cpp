// Programs that nvcc has built.
#include <fstream>
#include <sstream>

#include "cli/program.hpp"

namespace {

using testing::HasSubstr;

class NvccPrograms : public Program {};

// The README's program, with both runtimes: each line of its report stands there.
TEST_F(NvccPrograms, TheReadmesProgramGivesItsReport) {
  const std::string readme = wm::cases::read_text(std::filesystem::path(WARPMILL_SOURCE) / "README.md");
  const std::string folder = WARPMILL_SOURCE "/";
  for (const std::string runtime : {"static", "shared"}) {
    const std::string name = std::string(WARPMILL_MISSING_FENCE) + "_" + runtime;
    const Ended ended = start("check " + name);
    EXPECT_EQ(ended.status, 1);
    std::istringstream lines(ended.out);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      if (const auto at = line.find(name); at != line.npos) line.replace(at, name.size(), "./missing_fence");
      if (const auto at = line.find(folder); at != line.npos) line.erase(at, folder.size());  // nvcc writes whole paths
      EXPECT_NE(readme.find(line), readme.npos) << runtime << ": " << line;
    }
    EXPECT_GE(count, 8);
  }
}

TEST_F(NvccPrograms, APluginWithAStaticRuntimeIsRedirectedWhenItIsOpened) {
  const std::string driver = WARPMILL_DRIVER_PROGRAM;
  const Ended ended = start("check " + driver + " plugin " WARPMILL_PLUGIN);
  EXPECT_THAT(ended.out, testing::StartsWith("42\n"));
  EXPECT_THAT(ended.out, HasSubstr("add(int*, int): 0 errors"));
  // By its name alone it is found where the program says.
  EXPECT_EQ(start("run " + driver + " plugin test_plugin.so").out, "42\n");
  const std::string stripped = (folder_ / "stripped.so").string();
  ASSERT_EQ(std::system(("strip -o " + stripped + " " WARPMILL_PLUGIN).c_str()), 0);
  EXPECT_THAT(start("run " + driver + " plugin " + stripped).err,
              HasSubstr("stripped.so has CUDA's static runtime inside and no symbol table that says where: rebuild it "
                        "with nvcc -cudart shared"));
}

TEST_F(NvccPrograms, AStrippedStaticRuntimeIsToldHowToBeBuilt) {
  const std::string stripped = (folder_ / "stripped").string();
  ASSERT_EQ(std::system(("strip -o " + stripped + " " WARPMILL_MISSING_FENCE "_static").c_str()), 0);
  EXPECT_THAT(start("run " + stripped).err, HasSubstr("rebuild it with nvcc -cudart shared"));
}

}  // namespace
