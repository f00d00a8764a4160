// Formats of matrices whose elements share scales: what an element is, how many along k share one, how they lie. Plain
// C++, shared by host and device.
#pragma once

namespace wm {

// mx: a power of two (ue8m0) for each 32 elements. nvfp4: a float of 8 bits without a sign (ue4m3) for each 16.
enum class BlockFormat : unsigned char { none, mxfp8_e4m3, mxfp8_e5m2, mxfp6_e2m3, mxfp6_e3m2, mxfp4, nvfp4 };

// What a format says: of an element the widths of exponent and mantissa, and its largest value; e2m1, e2m3 and e3m2
// have no infinities and no NaN.
struct BlockFormatFacts {
  int bits;  // an element, with its sign
  int exponent, mantissa;
  int most_exponent;  // the largest value is (1 + most_mantissa / 2^mantissa) 2^most_exponent
  int most_mantissa;
  int group;  // elements along k that share a scale
};
constexpr BlockFormatFacts facts_of(BlockFormat format) {
  switch (format) {
    case BlockFormat::mxfp8_e4m3: return {8, 4, 3, 8, 6, 32};   // 448
    case BlockFormat::mxfp8_e5m2: return {8, 5, 2, 15, 3, 32};  // 57344
    case BlockFormat::mxfp6_e2m3: return {6, 2, 3, 2, 7, 32};   // 7.5
    case BlockFormat::mxfp6_e3m2: return {6, 3, 2, 4, 3, 32};   // 28
    case BlockFormat::mxfp4: return {4, 2, 1, 2, 1, 32};        // 6
    case BlockFormat::nvfp4: return {4, 2, 1, 2, 1, 16};        // 6
    case BlockFormat::none: break;
  }
  return {};
}

// Rows lie packed, without gaps, element 0 in the lowest bits; each is padded with zeros along k to so many elements.
constexpr long long row_grain(BlockFormat format) { return facts_of(format).bits == 4 ? 256 : 128; }
constexpr long long padded_k(BlockFormat format, long long k) {
  const long long grain = row_grain(format);
  return (k + grain - 1) / grain * grain;
}
constexpr long long row_bytes(BlockFormat format, long long k) {
  return padded_k(format, k) * facts_of(format).bits / 8;
}

// Elements of 8 bits may lie the other way, MN-major: all rows side by side for each k, in lines of whole 16 bytes.
constexpr long long line_bytes(long long rows) { return (rows + 15) / 16 * 16; }
constexpr bool may_be_mn_major(BlockFormat format) { return facts_of(format).bits == 8; }

// Scales lie in blocks of 512 bytes for 128 rows and four groups along k, as tensor memory takes them: first all blocks
// along k, then the next 128 rows. Rows are padded to an even number of blocks, for tiles of 256.
inline constexpr int scale_block_bytes = 512, scale_block_rows = 128, scale_block_groups = 4;
constexpr long long scale_blocks_along_k(BlockFormat format, long long k) {
  return padded_k(format, k) / (facts_of(format).group * scale_block_groups);
}
constexpr long long scale_bytes(BlockFormat format, long long rows, long long k) {
  return (rows + 2 * scale_block_rows - 1) / (2 * scale_block_rows) * 2 * scale_blocks_along_k(format, k) *
         scale_block_bytes;
}
constexpr unsigned scale_place(unsigned row, unsigned group) {  // in a block
  return row % 32 * 16 + row / 32 * 4 + group;
}

}  // namespace wm
