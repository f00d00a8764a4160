// Numbers to a matrix with block scales (gemm/block_format.h): a thread for each group along k finds its scale and
// rounds its elements. For sm_100a and sm_120a, which convert to the narrow floats.
#pragma once

#include "warpmill/gemm/block_format.h"
#include "warpmill/tile/element.cuh"

namespace wm {

struct QuantizeArguments {
  unsigned long long source, data, scales;  // addresses
  long long row_stride, column_stride;      // of the source, in elements
  unsigned rows, k;
  unsigned row_bytes, groups;  // of the padded rows
  unsigned line_bytes;         // from one k to the next where elements lie MN-major; 0: they lie along k
  unsigned scale_blocks;       // along k
};

// The bits of two elements, the first in the low ones.
template <BlockFormat format>
WM_DEVICE u32 narrow_pair(f32 low, f32 high) {
  using enum BlockFormat;
  if constexpr (format == mxfp8_e4m3) return pack<e4m3>(low, high);
  if constexpr (format == mxfp8_e5m2) return pack<e5m2>(low, high);
  u16 pair;
  if constexpr (format == mxfp6_e2m3) asm("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  if constexpr (format == mxfp6_e3m2) asm("cvt.rn.satfinite.e3m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  if constexpr (format == mxfp6_e2m3 || format == mxfp6_e3m2) return (pair & 0x3f) | u32(pair) >> 8 << 6;
  u32 word;
  asm("{.reg .b8 two; cvt.rn.satfinite.e2m1x2.f32 two, %1, %2; mov.b32 %0, {two, two, two, two};}"
      : "=r"(word)
      : "f"(high), "f"(low));
  return word & 0xff;
}

// A group's scale for its largest magnitude, as a byte, and what the elements are multiplied by (mx) or divided by
// (nv). mx: the least power of two that brings all into range. nv: what makes the largest a 6, rounded to e4m3.
template <BlockFormat format>
WM_DEVICE u32 scale_of(f32 largest) {
  constexpr BlockFormatFacts facts = facts_of(format);
  if constexpr (format == BlockFormat::nvfp4) {
    return pack<e4m3>(largest / 6.f, 0.f) & 0xff;
  } else {
    constexpr u32 most = u32(facts.most_mantissa) << (23 - facts.mantissa);
    const u32 bits = __float_as_uint(largest);
    const i32 exponent = i32(bits >> 23) - facts.most_exponent + ((bits & 0x7fffff) > most);
    return exponent < 0 ? 0 : exponent > 254 ? 254 : exponent;
  }
}
template <BlockFormat format>
WM_DEVICE f32 scaled(f32 value, u32 scale) {
  if constexpr (format == BlockFormat::nvfp4) {
    u32 halves;  // e4m3 is exact in f16
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(u16(scale)));
    return scale == 0 ? 0.f : value / to_float(f16::from_bits(u16(halves)));
  } else {
    return value * __uint_as_float(scale == 254 ? 0x400000u : (254 - scale) << 23);  // 2^(127 - scale)
  }
}

template <class Source, BlockFormat format>
__global__ __launch_bounds__(256) void quantize(const __grid_constant__ QuantizeArguments args) {
  constexpr BlockFormatFacts facts = facts_of(format);
  constexpr u32 group = facts.group, bytes = group * facts.bits / 8;
  const u64 number = u64(blockIdx.x) * 256 + threadIdx.x;
  const u32 row = u32(number / args.groups), g = u32(number % args.groups);
  const u64 scale_rows = (u64(args.rows) + 255) / 256 * 256;
  if (row >= scale_rows) return;
  f32 value[group];
  f32 largest = 0.f;
  const Source* const line = reinterpret_cast<const Source*>(args.source) + row * args.row_stride;
#pragma unroll
  for (u32 i = 0; i < group; ++i) {
    const u32 column = g * group + i;
    value[i] = row < args.rows && column < args.k ? to_float(line[column * args.column_stride]) : 0.f;
    largest = fmaxf(largest, fabsf(value[i]));
  }
  const u32 scale = scale_of<format>(largest);
  const u64 block = u64(row / scale_block_rows) * args.scale_blocks + g / scale_block_groups;
  reinterpret_cast<u8*>(
      args.scales)[block * scale_block_bytes + scale_place(row % scale_block_rows, g % scale_block_groups)] = u8(scale);
  if (row >= args.rows) return;
  if constexpr (may_be_mn_major(format))
    if (args.line_bytes != 0) {
      u8* const column = reinterpret_cast<u8*>(args.data) + row;
#pragma unroll
      for (u32 i = 0; i < group; i += 2) {
        const u32 pair = narrow_pair<format>(scaled<format>(value[i], scale), scaled<format>(value[i + 1], scale));
        const u64 at = g * group + i;
        if (at < args.k) column[at * args.line_bytes] = u8(pair);
        if (at + 1 < args.k) column[(at + 1) * args.line_bytes] = u8(pair >> 8);
      }
      return;
    }
  // Elements are gathered in 64 bits and leave four bytes at a time.
  u32* const to = reinterpret_cast<u32*>(reinterpret_cast<u8*>(args.data) + u64(row) * args.row_bytes + g * bytes);
  u64 gathered = 0;
  u32 filled = 0, word = 0;
#pragma unroll
  for (u32 i = 0; i < group; i += 2) {
    const u32 pair = narrow_pair<format>(scaled<format>(value[i], scale), scaled<format>(value[i + 1], scale));
    gathered |= u64(pair) << filled;
    filled += 2 * facts.bits;
    if (filled >= 32) {
      to[word++] = u32(gathered);
      gathered >>= 32;
      filled -= 32;
    }
  }
}

}  // namespace wm
