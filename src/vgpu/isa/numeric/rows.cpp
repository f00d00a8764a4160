// Rows of 32 lanes: one loop each, compiled for every level of CPU.
#include "vgpu/isa/numeric/rows.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "vgpu/isa/numeric/arithmetic.hpp"
#include "vgpu/isa/numeric/dispatch.hpp"
#include "vgpu/isa/numeric/exponential.hpp"
#include "vgpu/isa/numeric/halves.hpp"

namespace wm::vgpu::numeric::rows {

namespace {

constexpr int lanes = 32;

// Runs `lane(i)` for all lanes and writes the active ones. Results go through a local row, so that the loop needs no
// proof that d is none of the operands; `mend` may still change it.
template <class Lane, class Mend>
void fill(Row d, std::uint32_t active, const Lane& lane, const Mend& mend) {
  dispatch([&]() __attribute__((always_inline)) {
    std::uint32_t row[lanes];
    for (int i = 0; i < lanes; ++i) row[i] = lane(i);
    mend(row);
    if (active == ~std::uint32_t{0}) {
      std::memcpy(d, row, sizeof row);
    } else {
      for (int i = 0; i < lanes; ++i) d[i] = active >> i & 1 ? row[i] : d[i];
    }
  });
}

template <class Lane>
void fill(Row d, std::uint32_t active, const Lane& lane) {
  fill(d, active, lane, [](std::uint32_t*) __attribute__((always_inline)){});
}

// The smallest normal number may be one that .ftz flushes: `exact(i)` computes such lanes again.
template <bool ftz, class Exact>
[[gnu::always_inline]] inline void mend_smallest(std::uint32_t* row, const Exact& exact) {
  if constexpr (ftz) {
    constexpr std::uint32_t smallest = 0x00800000;
    bool found = false;
    for (int i = 0; i < lanes; ++i) found |= (row[i] & 0x7fffffff) == smallest;
    if (!found) return;
    for (int i = 0; i < lanes; ++i)
      if ((row[i] & 0x7fffffff) == smallest) row[i] = static_cast<std::uint32_t>(exact(i));
  }
}

[[gnu::always_inline]] inline std::uint32_t flushed(std::uint32_t bits) {
  return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

// Operands and results with the modifiers as template parameters: no branch in the loop.
template <bool ftz>
[[gnu::always_inline]] inline float in(std::uint32_t bits) {
  return std::bit_cast<float>(ftz ? flushed(bits) : bits);
}
template <bool ftz, bool sat>
[[gnu::always_inline]] inline std::uint32_t out(float value) {
  if constexpr (sat) {
    value = value > 0.0f ? value : 0.0f;  // also NaN
    value = value < 1.0f ? value : 1.0f;
  }
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if constexpr (ftz) bits = flushed(bits);
  if constexpr (!sat) bits = value == value ? bits : 0x7fffffff;
  return bits;
}

// Calls `body` with ftz and sat as compile-time constants.
template <class Body>
void with_modifiers(bool ftz, bool sat, const Body& body) {
  using Yes = std::true_type;
  using No = std::false_type;
  if (ftz)
    sat ? body(Yes{}, Yes{}) : body(Yes{}, No{});
  else
    sat ? body(No{}, Yes{}) : body(No{}, No{});
}

}  // namespace

void add_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz, bool sat) {
  with_modifiers(ftz, sat, [&](auto f, auto s) {
    fill(
        d, active, [=](int i) __attribute__((always_inline)) { return out<f(), s()>(in<f()>(a[i]) + in<f()>(b[i])); });
  });
}

void subtract_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz, bool sat) {
  with_modifiers(ftz, sat, [&](auto f, auto s) {
    fill(
        d, active, [=](int i) __attribute__((always_inline)) { return out<f(), s()>(in<f()>(a[i]) - in<f()>(b[i])); });
  });
}

void multiply_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz, bool sat) {
  with_modifiers(ftz, sat, [&](auto f, auto s) {
    fill(
        d, active, [=](int i) __attribute__((always_inline)) { return out<f(), s()>(in<f()>(a[i]) * in<f()>(b[i])); },
        [=](std::uint32_t * row) __attribute__((always_inline)) {
          mend_smallest<f()>(
              row, [=](int i) { return numeric::multiply(Format::f32, a[i], b[i], {.ftz = true, .sat = s()}); });
        });
  });
}

void fma_f32(Row d, Source a, Source b, Source c, std::uint32_t active, bool ftz, bool sat) {
  with_modifiers(ftz, sat, [&](auto f, auto s) {
    fill(
        d, active,
        [=](int i) __attribute__((always_inline)) {
          return out<f(), s()>(std::fma(in<f()>(a[i]), in<f()>(b[i]), in<f()>(c[i])));
        },
        [=](std::uint32_t * row) __attribute__((always_inline)) {
          mend_smallest<f()>(
              row, [=](int i) { return numeric::fma(Format::f32, a[i], b[i], c[i], {.ftz = true, .sat = s()}); });
        });
  });
}

namespace {

// Bits as a signed integer that orders like the numbers, -0 below +0; undone by doing it again.
[[gnu::always_inline]] inline std::int32_t ordered(std::uint32_t bits) {
  const auto value = static_cast<std::int32_t>(bits);
  return value ^ ((value >> 31) & 0x7fffffff);
}

template <bool largest>
void extreme_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz) {
  with_modifiers(ftz, false, [&](auto f, auto) {
    fill(
        d, active, [=](int i) __attribute__((always_inline)) {
          const std::uint32_t x = f() ? flushed(a[i]) : a[i], y = f() ? flushed(b[i]) : b[i];
          const bool x_nan = (x & 0x7fffffff) > 0x7f800000, y_nan = (y & 0x7fffffff) > 0x7f800000;
          const bool x_wins = largest ? ordered(x) > ordered(y) : ordered(x) < ordered(y);
          const std::uint32_t number = x_wins ? x : y;
          const std::uint32_t other = x_nan ? y : x;
          const std::uint32_t result = (x_nan | y_nan) ? other : number;
          return (x_nan & y_nan) ? 0x7fffffff : result;
        });
  });
}

}  // namespace

void minimum_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz) {
  extreme_f32<false>(d, a, b, active, ftz);
}
void maximum_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz) { extreme_f32<true>(d, a, b, active, ftz); }

void ex2_approx_f32(Row d, Source a, std::uint32_t active, bool ftz) {
  with_modifiers(ftz, false, [&](auto f, auto) {
    fill(
        d, active, [=](int i) __attribute__((always_inline)) { return exp2_bits(a[i], f()); });
  });
}

void pack_f32(Format to, Row d, Source a, Source b, std::uint32_t active) {
  const auto pair = [](std::uint32_t high, std::uint32_t low) __attribute__((always_inline)) {
    return high << 16 | low;
  };
  if (to == Format::bf16)
    fill(
        d, active, [=](int i) __attribute__((always_inline)) {
          return pair(bf16_of_f32(f32_from(a[i])), bf16_of_f32(f32_from(b[i])));
        });
  else
    fill(
        d, active, [=](int i) __attribute__((always_inline)) {
          return pair(f16_of_f32(f32_from(a[i])), f16_of_f32(f32_from(b[i])));
        });
}

void widen_to_f32(Format from, Row d, Source a, std::uint32_t active) {
  if (from == Format::bf16)
    fill(
        d, active, [=](int i) __attribute__((always_inline)) { return f32_bits(f32_of_bf16(a[i] & 0xffff)); });
  else
    fill(
        d, active, [=](int i) __attribute__((always_inline)) { return f32_bits(f32_of_f16(a[i] & 0xffff)); });
}

}  // namespace wm::vgpu::numeric::rows
