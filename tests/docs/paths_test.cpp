// Every file of the repository that a document names is there.
#include <filesystem>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "marked_parts.hpp"

namespace wm::test {
namespace {

namespace fs = std::filesystem;

const fs::path source = WARPMILL_SOURCE;

std::vector<fs::path> documents() {
  std::vector<fs::path> files = {source / "README.md", source / "CONTRIBUTING.md"};
  for (const fs::path folder : {"docs", "bench/results"})
    for (const auto& entry : fs::directory_iterator(source / folder))
      if (entry.path().extension() == ".md") files.push_back(entry.path());
  return files;
}

// A path from the root, in backticks or as a word with the ending of a file.
std::vector<std::string> paths(const std::string& text) {
  static const std::regex path(
      R"((?:^|[\s`])((?:bench|cli|cmake|docs|examples|fuzz|include|kernels|scripts|src|support|tests)/[\w./-]*)(`?))");
  static const std::regex file(R"(.*\.(?:c|h)(?:pp|u|uh)?|.*\.(?:md|json|cmake|ptx|txt))");
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), path), end; i != end; ++i)
    if (const std::string name = (*i)[1]; (*i)[2].length() > 0 || std::regex_match(name, file)) found.push_back(name);
  return found;
}

// [words](file) or [words](file#part), but for addresses elsewhere.
std::vector<std::string> links(const std::string& text) {
  static const std::regex link(R"(\]\(([^)#: ]+)(?:#[^)]*)?\))");
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), link), end; i != end; ++i) found.push_back((*i)[1]);
  return found;
}

TEST(Documents, NameOnlyFilesThatAreThere) {
  std::size_t named = 0;
  for (const fs::path& document : documents()) {
    const std::string text = text_of_file(document);
    for (const std::string& path : paths(text)) {
      ++named;
      EXPECT_TRUE(fs::exists(source / path)) << document << " names " << path;
    }
    for (const std::string& path : links(text)) {
      ++named;
      EXPECT_TRUE(fs::exists(document.parent_path() / path)) << document << " links to " << path;
    }
  }
  EXPECT_GT(named, 100u);
}

}  // namespace
}  // namespace wm::test
