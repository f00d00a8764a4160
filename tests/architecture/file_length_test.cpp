// A source file has one subject and can be read in one go: none is longer than 450 lines.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wm {
namespace {

namespace fs = std::filesystem;

constexpr long most_lines = 450;
const fs::path root = fs::path(WARPMILL_TEST_DATA).parent_path().parent_path();

// Not what others wrote or a program recorded: PTX, goldens, documents. A script has no ending.
bool is_source(const fs::path& file) {
  constexpr std::array endings = {".c", ".cpp", ".hpp", ".h", ".cu", ".cuh", ".inc", ".py", ".cmake", ""};
  return std::find(endings.begin(), endings.end(), file.extension()) != endings.end() ||
         file.filename() == "CMakeLists.txt";
}

long lines_of(const fs::path& file) {
  std::ifstream text(file, std::ios::binary);
  return std::count(std::istreambuf_iterator<char>(text), {}, '\n');
}

TEST(FileLength, NoSourceFileIsLongerThan450Lines) {
  std::size_t seen = 0;
  std::string long_ones;
  for (const char* top : {"src", "include", "kernels", "cli", "support", "bench", "tests", "scripts", "examples",
                          "fuzz", "python", "cmake"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      ++seen;
      if (const long lines = lines_of(entry.path()); lines > most_lines)
        long_ones += fmt::format("{}: {} lines; look for its second subject\n",
                                 fs::relative(entry.path(), root).generic_string(), lines);
    }
  }
  EXPECT_EQ(long_ones, "");
  EXPECT_GT(seen, 400u);
}

}  // namespace
}  // namespace wm
