// Registers to raw rows, and accumulators of every type around the f32 kernel.
#include "vgpu/isa/numeric/fragment.hpp"

#include <cstring>

#include "vgpu/isa/numeric/dispatch.hpp"
#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/isa/numeric/integer.hpp"

namespace wm::vgpu::numeric {

namespace {

constexpr int lanes = 32;

// One register of all lanes is eight rows of 16 bytes.
void place(RawGroup& group, int chunk, const std::uint32_t* lane_words) {
  for (int row = 0; row < 8; ++row) {
    if (lane_words)
      std::memcpy(group.bytes[row] + 16 * chunk, lane_words + 4 * row, 16);
    else
      std::memset(group.bytes[row] + 16 * chunk, 0, 16);
  }
}

void add_integers(std::uint32_t* row, const float* sums, const Accumulation& how) {
  dispatch([&]() __attribute__((always_inline)) {
    for (int i = 0; i < lanes; ++i) {
      const auto sum = static_cast<std::int32_t>(sums[i]);  // exact: below 2^24
      const std::uint32_t old = how.accumulate ? row[i] : 0;
      const std::uint32_t wrapped = old + static_cast<std::uint32_t>(sum);
      const std::uint32_t clamped = saturate_s32(std::int64_t{static_cast<std::int32_t>(old)} + sum);
      row[i] = how.saturate ? clamped : wrapped;
    }
  });
}

}  // namespace

RawGroup rows_from_registers(const std::array<const std::uint32_t*, 4>& registers, int half) {
  RawGroup group;
  for (int chunk = 0; chunk < 2; ++chunk) place(group, chunk, registers[static_cast<std::size_t>(2 * chunk + half)]);
  return group;
}

RawGroup columns_from_registers(const std::array<const std::uint32_t*, 2>& registers) {
  RawGroup group;
  for (int chunk = 0; chunk < 2; ++chunk) place(group, chunk, registers[static_cast<std::size_t>(chunk)]);
  return group;
}

void multiply_fragments(const Accumulation& how, const float* a, const float* b, int k, int groups,
                        std::uint32_t* const* rows, float* scratch) {
  if (how.sum == Sum::f32) return multiply_panels(a, b, k, groups, rows, how.accumulate);

  std::array<std::uint32_t*, 128> sums{};
  for (int r = 0; r < 4 * groups; ++r)
    sums[static_cast<std::size_t>(r)] = reinterpret_cast<std::uint32_t*>(scratch) + r * lanes;
  if (how.sum == Sum::s32) {
    multiply_panels(a, b, k, groups, sums.data(), false);
    for (int r = 0; r < 4 * groups; ++r) add_integers(rows[r], scratch + r * lanes, how);
    return;
  }
  // f16: the register of a pair of columns against the two rows of sums of even and odd columns.
  if (how.accumulate)
    for (int r = 0; r < 2 * groups; ++r)
      dispatch([&]() __attribute__((always_inline)) {
        for (int i = 0; i < lanes; ++i) {
          scratch[2 * r * lanes + i] = f32_of_f16(rows[r][i] & 0xffff);
          scratch[(2 * r + 1) * lanes + i] = f32_of_f16(rows[r][i] >> 16);
        }
      });
  multiply_panels(a, b, k, groups, sums.data(), how.accumulate);
  for (int r = 0; r < 2 * groups; ++r)
    dispatch([&]() __attribute__((always_inline)) {
      for (int i = 0; i < lanes; ++i)
        rows[r][i] =
            std::uint32_t{f16_of_f32(scratch[(2 * r + 1) * lanes + i])} << 16 | f16_of_f32(scratch[2 * r * lanes + i]);
    });
}

}  // namespace wm::vgpu::numeric
