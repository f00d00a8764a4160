#include "pattern.hpp"

#include <regex>

namespace wm::test {
namespace {

Match groups_of(const std::smatch& found) { return {found.begin(), found.end()}; }

}  // namespace

struct Pattern::Compiled {
  std::regex regex;
};

Pattern::Pattern(const std::string& text)
    : compiled_(new Compiled{std::regex(text, std::regex::ECMAScript | std::regex::multiline)}) {}
Pattern::~Pattern() = default;

std::vector<Match> Pattern::all(const std::string& text) const {
  std::vector<Match> matches;
  for (std::sregex_iterator i(text.begin(), text.end(), compiled_->regex), end; i != end; ++i)
    matches.push_back(groups_of(*i));
  return matches;
}

Match Pattern::first(const std::string& text) const {
  std::smatch found;
  return std::regex_search(text, found, compiled_->regex) ? groups_of(found) : Match{};
}

bool Pattern::is_all_of(const std::string& text) const { return std::regex_match(text, compiled_->regex); }

}  // namespace wm::test
