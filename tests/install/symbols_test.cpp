// What the libraries hold and show: the shared one exports the C ABI and nothing else, and neither prints.
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "pattern.hpp"

namespace {

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  FILE* pipe = popen(command.c_str(), "r");
  char line[65536];
  while (pipe && std::fgets(line, sizeof line, pipe)) lines.emplace_back(line, std::string_view(line).find('\n'));
  EXPECT_EQ(pclose(pipe), 0) << command;
  return lines;
}

// The functions that the header of the C ABI declares.
std::set<std::string> declared() {
  std::ifstream file(WARPMILL_SOURCE "/include/warpmill/warpmill.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const wm::test::Pattern declaration("WM_API [^;(]*?(wm_\\w+)\\(");
  std::set<std::string> names;
  for (const wm::test::Match& found : declaration.all(header)) names.insert(found[1]);
  return names;
}

std::set<std::string> exported() {
  std::set<std::string> names;
  for (const std::string& line : lines_of(WARPMILL_NM " --defined-only -D " WARPMILL_SHARED_LIBRARY))
    names.insert(line.substr(line.rfind(' ') + 1));
  return names;
}

}  // namespace

TEST(SharedLibrary, ExportsTheFunctionsOfTheCAbiAndNothingElse) {
  EXPECT_GT(declared().size(), 50u);
  EXPECT_EQ(exported(), declared());
}

// Standard output belongs to the program, with two exceptions: what a kernel prints goes there, as on a GPU, and fmt
// has functions that nobody here calls.
TEST(Library, HasNoWayToPrint) {
  const std::set<std::string> allowed{"virtual_device.cpp.o", "fmt.cpp.o"};
  const wm::test::Pattern printing(
      "^[^:]*:([^:]+):.* U (stdout|stderr|puts|printf|perror|std::(cout|cerr|clog))\\b.*$");
  bool stdout_seen = false;
  for (const std::string& line : lines_of(WARPMILL_NM " -A -C -u " WARPMILL_STATIC_LIBRARY)) {
    const wm::test::Match found = printing.first(line);
    if (found.empty()) continue;
    stdout_seen = true;
    EXPECT_TRUE(allowed.contains(found[1])) << line;
  }
  EXPECT_TRUE(stdout_seen) << "nm shows no member that uses standard output: this test sees nothing";
}
