// Demangling, and patterns of names.
#include "cudart/names.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <cxxabi.h>

namespace wm::cudart {
namespace {

bool matches_glob(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*')
    return matches_glob(pattern.substr(1), name) || (!name.empty() && matches_glob(pattern, name.substr(1)));
  if (name.empty() || (pattern.front() != '?' && pattern.front() != name.front())) return false;
  return matches_glob(pattern.substr(1), name.substr(1));
}

}  // namespace

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string readable = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return readable;
}

bool matches(const std::string& pattern, const std::string& name) {
  for (std::size_t begin = 0; begin <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('|', begin), pattern.size());
    const std::string one = pattern.substr(begin, end - begin);
    const bool plain = one.find_first_of("*?") == one.npos;
    if (!one.empty() && matches_glob(plain ? "*" + one + "*" : one, name)) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace wm::cudart
