// Regular expressions for tests. <regex> costs a file that includes it two seconds: it is included once.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace wm::test {

// A match: the whole of it, then what each group took; nothing where it took no part.
using Match = std::vector<std::string>;

class Pattern {
 public:
  explicit Pattern(const std::string& text);  // ^ and $ are the ends of lines
  ~Pattern();
  std::vector<Match> all(const std::string& text) const;  // from left to right
  Match first(const std::string& text) const;             // empty where there is none
  bool is_in(const std::string& text) const { return !first(text).empty(); }
  bool is_all_of(const std::string& text) const;

 private:
  struct Compiled;
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace wm::test
