// The ALU variants themselves: legal PTX, unique names, inputs that fill the blocks.
#include "golden/alu/variant.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

namespace wm::golden {
namespace {

TEST(AluVariants, NamesAreUniqueAndInputsAreFixed) {
  std::set<std::string> names;
  for (const Variant& variant : every_variant()) {
    EXPECT_TRUE(names.insert(variant.name).second) << variant.name;
    EXPECT_EQ(variant.count() % 128, 0u) << variant.name;
    for (std::size_t operand = 0; operand < variant.inputs.size(); ++operand)
      EXPECT_EQ(variant.input(operand, 777), variant.input(operand, 777));
  }
  EXPECT_GT(names.size(), 600u);
}

TEST(AluVariants, AreLegalPtx) {
  const char* home = std::getenv("CUDA_HOME");
  const std::filesystem::path ptxas = std::filesystem::path(home ? home : "/usr/local/cuda") / "bin/ptxas";
  if (!std::filesystem::exists(ptxas)) GTEST_SKIP() << "no ptxas";
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "golden_alu.ptx";
  std::ofstream(file) << module_of(every_variant());
  const std::string command = ptxas.string() + " -arch=sm_90a -O1 --output-file /dev/null " + file.string();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace wm::golden
