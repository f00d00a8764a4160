// Documents with parts that come from elsewhere: after a line `<!-- words -->` stands, indented or as a table, what the
// words say. Tests compare; WARPMILL_UPDATE_DOCS=1 writes the document anew instead.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace wm::test {

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// As a part of a document: code.
inline std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result, line;
  while (std::getline(lines, line)) result.append(line.empty() ? 0 : 4, ' ').append(line).append("\n");
  while (result.ends_with("\n\n")) result.pop_back();
  return result;
}

// The words of a line `<!-- words -->`.
inline std::vector<std::string> words_of_mark(const std::string& line) {
  if (!line.starts_with("<!-- ") || !line.ends_with(" -->")) return {};
  std::istringstream words(line.substr(5, line.size() - 9));
  return {std::istream_iterator<std::string>(words), {}};
}

// What stands after a mark; nothing where it marks something else.
using PartOf = std::function<std::optional<std::string>(const std::vector<std::string>& words)>;

inline void expect_parts(const std::filesystem::path& document, const PartOf& part_of) {
  const std::string now = text_of_file(document);
  std::istringstream lines(now);
  std::string right, line;
  bool skipping = false;
  while (std::getline(lines, line)) {
    if (skipping && (line.empty() || line.starts_with("    ") || line.starts_with("|"))) continue;
    skipping = false;
    right += line + "\n";
    const auto words = words_of_mark(line);
    if (words.empty()) continue;
    if (const auto part = part_of(words)) {
      right.append("\n").append(*part).append("\n");
      skipping = true;
    }
  }
  while (right.ends_with("\n\n")) right.pop_back();
  if (std::getenv("WARPMILL_UPDATE_DOCS") != nullptr)
    std::ofstream(document, std::ios::binary) << right;
  else
    EXPECT_EQ(now, right) << "WARPMILL_UPDATE_DOCS=1 writes it anew";
}

}  // namespace wm::test
