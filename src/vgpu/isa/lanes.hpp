// Handlers made of a function of one lane: lanewise<&f> applies f to 32-lane rows. The loops are plain so that the
// compiler makes vector code of them; a row is either the very same as another or shares nothing with it.
#pragma once

#if defined(__SSE2__)
  #include <emmintrin.h>
#endif

#include <bit>
#include <concepts>
#include <type_traits>

#include "vgpu/isa/decoder.hpp"
#include "vgpu/machine/warp.hpp"

namespace wm::vgpu {

// Values of up to 32 bits live in rows of 32-bit words, 64-bit ones in rows of 64-bit words.
template <class T>
using Word = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class T>
T from_word(Word<T> word) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(word);
  else
    return static_cast<T>(word);
}
template <class T>
Word<T> to_word(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<Word<T>>(value);
  else
    return static_cast<Word<T>>(static_cast<std::make_unsigned_t<T>>(value));
}

template <class T>
const Word<T>* source_row(const Warp& warp, Operand o) {
  if constexpr (sizeof(T) == 8)
    return warp.source64(o);
  else
    return warp.source32(o);
}
template <class T>
Word<T>* destination_row(Warp& warp, Operand o) {
  if constexpr (sizeof(T) == 8)
    return warp.row64(o);
  else
    return warp.row32(o);
}

// Writes f(lane) to the active lanes of a row. f runs for the others too: it must be harmless.
template <class W, class F>
inline void fill_row(W* row, u32 active, F f) {
  if (active == all_lanes) {
#pragma GCC ivdep
    for (u32 i = 0; i < lanes_per_warp; ++i) row[i] = f(i);
  } else {
#pragma GCC ivdep
    for (u32 i = 0; i < lanes_per_warp; ++i) {
      const W value = f(i);
      row[i] = active >> i & 1 ? value : row[i];
    }
  }
}

// The same where f is costly: only for the active lanes.
template <class F>
inline void for_each_lane(u32 active, F f) {
  for (u32 rest = active; rest != 0; rest &= rest - 1) f(static_cast<u32>(std::countr_zero(rest)));
}

template <auto f>
struct Lanewise;

template <class D, class A, D (*f)(A)>
struct Lanewise<f> {
  static Step run(Warp& warp, const Op& op, u32 active) {
    const auto* a = source_row<A>(warp, op.a);
    fill_row(destination_row<D>(warp, op.d), active, [&](u32 i) { return to_word<D>(f(from_word<A>(a[i]))); });
    return Step::go;
  }
};
template <class D, class A, class B, D (*f)(A, B)>
struct Lanewise<f> {
  static Step run(Warp& warp, const Op& op, u32 active) {
    const auto* a = source_row<A>(warp, op.a);
    const auto* b = source_row<B>(warp, op.b);
    fill_row(destination_row<D>(warp, op.d), active,
             [&](u32 i) { return to_word<D>(f(from_word<A>(a[i]), from_word<B>(b[i]))); });
    return Step::go;
  }
};
template <class D, class A, class B, class C, D (*f)(A, B, C)>
struct Lanewise<f> {
  static Step run(Warp& warp, const Op& op, u32 active) {
    const auto* a = source_row<A>(warp, op.a);
    const auto* b = source_row<B>(warp, op.b);
    const auto* c = source_row<C>(warp, op.c);
    fill_row(destination_row<D>(warp, op.d), active,
             [&](u32 i) { return to_word<D>(f(from_word<A>(a[i]), from_word<B>(b[i]), from_word<C>(c[i]))); });
    return Step::go;
  }
};
template <auto f>
inline constexpr Handler lanewise = &Lanewise<f>::run;

// One bit a lane of a test: through bytes, which vector code can make and gather.
template <class F>
inline u32 ballot_of(F test) {
  alignas(32) u8 flags[lanes_per_warp];
  for (u32 i = 0; i < lanes_per_warp; ++i) flags[i] = test(i) ? 0xff : 0;
#if defined(__SSE2__)
  const auto* halves = reinterpret_cast<const __m128i*>(flags);
  return static_cast<u32>(_mm_movemask_epi8(halves[0])) | static_cast<u32>(_mm_movemask_epi8(halves[1])) << 16;
#else
  u32 bits = 0;
  for (u32 i = 0; i < lanes_per_warp; ++i) bits |= static_cast<u32>(flags[i] & 1) << i;
  return bits;
#endif
}

// The C++ type of a PTX integer type; .b types count as unsigned.
template <class T>
constexpr bool stands_for(ptx::Type type) {
  using ptx::Type;
  if constexpr (std::is_same_v<T, u8>) return type == Type::u8 || type == Type::b8;
  if constexpr (std::is_same_v<T, i8>) return type == Type::s8;
  if constexpr (std::is_same_v<T, u16>) return type == Type::u16 || type == Type::b16;
  if constexpr (std::is_same_v<T, i16>) return type == Type::s16;
  if constexpr (std::is_same_v<T, u32>) return type == Type::u32 || type == Type::b32;
  if constexpr (std::is_same_v<T, i32>) return type == Type::s32;
  if constexpr (std::is_same_v<T, u64>) return type == Type::u64 || type == Type::b64;
  if constexpr (std::is_same_v<T, i64>) return type == Type::s64;
  if constexpr (std::is_same_v<T, float>) return type == Type::f32;
  if constexpr (std::is_same_v<T, double>) return type == Type::f64;
  return false;
}

// make.operator()<T>() for the T of the list that `type` stands for; refused where there is none.
template <class... Ts, class Make>
Handler for_type(const FunctionDecoder& decoder, ptx::Type type, Make make) {
  Handler handler = nullptr;
  ((stands_for<Ts>(type) ? (handler = make.template operator()<Ts>(), true) : false) || ...);
  if (handler == nullptr)
    decoder.refuse(type == ptx::Type::none ? std::string("it has no type")
                                           : "it has no form for ." + std::string(ptx::name_of(type)));
  return handler;
}

// Emits an op of operands d, a[, b[, c]] with their types.
inline Op& emit_lanewise(FunctionDecoder& decoder, const Effect& effect, Handler handler, ptx::Type to,
                         std::initializer_list<ptx::Type> from) {
  decoder.expect_operands(1 + from.size());
  Operand rows[3];
  std::size_t i = 0;
  for (ptx::Type type : from) {
    rows[i] = decoder.source(decoder.operand(1 + i), type);
    ++i;
  }
  const Operand d = decoder.destination(decoder.operand(0), to);
  Op& op = decoder.emit(handler, effect);
  op.d = d;
  op.a = rows[0];
  op.b = rows[1];
  op.c = rows[2];
  return op;
}
inline Op& emit_arithmetic(FunctionDecoder& decoder, Handler handler, ptx::Type to,
                           std::initializer_list<ptx::Type> from) {
  return emit_lanewise(decoder, Effect::arithmetic(), handler, to, from);
}

}  // namespace wm::vgpu
