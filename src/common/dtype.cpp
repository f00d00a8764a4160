// Element types: sizes, names, and conversion of the small floating types on the host.
#include "warpmill/dtype.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "warpmill/error.hpp"

namespace wm {
namespace {

struct Traits {
  std::string_view name;
  std::size_t bytes;
  bool floating;
};
constexpr std::array<Traits, 15> traits{{{"u8", 1, false},
                                         {"i8", 1, false},
                                         {"u16", 2, false},
                                         {"i16", 2, false},
                                         {"u32", 4, false},
                                         {"i32", 4, false},
                                         {"u64", 8, false},
                                         {"i64", 8, false},
                                         {"f16", 2, true},
                                         {"bf16", 2, true},
                                         {"f32", 4, true},
                                         {"tf32", 4, true},
                                         {"f64", 8, true},
                                         {"e4m3", 1, true},
                                         {"e5m2", 1, true}}};

const Traits& of(DType dtype) { return traits.at(static_cast<std::size_t>(dtype)); }

// Rounds |value| to `mantissa` explicit bits with the smallest normal exponent `min_exponent`, to nearest even.
// Every float and every double of a small format is exact in double, so the scaling below loses nothing.
double round_to(double value, int mantissa, int min_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| = f * 2^exponent, f in [0.5, 1)
  const int unit = std::max(exponent - 1, min_exponent) - mantissa;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

// Bits of an already rounded value in a format with `mantissa` bits and the given bias; no overflow handling.
std::uint32_t pack(double magnitude, int mantissa, int bias) {
  if (magnitude == 0) return 0;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent -= 1;
  const int min_exponent = 1 - bias;
  if (exponent < min_exponent) return static_cast<std::uint32_t>(std::ldexp(magnitude, mantissa - min_exponent));
  const auto fraction = static_cast<std::uint32_t>(std::ldexp(magnitude, mantissa - exponent)) & ((1u << mantissa) - 1);
  return (static_cast<std::uint32_t>(exponent + bias) << mantissa) | fraction;
}

float unpack(std::uint32_t magnitude, int mantissa, int bias) {
  const std::uint32_t exponent = magnitude >> mantissa;
  const std::uint32_t fraction = magnitude & ((1u << mantissa) - 1);
  if (exponent == 0) return std::ldexp(static_cast<float>(fraction), 1 - bias - mantissa);
  return std::ldexp(static_cast<float>(fraction | (1u << mantissa)), static_cast<int>(exponent) - bias - mantissa);
}

std::uint16_t f16_bits(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7fff;
  const double rounded = std::fabs(round_to(value, 10, -14));
  if (rounded > 65504.0) return sign | 0x7c00;
  return static_cast<std::uint16_t>(sign | pack(rounded, 10, 15));
}

std::uint16_t bf16_bits(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7fff;
  const double rounded = std::fabs(round_to(value, 7, -126));
  if (rounded > 0x1.fep127) return sign | 0x7f80;
  return static_cast<std::uint16_t>(sign | pack(rounded, 7, 127));
}

std::uint8_t f8_bits(double value, int mantissa, int bias, double largest, std::uint8_t nan) {
  const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return nan;
  const double rounded = std::min(std::fabs(round_to(value, mantissa, 1 - bias)), largest);
  return static_cast<std::uint8_t>(sign | pack(rounded, mantissa, bias));
}
std::uint8_t e4m3_bits(double value) { return f8_bits(value, 3, 7, 448.0, 0x7f); }
std::uint8_t e5m2_bits(double value) { return f8_bits(value, 2, 15, 57344.0, 0x7f); }

template <class T>
T read(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}
template <class T>
void write(void* data, T value) {
  std::memcpy(data, &value, sizeof(T));
}

// Integers saturate: a fill of 300 into u8 gives 255, never 44.
template <class T>
void write_integer(void* data, double value) {
  using Limits = std::numeric_limits<T>;
  const double rounded = std::nearbyint(value);
  if (std::isnan(rounded)) return write<T>(data, 0);
  if (rounded <= static_cast<double>(Limits::min())) return write<T>(data, Limits::min());
  if (rounded >= static_cast<double>(Limits::max())) return write<T>(data, Limits::max());
  write<T>(data, static_cast<T>(rounded));
}

}  // namespace

std::size_t size_of(DType dtype) { return of(dtype).bytes; }
std::string_view name_of(DType dtype) { return of(dtype).name; }
bool is_floating(DType dtype) { return of(dtype).floating; }

DType dtype_from_name(std::string_view name) {
  std::string names;
  for (std::size_t i = 0; i < traits.size(); ++i) {
    if (traits[i].name == name) return static_cast<DType>(i);
    names += fmt::format("{}{}", i ? ", " : "", traits[i].name);
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("'{}' is no element type; there are {}", name, names));
}

// The upper half of a float, rounded to nearest even: gigabytes of them are made on the host.
bf16::bf16(float value) {
  const auto whole = std::bit_cast<std::uint32_t>(value);
  bits = std::isnan(value) ? 0x7fff : static_cast<std::uint16_t>((whole + 0x7fff + (whole >> 16 & 1)) >> 16);
}
bf16::operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

f16::f16(float value) : bits(f16_bits(value)) {}
f16::operator float() const {
  const std::uint32_t magnitude = bits & 0x7fffu;
  float value = magnitude > 0x7c00    ? std::numeric_limits<float>::quiet_NaN()
                : magnitude == 0x7c00 ? std::numeric_limits<float>::infinity()
                                      : unpack(magnitude, 10, 15);
  return bits & 0x8000 ? -value : value;
}

e4m3::e4m3(float value) : bits(e4m3_bits(value)) {}
e4m3::operator float() const {
  const std::uint32_t magnitude = bits & 0x7fu;
  const float value = magnitude == 0x7f ? std::numeric_limits<float>::quiet_NaN() : unpack(magnitude, 3, 7);
  return bits & 0x80 ? -value : value;
}

e5m2::e5m2(float value) : bits(e5m2_bits(value)) {}
e5m2::operator float() const {
  const std::uint32_t magnitude = bits & 0x7fu;
  const float value = magnitude > 0x7c    ? std::numeric_limits<float>::quiet_NaN()
                      : magnitude == 0x7c ? std::numeric_limits<float>::infinity()
                                          : unpack(magnitude, 2, 15);
  return bits & 0x80 ? -value : value;
}

double load_element(DType dtype, const void* data) {
  switch (dtype) {
    case DType::u8: return read<std::uint8_t>(data);
    case DType::i8: return read<std::int8_t>(data);
    case DType::u16: return read<std::uint16_t>(data);
    case DType::i16: return read<std::int16_t>(data);
    case DType::u32: return read<std::uint32_t>(data);
    case DType::i32: return read<std::int32_t>(data);
    case DType::u64: return static_cast<double>(read<std::uint64_t>(data));
    case DType::i64: return static_cast<double>(read<std::int64_t>(data));
    case DType::f16: return static_cast<float>(read<f16>(data));
    case DType::bf16: return static_cast<float>(read<bf16>(data));
    case DType::f32:
    case DType::tf32: return read<float>(data);
    case DType::f64: return read<double>(data);
    case DType::e4m3: return static_cast<float>(read<e4m3>(data));
    case DType::e5m2: return static_cast<float>(read<e5m2>(data));
  }
  throw Error(ErrorCode::internal, "load_element: unknown dtype");
}

void store_element(DType dtype, void* data, double value) {
  switch (dtype) {
    case DType::u8: return write_integer<std::uint8_t>(data, value);
    case DType::i8: return write_integer<std::int8_t>(data, value);
    case DType::u16: return write_integer<std::uint16_t>(data, value);
    case DType::i16: return write_integer<std::int16_t>(data, value);
    case DType::u32: return write_integer<std::uint32_t>(data, value);
    case DType::i32: return write_integer<std::int32_t>(data, value);
    case DType::u64: return write_integer<std::uint64_t>(data, value);
    case DType::i64: return write_integer<std::int64_t>(data, value);
    case DType::f16: return write(data, f16_bits(value));
    case DType::bf16: return write(data, bf16_bits(value));
    case DType::f32: return write(data, static_cast<float>(value));
    case DType::tf32: return write(data, static_cast<float>(round_to(value, 10, -126)));
    case DType::f64: return write(data, value);
    case DType::e4m3: return write(data, e4m3_bits(value));
    case DType::e5m2: return write(data, e5m2_bits(value));
  }
  throw Error(ErrorCode::internal, "store_element: unknown dtype");
}

}  // namespace wm
