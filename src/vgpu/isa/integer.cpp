// Integer arithmetic.
#include "vgpu/isa/numeric/integer.hpp"

#include <algorithm>
#include <limits>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"

namespace wm::vgpu::isa {

using ptx::Type;

namespace {

// Sums and products are taken modulo the width: in unsigned arithmetic of at least 32 bits.
template <class T>
using Modular = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class T>
T add_of(T a, T b) {
  return static_cast<T>(Modular<T>(a) + Modular<T>(b));
}
template <class T>
T subtract_of(T a, T b) {
  return static_cast<T>(Modular<T>(a) - Modular<T>(b));
}
template <class T>
T multiply_of(T a, T b) {
  return static_cast<T>(Modular<T>(a) * Modular<T>(b));
}
template <class T>
T multiply_add_of(T a, T b, T c) {
  return static_cast<T>(Modular<T>(a) * Modular<T>(b) + Modular<T>(c));
}

template <class T>
T high_of(T a, T b) {
  if constexpr (std::is_same_v<T, u64>)
    return numeric::multiply_high_u64(a, b);
  else if constexpr (std::is_same_v<T, i64>)
    return static_cast<i64>(numeric::multiply_high_s64(u64(a), u64(b)));
  else
    return static_cast<T>((static_cast<i64>(a) * static_cast<i64>(b)) >> (8 * sizeof(T)));
}
template <>
u32 high_of<u32>(u32 a, u32 b) {
  return static_cast<u32>(u64{a} * b >> 32);
}
template <class T>
T high_add_of(T a, T b, T c) {
  return add_of<T>(high_of<T>(a, b), c);
}

template <class T>
struct Widened;
template <>
struct Widened<u16> {
  using type = u32;
};
template <>
struct Widened<i16> {
  using type = i32;
};
template <>
struct Widened<u32> {
  using type = u64;
};
template <>
struct Widened<i32> {
  using type = i64;
};
template <class T>
using Wider = typename Widened<T>::type;
template <class T>
Wider<T> wide_of(T a, T b) {
  return static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b);
}
template <class T>
Wider<T> wide_add_of(T a, T b, Wider<T> c) {
  return add_of<Wider<T>>(wide_of<T>(a, b), c);
}

i32 add_saturated(i32 a, i32 b) { return static_cast<i32>(numeric::saturate_s32(i64{a} + b)); }
i32 subtract_saturated(i32 a, i32 b) { return static_cast<i32>(numeric::saturate_s32(i64{a} - b)); }
i32 high_add_saturated(i32 a, i32 b, i32 c) { return static_cast<i32>(numeric::saturate_s32(i64{high_of(a, b)} + c)); }

// What the chip gives for a division by zero is unspecified; all ones here, without harm to the host.
template <class T>
T divide_of(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return subtract_of<T>(0, a);
  return static_cast<T>(a / b);
}
template <class T>
T remainder_of(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}
template <class T>
T absolute_of(T a) {
  return a < 0 ? subtract_of<T>(0, a) : a;
}
template <class T>
T negate_of(T a) {
  return subtract_of<T>(0, a);
}
template <class T>
T minimum_of(T a, T b) {
  return std::min(a, b);
}
template <class T>
T maximum_of(T a, T b) {
  return std::max(a, b);
}
i32 minimum_relu(i32 a, i32 b) { return std::max(0, std::min(a, b)); }
i32 maximum_relu(i32 a, i32 b) { return std::max(0, std::max(a, b)); }

template <class T>
T sad_of(T a, T b, T c) {
  const Modular<T> difference = a < b ? Modular<T>(b) - Modular<T>(a) : Modular<T>(a) - Modular<T>(b);
  return static_cast<T>(difference + Modular<T>(c));
}

// Two 16-bit halves of a 32-bit word.
template <class H, H (*f)(H, H)>
u32 halves(u32 a, u32 b) {
  const u32 low = static_cast<u16>(f(static_cast<H>(a), static_cast<H>(b)));
  const u32 high = static_cast<u16>(f(static_cast<H>(a >> 16), static_cast<H>(b >> 16)));
  return high << 16 | low;
}
i16 minimum_relu16(i16 a, i16 b) { return std::max<i16>(0, std::min(a, b)); }
i16 maximum_relu16(i16 a, i16 b) { return std::max<i16>(0, std::max(a, b)); }

template <bool is_signed, bool high>
u32 multiply24_of(u32 a, u32 b) {
  return high ? numeric::multiply24_high(a, b, is_signed) : numeric::multiply24_low(a, b, is_signed);
}
template <bool is_signed, bool high>
u32 multiply_add24_of(u32 a, u32 b, u32 c) {
  return multiply24_of<is_signed, high>(a, b) + c;
}
u32 multiply_add24_saturating(u32 a, u32 b, u32 c) {
  const i64 sum = i64{static_cast<i32>(numeric::multiply24_high(a, b, true))} + static_cast<i32>(c);
  return static_cast<u32>(std::clamp<i64>(sum, std::numeric_limits<i32>::min(), std::numeric_limits<i32>::max()));
}

template <bool a_signed, bool b_signed>
u32 dot4_of(u32 a, u32 b, u32 c) {
  return numeric::dot4(a, b, c, a_signed, b_signed);
}
template <bool a_signed, bool b_signed, bool high>
u32 dot2_of(u32 a, u32 b, u32 c) {
  return numeric::dot2(a, b, c, a_signed, b_signed, high);
}

void binary(FunctionDecoder& d, Handler handler, Type type) { emit_arithmetic(d, handler, type, {type, type}); }

Type wider(Type type) {
  switch (type) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    case Type::s32: return Type::s64;
    default: return Type::none;
  }
}

}  // namespace

void integer_add(FunctionDecoder& d) {
  const bool saturate = d.modifiers.take("sat");
  const Type type = d.modifiers.take_type();
  if (saturate && type != Type::s32) d.refuse("`.sat` is for .s32 alone");
  if (type == Type::u16x2 || type == Type::s16x2) return binary(d, lanewise<&halves<u16, &add_of<u16>>>, type);
  binary(d,
         saturate ? lanewise<&add_saturated>
                  : for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&add_of<T>>; }),
         type);
}

void integer_subtract(FunctionDecoder& d) {
  const bool saturate = d.modifiers.take("sat");
  const Type type = d.modifiers.take_type();
  if (saturate && type != Type::s32) d.refuse("`.sat` is for .s32 alone");
  binary(d,
         saturate ? lanewise<&subtract_saturated>
                  : for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&subtract_of<T>>; }),
         type);
}

void integer_multiply(FunctionDecoder& d) {
  const int part = d.modifiers.take_one_of({"lo", "hi", "wide"});
  const Type type = d.modifiers.take_type();
  if (part == 0)
    binary(d, for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&multiply_of<T>>; }), type);
  else if (part == 1)
    binary(d, for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&high_of<T>>; }), type);
  else if (part == 2)
    emit_arithmetic(d, for_type<u16, i16, u32, i32>(d, type, []<class T> { return lanewise<&wide_of<T>>; }),
                    wider(type), {type, type});
  else
    d.refuse("it needs .lo, .hi or .wide");
}

void integer_multiply_add(FunctionDecoder& d) {
  const int part = d.modifiers.take_one_of({"lo", "hi", "wide"});
  const bool saturate = d.modifiers.take("sat");
  const Type type = d.modifiers.take_type();
  if (saturate && (part != 1 || type != Type::s32)) d.refuse("`.sat` is for .hi.s32 alone");
  if (part == 0)
    emit_arithmetic(
        d, for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&multiply_add_of<T>>; }), type,
        {type, type, type});
  else if (part == 1)
    emit_arithmetic(
        d,
        saturate ? lanewise<&high_add_saturated>
                 : for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&high_add_of<T>>; }),
        type, {type, type, type});
  else if (part == 2)
    emit_arithmetic(d, for_type<u16, i16, u32, i32>(d, type, []<class T> { return lanewise<&wide_add_of<T>>; }),
                    wider(type), {type, type, wider(type)});
  else
    d.refuse("it needs .lo, .hi or .wide");
}

void integer_divide(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  binary(d, for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&divide_of<T>>; }), type);
}

void remainder(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  binary(d, for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&remainder_of<T>>; }), type);
}

void integer_absolute(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<i16, i32, i64>(d, type, []<class T> { return lanewise<&absolute_of<T>>; }), type, {type});
}

void integer_negate(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<i16, i32, i64>(d, type, []<class T> { return lanewise<&negate_of<T>>; }), type, {type});
}

void integer_minimum(FunctionDecoder& d) {
  const bool relu = d.modifiers.take("relu");
  const Type type = d.modifiers.take_type();
  if (type == Type::u16x2 && !relu) return binary(d, lanewise<&halves<u16, &minimum_of<u16>>>, type);
  if (type == Type::s16x2)
    return binary(d, relu ? lanewise<&halves<i16, &minimum_relu16>> : lanewise<&halves<i16, &minimum_of<i16>>>, type);
  if (relu && type != Type::s32) d.refuse("`.relu` is for .s32 and .s16x2");
  binary(d,
         relu ? lanewise<&minimum_relu>
              : for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&minimum_of<T>>; }),
         type);
}

void integer_maximum(FunctionDecoder& d) {
  const bool relu = d.modifiers.take("relu");
  const Type type = d.modifiers.take_type();
  if (type == Type::u16x2 && !relu) return binary(d, lanewise<&halves<u16, &maximum_of<u16>>>, type);
  if (type == Type::s16x2)
    return binary(d, relu ? lanewise<&halves<i16, &maximum_relu16>> : lanewise<&halves<i16, &maximum_of<i16>>>, type);
  if (relu && type != Type::s32) d.refuse("`.relu` is for .s32 and .s16x2");
  binary(d,
         relu ? lanewise<&maximum_relu>
              : for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&maximum_of<T>>; }),
         type);
}

namespace {
// mul24 and mad24: .lo or .hi, .u32 or .s32.
template <class Make>
Handler handler24(FunctionDecoder& d, Make make) {
  const int part = d.modifiers.take_one_of({"lo", "hi"});
  if (part < 0) d.refuse("it needs .lo or .hi");
  const bool high = part == 1;
  switch (d.modifiers.take_type()) {
    case Type::u32: return high ? make.template operator()<false, true>() : make.template operator()<false, false>();
    case Type::s32: return high ? make.template operator()<true, true>() : make.template operator()<true, false>();
    default: d.refuse("it has forms for .u32 and .s32");
  }
}
bool signed_byte_type(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  if (type != Type::u32 && type != Type::s32) d.refuse("its types are .u32 or .s32");
  return type == Type::s32;
}
}  // namespace

void multiply24(FunctionDecoder& d) {
  const Handler h = handler24(d, []<bool s, bool high> { return lanewise<&multiply24_of<s, high>>; });
  emit_arithmetic(d, h, Type::b32, {Type::b32, Type::b32});
}

void multiply_add24(FunctionDecoder& d) {
  if (d.modifiers.take("sat")) {
    if (!d.modifiers.take("hi") || d.modifiers.take_type() != Type::s32) d.refuse("with .sat it is mad24.hi.sat.s32");
    emit_arithmetic(d, lanewise<&multiply_add24_saturating>, Type::b32, {Type::b32, Type::b32, Type::b32});
    return;
  }
  const Handler h = handler24(d, []<bool s, bool high> { return lanewise<&multiply_add24_of<s, high>>; });
  emit_arithmetic(d, h, Type::b32, {Type::b32, Type::b32, Type::b32});
}

void sum_of_absolute_difference(FunctionDecoder& d) {
  const Type type = d.modifiers.take_type();
  emit_arithmetic(d, for_type<u16, i16, u32, i32, u64, i64>(d, type, []<class T> { return lanewise<&sad_of<T>>; }),
                  type, {type, type, type});
}

void dot4(FunctionDecoder& d) {
  const bool a = signed_byte_type(d), b = signed_byte_type(d);
  const Handler h = a ? (b ? lanewise<&dot4_of<true, true>> : lanewise<&dot4_of<true, false>>)
                      : (b ? lanewise<&dot4_of<false, true>> : lanewise<&dot4_of<false, false>>);
  emit_arithmetic(d, h, Type::b32, {Type::b32, Type::b32, Type::b32});
}

void dot2(FunctionDecoder& d) {
  const int part = d.modifiers.take_one_of({"lo", "hi"});
  if (part < 0) d.refuse("it needs .lo or .hi");
  const bool a = signed_byte_type(d), b = signed_byte_type(d);
  const auto pick = [&]<bool high> {
    return a ? (b ? lanewise<&dot2_of<true, true, high>> : lanewise<&dot2_of<true, false, high>>)
             : (b ? lanewise<&dot2_of<false, true, high>> : lanewise<&dot2_of<false, false, high>>);
  };
  const Handler h = part == 1 ? pick.operator()<true>() : pick.operator()<false>();
  emit_arithmetic(d, h, Type::b32, {Type::b32, Type::b32, Type::b32});
}

}  // namespace wm::vgpu::isa
