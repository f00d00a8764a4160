// docs/instructions.md names every public function of the layer and no other; every one is compiled by every_test.
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "compile.hpp"

namespace wm::test {
namespace {

namespace fs = std::filesystem;

// The functions a header declares, as a user writes them after `using namespace wm`: "mbarrier::init".
std::set<std::string> functions_of(const std::string& text) {
  static const std::regex spaces(R"(namespace (?:wm::)?(\w+) \{|\}  // namespace (?:wm::)?(\w+))");
  static const std::regex function(R"(^(?:template <[^\n]*>\s+)?WM_DEVICE [\w:<>* ]*?[ *](\w+)\(|^WM_REPLACE\((\w+),)",
                                   std::regex::multiline);
  std::set<std::string> names;
  std::vector<std::string> open;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, spaces)) {
      if (match[1].matched)
        open.push_back(match[1]);
      else
        open.pop_back();
    } else if (std::regex_search(line, match, function) && (open.empty() || open.back() != "detail")) {
      const std::string name = match[1].matched ? match[1] : match[2];
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
  static const std::regex row(R"(^\| (`[^|]*`) \|)", std::regex::multiline);  // a table row begins with its functions
  static const std::regex name(R"(`(\w+(?:::\w+)?))");
  std::set<std::string> documented;
  for (std::sregex_iterator r(page.begin(), page.end(), row), end; r != end; ++r) {
    const std::string cell = (*r)[1];
    for (std::sregex_iterator n(cell.begin(), cell.end(), name); n != end; ++n) documented.insert((*n)[1]);
  }
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
    EXPECT_TRUE(std::regex_search(sources, std::regex("\\b" + last + "\\b\\s*[<(]")))
        << function << " is not compiled by any test";
  }
}

}  // namespace
}  // namespace wm::test
