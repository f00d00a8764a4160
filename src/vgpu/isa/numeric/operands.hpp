// What products with operands in shared memory share: reading them within bounds, and the panels they are put into.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "vgpu/isa/numeric/descriptor.hpp"
#include "vgpu/isa/numeric/panel.hpp"

namespace wm::vgpu::numeric {

inline constexpr int spread_row = 64;  // floats of A for one k of sixteen rows, each four times

// A read outside the block's shared memory.
struct OutOfWindow {
  char operand = 'A';
  std::uint32_t address = 0;
};

// Copies 16 bytes out of shared memory, or notes where that would read outside.
class SharedReader {
 public:
  explicit SharedReader(std::span<const std::byte> shared) : shared_(shared) {}
  void read(std::uint8_t* to, std::uint32_t address, char operand) {
    if (address > shared_.size() || shared_.size() - address < 16) {
      if (!problem_) problem_ = OutOfWindow{operand, address};
      return;
    }
    std::memcpy(to, shared_.data() + address, 16);
  }
  const std::optional<OutOfWindow>& problem() const { return problem_; }

 private:
  std::span<const std::byte> shared_;
  std::optional<OutOfWindow> problem_;
};

// Eight K-major rows of one operand.
inline void read_rows(RawGroup& group, const MatrixDescriptor& matrix, std::uint32_t eight, SharedReader& reader,
                      char operand) {
  for (std::uint32_t row = 0; row < 8; ++row)
    for (std::uint32_t chunk = 0; chunk < 2; ++chunk)
      reader.read(group.bytes[row] + 16 * chunk, matrix.k_major(eight * 8 + row, chunk), operand);
}

// Panels of some steps in a row. Kept by each thread, since every product needs them.
struct Panels {
  static constexpr int most_k = 128;
  struct Free {
    void operator()(void* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  template <class Word>
  using Memory = std::unique_ptr<Word[], Free>;
  template <class Word>
  static Memory<Word> allocate(std::size_t words) {
    return Memory<Word>(static_cast<Word*>(::operator new[](words * sizeof(Word), std::align_val_t{64})));
  }
  explicit Panels(std::size_t sixteens) : a(allocate<float>(sixteens * most_k * spread_row)) {}

  Memory<float> a;                                                               // [sixteen rows][k][64]
  Memory<float> b = allocate<float>(std::size_t{256} * most_k);                  // [group of columns][k][8]
  Memory<float> sums = allocate<float>(std::size_t{128} * 32);                   // accumulators where they are not f32
  Memory<std::uint32_t> words = allocate<std::uint32_t>(std::size_t{128} * 32);  // and where they are no rows
};

}  // namespace wm::vgpu::numeric
