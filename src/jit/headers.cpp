// Finding the headers a program may read.
#include "jit/headers.hpp"

#include <algorithm>
#include <deque>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

namespace wm::jit {
namespace {

namespace fs = std::filesystem;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The preprocessor joins lines that end in a backslash before it does anything else.
std::string joined_lines(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\\\n"))
      i += 1;
    else if (text.substr(i).starts_with("\\\r\n"))
      i += 2;
    else
      result += text[i];
  }
  return result;
}

std::string_view skip_forward(std::string_view text) {
  while (!text.empty()) {
    if (is_blank(text[0])) {
      text.remove_prefix(1);
    } else if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/", 2);
      text.remove_prefix(end == text.npos ? text.size() : end + 2);
    } else {
      break;
    }
  }
  return text;
}

std::string_view skip_backward(std::string_view text) {
  while (!text.empty()) {
    if (is_blank(text.back())) {
      text.remove_suffix(1);
    } else if (text.ends_with("*/")) {
      const std::size_t begin = text.rfind("/*", text.size() - 2);
      if (begin == text.npos) break;
      text.remove_suffix(text.size() - begin);
    } else {
      break;
    }
  }
  return text;
}

// Whether a directive begins with what stands before its word: only a '#', and blanks and comments before that.
bool starts_directive(std::string_view before) {
  before = skip_backward(before);
  if (before.ends_with('#'))
    before.remove_suffix(1);
  else if (before.ends_with("%:"))
    before.remove_suffix(2);
  else
    return false;
  while (!before.empty() && is_blank(before.back())) before.remove_suffix(1);
  return before.empty() || before.ends_with('\n') || before.ends_with("*/");
}

std::optional<std::string> read_file(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A file whose own includes are still to be followed.
struct Unread {
  std::string text;
  fs::path folder;  // where it lies
  bool toolkit = false;
};

class Finder {
 public:
  Finder(const std::map<std::string, std::string_view>& embedded, const std::vector<fs::path>& folders,
         const std::vector<fs::path>& toolkit)
      : embedded_(embedded), folders_(folders), toolkit_(toolkit) {}

  Headers find(std::string_view text) {
    // The source itself lies nowhere: see build.cpp.
    follow(read_inclusions(text), {}, false);
    while (!unread_.empty()) {
      const Unread next = std::move(unread_.front());
      unread_.pop_front();
      follow(read_inclusions(next.text), next.folder, next.toolkit);
    }
    return std::move(headers_);
  }

 private:
  void follow(const Inclusions& inclusions, const fs::path& beside, bool toolkit) {
    if (!inclusions.complete && !toolkit) headers_.complete = false;
    for (const Inclusion& inclusion : inclusions.names) {
      reach_embedded(inclusion.name);
      if (inclusion.quoted && !beside.empty()) reach_file(beside / inclusion.name, toolkit);
      for (const fs::path& folder : folders_) reach_file(folder / inclusion.name, false);
      for (const fs::path& folder : toolkit_) reach_file(folder / inclusion.name, true);
    }
  }

  void reach_embedded(const std::string& name) {
    const auto found = embedded_.find(name);
    if (found == embedded_.end() || !headers_.embedded.insert(*found).second) return;
    // To NVRTC it lies in the folder of its name, relative to the working directory.
    unread_.push_back({std::string(found->second), fs::path(name).parent_path(), false});
  }

  void reach_file(const fs::path& path, bool toolkit) {
    // Normalised, so that "a.h" including "../a.h" or "lib/../a.h" comes to an end.
    std::error_code failed;
    if (!tried_.insert(fs::absolute(path, failed).lexically_normal().string()).second) return;
    std::optional<std::string> text = read_file(path);
    if (!text) return;
    headers_.files[path.string()] = sha256(std::string_view(*text));
    unread_.push_back({std::move(*text), path.parent_path(), toolkit});
  }

  const std::map<std::string, std::string_view>& embedded_;
  const std::vector<fs::path>& folders_;
  const std::vector<fs::path>& toolkit_;
  Headers headers_;
  std::deque<Unread> unread_;
  std::set<std::string> tried_;
};

}  // namespace

Inclusions read_inclusions(std::string_view text) {
  Inclusions result;
  const std::string joined = joined_lines(text);
  const std::string_view all = joined;
  constexpr std::string_view word = "include";
  for (std::size_t at = all.find(word); at != all.npos; at = all.find(word, at + word.size())) {
    std::size_t begin = at, end = at + word.size();
    while (begin > 0 && is_word(all[begin - 1])) --begin;
    while (end < all.size() && is_word(all[end])) ++end;
    const std::string_view name = all.substr(begin, end - begin);
    const bool directive = name == "include" || name == "include_next";
    if (!directive && name != "__has_include" && name != "__has_include_next") continue;

    std::string_view rest = skip_forward(all.substr(end));
    if (!directive) {
      if (!rest.starts_with('(')) continue;
      rest = skip_forward(rest.substr(1));
    }
    if (rest.empty()) continue;
    if (rest[0] == '"' || rest[0] == '<') {
      const std::size_t close = rest.find_first_of(rest[0] == '"' ? "\"\n" : ">\n", 1);
      if (close != rest.npos && rest[close] != '\n')
        result.names.push_back({std::string(rest.substr(1, close - 1)), rest[0] == '"'});
    } else if (is_word(rest[0]) && (!directive || starts_directive(all.substr(0, begin)))) {
      result.complete = false;
    }
  }
  return result;
}

Headers find_headers(std::string_view text, const std::map<std::string, std::string_view>& embedded,
                     const std::vector<fs::path>& folders, const std::vector<fs::path>& toolkit) {
  return Finder(embedded, folders, toolkit).find(text);
}

}  // namespace wm::jit
