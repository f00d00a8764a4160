// Reductions on the host.
#include "reductions.hpp"

#include <algorithm>

namespace wm::golden {

namespace {

template <class T>
T combined(Reduction reduction, T memory, T value) {
  switch (reduction) {
    case Reduction::add: return static_cast<T>(memory + value);
    case Reduction::min: return std::min(memory, value);
    case Reduction::max: return std::max(memory, value);
    case Reduction::increment: return memory >= value ? 0 : memory + 1;
    case Reduction::decrement: return memory == 0 || memory > value ? value : memory - 1;
    case Reduction::bit_and: return memory & value;
    case Reduction::bit_or: return memory | value;
    case Reduction::bit_xor: return memory ^ value;
  }
  return memory;
}

template <class T>
void apply_integer(Reduction reduction, std::byte* memory, const std::byte* value) {
  T a, b;
  std::memcpy(&a, memory, sizeof(T));
  std::memcpy(&b, value, sizeof(T));
  // Unsigned addition is the same as signed, without overflow.
  if (reduction == Reduction::add)
    a = static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    a = combined(reduction, a, b);
  std::memcpy(memory, &a, sizeof(T));
}

}  // namespace

std::string name_of(Reduction reduction) {
  static const char* const names[] = {"add", "min", "max", "increment", "decrement", "bit_and", "bit_or", "bit_xor"};
  return names[static_cast<int>(reduction)];
}

std::vector<std::pair<Reduction, DType>> block_reductions() {
  std::vector<std::pair<Reduction, DType>> pairs;
  for (int r = 0; r < 8; ++r) pairs.emplace_back(static_cast<Reduction>(r), DType::u32);
  for (const Reduction r : {Reduction::add, Reduction::min, Reduction::max}) pairs.emplace_back(r, DType::i32);
  pairs.emplace_back(Reduction::add, DType::u64);
  return pairs;
}

std::vector<std::pair<Reduction, DType>> global_reductions() {
  auto pairs = block_reductions();
  for (const Reduction r : {Reduction::min, Reduction::max, Reduction::bit_and, Reduction::bit_or, Reduction::bit_xor})
    pairs.emplace_back(r, DType::u64);
  for (const Reduction r : {Reduction::min, Reduction::max}) pairs.emplace_back(r, DType::i64);
  for (const DType type : {DType::f16, DType::bf16})
    for (const Reduction r : {Reduction::add, Reduction::min, Reduction::max}) pairs.emplace_back(r, type);
  pairs.emplace_back(Reduction::add, DType::f32);
  pairs.emplace_back(Reduction::add, DType::f64);
  return pairs;
}

std::vector<std::byte> reduction_operands(DType type, Reduction reduction, std::size_t count, std::uint64_t seed) {
  const std::size_t size = size_of(type);
  std::vector<std::byte> bytes(count * size);
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    if (is_floating(type)) {
      store_element(type, &bytes[i * size], random.normal() * 8);
      continue;
    }
    std::uint64_t bits = random.bits();
    // Wrapping needs operands near each other.
    if (reduction == Reduction::increment || reduction == Reduction::decrement) bits %= 4;
    std::memcpy(&bytes[i * size], &bits, size);
  }
  return bytes;
}

void apply(Reduction reduction, DType type, std::byte* memory, const std::byte* value) {
  switch (type) {
    case DType::u32: return apply_integer<std::uint32_t>(reduction, memory, value);
    case DType::i32: return apply_integer<std::int32_t>(reduction, memory, value);
    case DType::u64: return apply_integer<std::uint64_t>(reduction, memory, value);
    case DType::i64: return apply_integer<std::int64_t>(reduction, memory, value);
    default: {
      const double a = load_element(type, memory), b = load_element(type, value);
      // For types up to f32 the sum in double is exact or rounds the same; for f64 it is the sum itself.
      store_element(type, memory,
                    reduction == Reduction::add   ? a + b
                    : reduction == Reduction::min ? std::min(a, b)
                                                  : std::max(a, b));
    }
  }
}

}  // namespace wm::golden
