// Which headers a program may read, found in its text: NVRTC does not tell, and the cache must know.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/sha256.hpp"

namespace wm::jit {

// Every header that any #include or __has_include of the program could mean, whether or not the preprocessor would
// reach it, and whichever folder it would find it in first: too many rather than too few.
struct Headers {
  std::map<std::string, std::string_view> embedded;  // those of this library: name -> text
  std::map<std::string, Digest> files;               // path -> digest of the text
  bool complete = true;  // false where a name is made by a macro, so that only the compiler knows it
};

// `embedded` headers have a name and no place; `folders` are searched, and `toolkit` after them. Names made by macros
// inside the toolkit do not count: it changes as a whole, with the headers that do count.
Headers find_headers(std::string_view text, const std::map<std::string, std::string_view>& embedded,
                     const std::vector<std::filesystem::path>& folders,
                     const std::vector<std::filesystem::path>& toolkit);

// What the text includes itself.
struct Inclusion {
  std::string name;
  bool quoted = false;  // "name", looked for beside the including file first
};
struct Inclusions {
  std::vector<Inclusion> names;
  bool complete = true;
};
Inclusions read_inclusions(std::string_view text);

}  // namespace wm::jit
