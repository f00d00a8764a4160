// Arithmetic of reductions.
#include "vgpu/copy/reduce.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu::copy {
namespace {

constexpr std::array<std::string_view, 8> names{"add", "min", "max", "inc", "dec", "and", "or", "xor"};

template <class Bits, class Update>
void update_each(std::byte* destination, const std::byte* source, std::size_t bytes, Update update) {
  for (std::size_t offset = 0; offset + sizeof(Bits) <= bytes; offset += sizeof(Bits)) {
    Bits operand;
    std::memcpy(&operand, source + offset, sizeof(Bits));
    std::atomic_ref<Bits> target(*reinterpret_cast<Bits*>(destination + offset));
    Bits old = target.load(std::memory_order_relaxed);
    while (!target.compare_exchange_weak(old, update(old, operand), std::memory_order_relaxed)) {
    }
  }
}

// Integers: `Value` has the type's signedness, memory is seen as unsigned bits.
template <class Value>
void reduce_integers(Reduction reduction, std::byte* destination, const std::byte* source, std::size_t bytes) {
  using Bits = std::make_unsigned_t<Value>;
  const auto each = [&](auto update) { update_each<Bits>(destination, source, bytes, update); };
  switch (reduction) {
    case Reduction::add: return each([](Bits a, Bits b) { return static_cast<Bits>(a + b); });
    case Reduction::min:
      return each(
          [](Bits a, Bits b) { return static_cast<Bits>(std::min(static_cast<Value>(a), static_cast<Value>(b))); });
    case Reduction::max:
      return each(
          [](Bits a, Bits b) { return static_cast<Bits>(std::max(static_cast<Value>(a), static_cast<Value>(b))); });
    case Reduction::inc: return each([](Bits a, Bits b) { return a >= b ? Bits{0} : static_cast<Bits>(a + 1); });
    case Reduction::dec: return each([](Bits a, Bits b) { return a == 0 || a > b ? b : static_cast<Bits>(a - 1); });
    case Reduction::bit_and: return each([](Bits a, Bits b) { return static_cast<Bits>(a & b); });
    case Reduction::bit_or: return each([](Bits a, Bits b) { return static_cast<Bits>(a | b); });
    case Reduction::bit_xor: return each([](Bits a, Bits b) { return static_cast<Bits>(a ^ b); });
  }
}

// f16 and bf16 keep subnormal numbers. A float has more than twice their bits and two, so that rounding a sum to float
// first changes nothing. A NaN gives the canonical one.
template <class Half>
void reduce_halves(Reduction reduction, std::byte* destination, const std::byte* source, std::size_t bytes) {
  update_each<std::uint16_t>(destination, source, bytes, [reduction](std::uint16_t a_bits, std::uint16_t b_bits) {
    Half a, b;
    a.bits = a_bits;
    b.bits = b_bits;
    const auto x = static_cast<float>(a), y = static_cast<float>(b);
    constexpr std::uint16_t canonical_nan = 0x7fff;
    if (reduction == Reduction::add) {
      const float sum = x + y;
      return std::isnan(sum) ? canonical_nan : Half(sum).bits;
    }
    if (std::isnan(x) && std::isnan(y)) return canonical_nan;
    if (std::isnan(x)) return b_bits;
    if (std::isnan(y)) return a_bits;
    if (x == y) return std::signbit(x) == (reduction == Reduction::min) ? a_bits : b_bits;  // -0 is less than +0
    return (x < y) == (reduction == Reduction::min) ? a_bits : b_bits;
  });
}

float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.f, value) : value; }

}  // namespace

Reduction reduction_from_name(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no reduction '{}'; there are: {}", name, fmt::join(names, ", ")));
  return static_cast<Reduction>(found - names.begin());
}

bool has_reduction(Reduction reduction, MapElement element) {
  using E = MapElement;
  const auto one_of = [element](std::initializer_list<E> elements) {
    return std::find(elements.begin(), elements.end(), element) != elements.end();
  };
  switch (reduction) {
    case Reduction::add: return one_of({E::u32, E::i32, E::u64, E::f16, E::bf16, E::f32, E::f32_ftz, E::f64});
    case Reduction::min:
    case Reduction::max: return one_of({E::u32, E::i32, E::u64, E::i64, E::f16, E::bf16});
    case Reduction::inc:
    case Reduction::dec: return one_of({E::u32});
    default: return one_of({E::u32, E::i32, E::u64});
  }
}

void reduce_elements(Reduction reduction, MapElement element, std::byte* destination, const std::byte* source,
                     std::size_t bytes) {
  if (!has_reduction(reduction, element))
    throw Error(ErrorCode::unsupported, fmt::format("there is no reduction {} of {} elements",
                                                    names[static_cast<std::size_t>(reduction)], name_of(element)));
  switch (element) {
    case MapElement::u32: return reduce_integers<std::uint32_t>(reduction, destination, source, bytes);
    case MapElement::i32: return reduce_integers<std::int32_t>(reduction, destination, source, bytes);
    case MapElement::u64: return reduce_integers<std::uint64_t>(reduction, destination, source, bytes);
    case MapElement::i64: return reduce_integers<std::int64_t>(reduction, destination, source, bytes);
    case MapElement::f16: return reduce_halves<f16>(reduction, destination, source, bytes);
    case MapElement::bf16: return reduce_halves<bf16>(reduction, destination, source, bytes);
    case MapElement::f64:
      return update_each<std::uint64_t>(destination, source, bytes, [](std::uint64_t a, std::uint64_t b) {
        const auto x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
        if (std::isnan(x)) return a;  // as it is: the chip does not make a signalling NaN quiet
        return std::isnan(y) ? b : std::bit_cast<std::uint64_t>(x + y);
      });
    case MapElement::f32:
      return update_each<std::uint32_t>(destination, source, bytes, [](std::uint32_t a, std::uint32_t b) {
        const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
        return std::isnan(sum) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(sum);
      });
    default:  // f32_ftz
      return update_each<std::uint32_t>(destination, source, bytes, [](std::uint32_t a, std::uint32_t b) {
        const float sum = flushed(flushed(std::bit_cast<float>(a)) + flushed(std::bit_cast<float>(b)));
        return std::isnan(sum) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(sum);
      });
  }
}

}  // namespace wm::vgpu::copy
