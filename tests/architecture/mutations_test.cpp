// The table of mutations keeps up with the code: scripts/mutate, which takes half an hour, finds every line in its
// place.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wm {
namespace {

namespace fs = std::filesystem;

const fs::path root = fs::path(WARPMILL_TEST_DATA).parent_path().parent_path();

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto first = text.find_first_not_of(blanks);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream text(file, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.emplace_back(trimmed(line));
  return lines;
}

using Table = std::vector<std::map<std::string, std::string>>;  // of each entry, what stands at its keys

// As much of TOML as the table needs: a key and a text a line, in one of its kinds of quotes, with no escapes.
Table mutations(const std::vector<std::string>& lines) {
  Table table;
  for (const std::string& line : lines) {
    if (line == "[[mutation]]") table.emplace_back();
    const auto equals = line.find(" = ");
    if (table.empty() || equals == line.npos || line.starts_with("#")) continue;
    const std::string text = line.substr(equals + 3);
    const std::size_t quotes = text.starts_with("'''") ? 3 : 1;
    if (text.front() == '"' && text.find('\\') != text.npos) ADD_FAILURE() << "an escape: " << line;
    table.back()[line.substr(0, equals)] = text.substr(quotes, text.size() - 2 * quotes);
  }
  return table;
}

// What scripts/mutate would stop at; nothing where there is nothing.
std::string refusal(const std::map<std::string, std::string>& entry) {
  for (const char* key : {"name", "file", "line", "to", "tests"})
    if (!entry.contains(key)) return fmt::format("an entry without `{}`", key);
  const std::string &name = entry.at("name"), &file = entry.at("file"), &line = entry.at("line");
  if (line == entry.at("to")) return fmt::format("{}: it changes nothing", name);
  const std::vector<std::string> lines = lines_of(root / file);
  const auto places = std::count(lines.begin(), lines.end(), line);
  return places == 1 ? "" : fmt::format("{}: {} has this line {} times, not once: {}", name, file, places, line);
}

TEST(Mutations, ChangeALineThatIsThereOnce) {
  const Table table = mutations(lines_of(root / "tests/mutations.toml"));
  EXPECT_GT(table.size(), 240u);
  std::string wrong;
  std::set<std::string> names;
  for (const auto& entry : table) {
    if (const std::string what = refusal(entry); !what.empty()) wrong += what + "\n";
    if (entry.contains("name") && !names.insert(entry.at("name")).second) wrong += entry.at("name") + ": twice\n";
  }
  EXPECT_EQ(wrong, "");
}

TEST(Mutations, ThatChangeNoLineAreNamedWithIt) {
  const Table table =
      mutations({"[environment]", "A = \"1\"", "[[mutation]]", "name = '''a fence's reach'''",
                 "file = 'tests/mutations.toml'", "line = \"[[no mutation]]\"", "to = ''", "tests = ['test_judge']"});
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(refusal(table[0]),
            "a fence's reach: tests/mutations.toml has this line 0 times, not once: [[no mutation]]");
}

}  // namespace
}  // namespace wm
