// docs/instructions.md names every public function of the layer and no other; every one is compiled by every_test.
#include <set>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "compile.hpp"
#include "pattern.hpp"

namespace wm::test {
namespace {

namespace fs = std::filesystem;

// The functions a header declares, as a user writes them after `using namespace wm`: "mbarrier::init".
std::set<std::string> functions_of(const std::string& text) {
  static const Pattern spaces(R"(namespace (?:wm::)?(\w+) \{|\}  // namespace (?:wm::)?(\w+))");
  static const Pattern function(R"(^(?:template <[^\n]*>\s+)?WM_DEVICE [\w:<>* ]*?[ *](\w+)\(|^WM_REPLACE\((\w+),)");
  std::set<std::string> names;
  std::vector<std::string> open;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const Match space = spaces.first(line); !space.empty()) {
      if (!space[1].empty())
        open.push_back(space[1]);
      else
        open.pop_back();
    } else if (const Match match = function.first(line); !match.empty() && (open.empty() || open.back() != "detail")) {
      const std::string name = match[1].empty() ? match[2] : match[1];
      names.insert(open.empty() || open.back() == "wm" ? name : open.back() + "::" + name);
    }
  }
  return names;
}

std::set<std::string> layer_functions() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(source_folder / "kernels/warpmill/ptx"))
    names.merge(functions_of(read_text(entry.path())));
  return names;
}

TEST(Documentation, NamesEveryFunctionOfTheLayerAndNoOther) {
  const std::string page = read_text(source_folder / "docs/instructions.md");
  static const Pattern row(R"(^\| (`[^|]*`) \|)");  // a table row begins with its functions
  static const Pattern name(R"(`(\w+(?:::\w+)?))");
  std::set<std::string> documented;
  for (const Match& cell : row.all(page))
    for (const Match& documented_name : name.all(cell[1])) documented.insert(documented_name[1]);
  const std::set<std::string> functions = layer_functions();
  ASSERT_GT(functions.size(), 100u);
  for (const std::string& function : functions)
    EXPECT_TRUE(documented.contains(function)) << function << " is not in docs/instructions.md";
  for (const std::string& function : documented)
    EXPECT_TRUE(functions.contains(function)) << function << " is in docs/instructions.md but not in the layer";
}

TEST(Documentation, EveryFunctionIsAmongThoseCompiled) {
  std::string sources;
  for (const auto& entry : fs::directory_iterator(device_folder / "every")) sources += read_text(entry.path());
  for (const std::string& function : layer_functions()) {
    const std::string last = function.substr(function.rfind(':') + 1);
    EXPECT_TRUE(Pattern("\\b" + last + "\\b\\s*[<(]").is_in(sources)) << function << " is not compiled by any test";
  }
}

}  // namespace
}  // namespace wm::test
