// What the cache keeps of a compilation, and its bytes in a file.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/sha256.hpp"

namespace wm::jit {

// The compiler's output as it came. The log is read again after each load, so that an old entry gives what a new reader
// of logs makes of it.
struct Output {
  std::string ptx;
  std::vector<std::byte> cubin;
  std::string log;
  std::map<std::string, std::string> lowered;
  bool operator==(const Output&) const = default;
};

// magic, key, length of the rest, digest of the rest, the rest: any byte of a file that is missing, added or changed is
// noticed, and so is an entry under another's name.
std::vector<std::byte> encode(const Digest& key, const Output& output);
std::optional<Output> decode(const Digest& key, std::span<const std::byte> bytes);

}  // namespace wm::jit
