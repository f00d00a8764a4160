// Types that host and device share, so that a program which includes both sides has one bf16 and one tensor map, and a
// kernel takes by value what the host made. Plain C++, for NVRTC, nvcc and any host compiler.
#pragma once

namespace wm {

// Element types as values. include/warpmill/dtype.hpp has their names and sizes.
enum class DType : unsigned char { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, tf32, f64, e4m3, e5m2 };

// Along which dimension an operand's elements lie side by side: k, or m (of A) or n (of B).
enum class Major : unsigned char { k, mn };

// The small floats store bits only; arithmetic is done in float. On the host a conversion rounds to nearest even, and
// e4m3 and e5m2 saturate to the largest finite value, as cvt.rn.satfinite does. In a kernel conversions are
// instructions, and the types stay trivial, so that they may lie in __shared__ memory.
struct bf16 {
  unsigned short bits;
  static constexpr bf16 from_bits(unsigned short bits) {
    bf16 value{};
    value.bits = bits;
    return value;
  }
#ifndef __CUDACC_RTC__
  bf16() = default;
  explicit bf16(float value);
  explicit operator float() const;
#endif
};
struct f16 {
  unsigned short bits;
  static constexpr f16 from_bits(unsigned short bits) {
    f16 value{};
    value.bits = bits;
    return value;
  }
#ifndef __CUDACC_RTC__
  f16() = default;
  explicit f16(float value);
  explicit operator float() const;
#endif
};
struct e4m3 {
  unsigned char bits;
  static constexpr e4m3 from_bits(unsigned char bits) {
    e4m3 value{};
    value.bits = bits;
    return value;
  }
#ifndef __CUDACC_RTC__
  e4m3() = default;
  explicit e4m3(float value);
  explicit operator float() const;
#endif
};
struct e5m2 {
  unsigned char bits;
  static constexpr e5m2 from_bits(unsigned char bits) {
    e5m2 value{};
    value.bits = bits;
    return value;
  }
#ifndef __CUDACC_RTC__
  e5m2() = default;
  explicit e5m2(float value);
  explicit operator float() const;
#endif
};

// A tensor map as the driver (or the virtual device) encoded it; opaque. In a kernel: `const __grid_constant__
// TensorMap`, or in global memory at a multiple of 128 bytes.
struct alignas(128) TensorMap {
  unsigned char bytes[128];
};

}  // namespace wm
