// Every file of the repository that a document names is there.
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "marked_parts.hpp"
#include "pattern.hpp"

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
  static const Pattern path(
      R"((?:^|[\s`])((?:bench|cli|cmake|docs|examples|fuzz|include|kernels|scripts|src|support|tests)/[\w./-]*)(`?))");
  static const Pattern file(R"(.*\.(?:c|h)(?:pp|u|uh)?|.*\.(?:md|json|cmake|ptx|txt))");
  std::vector<std::string> found;
  for (const Match& match : path.all(text))
    if (!match[2].empty() || file.is_all_of(match[1])) found.push_back(match[1]);
  return found;
}

// [words](file) or [words](file#part), but for addresses elsewhere.
std::vector<std::string> links(const std::string& text) {
  static const Pattern link(R"(\]\(([^)#: ]+)(?:#[^)]*)?\))");
  std::vector<std::string> found;
  for (const Match& match : link.all(text)) found.push_back(match[1]);
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
