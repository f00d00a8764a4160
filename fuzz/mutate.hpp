// A mutator for texts: half of its changes move whole words and lines, which bytes changed at random would only break.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace wm::fuzz {

class TextMutator {
 public:
  TextMutator(std::string_view text, unsigned seed) : text_(text), random_(seed) {}

  // Another text: a piece of it removed, repeated elsewhere, or put in the place of another piece of its kind.
  std::string changed() {
    std::string result(text_);
    const bool lines = below(2) == 0;
    const Piece from = lines ? line() : word();
    const Piece to = lines ? line() : word();
    switch (below(3)) {
      case 0: result.erase(from.begin, from.length); break;
      case 1: result.insert(to.begin, text_.substr(from.begin, from.length)); break;
      default: result.replace(to.begin, to.length, text_.substr(from.begin, from.length));
    }
    return result;
  }

 private:
  struct Piece {
    std::size_t begin, length;
  };
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  template <class Belongs>
  Piece around(Belongs belongs) {
    const std::size_t at = below(text_.size());
    std::size_t begin = at, end = at;
    while (begin > 0 && belongs(text_[begin - 1])) --begin;
    while (end < text_.size() && belongs(text_[end])) ++end;
    return {begin, std::max<std::size_t>(end - begin, 1)};
  }
  Piece line() {
    Piece piece = around([](char c) { return c != '\n'; });
    piece.length = std::min(piece.length + 1, text_.size() - piece.begin);  // with its end
    return piece;
  }
  Piece word() {
    return around([](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
             c == '%' || c == '$' || c == '-';
    });
  }

  std::string_view text_;
  std::minstd_rand random_;
};

}  // namespace wm::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (size == 0 || seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string changed = wm::fuzz::TextMutator(text, seed).changed();
  const std::size_t length = std::min(changed.size(), most);
  std::memcpy(data, changed.data(), length);
  return length;
}
