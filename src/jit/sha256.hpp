// SHA-256 (FIPS 180-4): names the cache's entries and guards their bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace wm::jit {

using Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // The text and its length, so that ("ab", "c") and ("a", "bc") differ.
  void add_field(std::string_view text);
  Digest finish();  // ends its use

 private:
  void block(const std::byte* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  std::uint64_t bytes_ = 0;
};

template <class Bytes>
Digest sha256(const Bytes& bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

std::string hexadecimal(const Digest& digest);

}  // namespace wm::jit
