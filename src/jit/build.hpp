// One compilation with NVRTC, with no cache before it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/entry.hpp"
#include "jit/nvrtc.hpp"
#include "warpmill/jit.hpp"

namespace wm::jit {

// A compilation as NVRTC gets it.
struct Request {
  const Source& source;
  const Options& options;
  std::map<std::string, std::string_view> headers;  // embedded ones, name -> text
  std::vector<std::string> flags;                   // without the architecture and what to emit
};

// Throws invalid_argument or unsupported where the compiler would refuse with less clear words.
void check_request(const Source& source, const Options& options, const Nvrtc& compiler);
std::vector<std::string> flags_of(const Options& options, const Nvrtc& compiler);
std::vector<std::string> defines_of(const Options& options);  // those of the flags that name nothing of the machine

Output build(const Nvrtc& compiler, const Request& request);  // throws compile, with the compiler's words

}  // namespace wm::jit
