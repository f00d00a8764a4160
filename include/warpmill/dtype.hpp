// Element types, as values (DType) and as host scalars (float, bf16, e4m3, ...).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "warpmill/api.hpp"
#include "warpmill/shared_types.h"

namespace wm {

WARPMILL_API std::size_t size_of(DType dtype);              // bytes an element
WARPMILL_API std::string_view name_of(DType dtype);         // "bf16"
WARPMILL_API DType dtype_from_name(std::string_view name);  // throws invalid_argument and lists the names
WARPMILL_API bool is_floating(DType dtype);

// dtype_of<float> == DType::f32; a type with no DType does not compile.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::u64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<f16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<e4m3> {
  static constexpr DType value = DType::e4m3;
};
template <>
struct DTypeOf<e5m2> {
  static constexpr DType value = DType::e5m2;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<std::remove_cv_t<T>>::value;

// One element at `data`, widened to double, or rounded from double: the slow, general way, for fills and comparisons.
WARPMILL_API double load_element(DType dtype, const void* data);
WARPMILL_API void store_element(DType dtype, void* data, double value);

}  // namespace wm
