// mma.sync of narrow floats: registers to panels, scales, the multiply kernel.
#include "vgpu/isa/numeric/narrow_mma.hpp"

#include <array>
#include <cstring>

#include "vgpu/isa/numeric/narrow.hpp"
#include "vgpu/isa/numeric/operands.hpp"

namespace wm::vgpu::numeric {

namespace {

constexpr int lanes = 32, most_k = 64;

float scale_of(const NarrowMmaShape& shape, const NarrowMmaScales& scales, std::uint32_t lane, int group) {
  return scale_number(scales.lanes[lane] >> 8 * (scales.byte + static_cast<std::uint32_t>(group)) & 0xff, shape.ue8m0);
}

}  // namespace

void mma_narrow(const NarrowMmaShape& shape, Rows d, ConstRows a, ConstRows b, ConstRows c,
                const NarrowMmaScales& a_scales, const NarrowMmaScales& b_scales) {
  alignas(64) float panel_a[most_k * spread_row];
  alignas(64) float panel_b[most_k * 8];
  alignas(64) float scratch[4 * lanes];
  const int k = shape.k();
  for (int half = 0; half < 2; ++half) {
    RawGroup rows = rows_from_registers({a[0], a[1], a[2], a[3]}, half);
    to_low_bits(shape.a, rows);
    widen_rows(shape.a, rows, k, false, panel_a + half * 32, spread_row);
  }
  RawGroup columns = columns_from_registers({b[0], b[1]});
  to_low_bits(shape.b, columns);
  widen_columns(shape.b, columns, k, panel_b);
  for (int group = 0; group < shape.scales; ++group)
    for (int i = group * k / shape.scales; i < (group + 1) * k / shape.scales; ++i) {
      for (std::uint32_t row = 0; row < 16; ++row) {
        const float scale = scale_of(shape, a_scales, row % 8 * 4 + 2 * a_scales.thread + row / 8, group);
        for (std::uint32_t copy = 0; copy < 4; ++copy)
          panel_a[static_cast<std::uint32_t>(i) * spread_row + 4 * row + copy] *= scale;
      }
      for (std::uint32_t at = 0; at < 8; ++at)  // the even columns come first
        panel_b[static_cast<std::uint32_t>(i) * 8 + at] *=
            scale_of(shape, b_scales, (2 * (at % 4) + at / 4) * 4 + b_scales.thread, group);
    }
  std::array<std::uint32_t*, 4> sums{};
  for (std::size_t r = 0; r < d.size(); ++r) {
    sums[r] = d[r];
    if (d[r] != c[r]) std::memmove(d[r], c[r], lanes * sizeof(std::uint32_t));
  }
  multiply_fragments({shape.sum, false, true}, panel_a, panel_b, k, 1, sums.data(), scratch);
}

}  // namespace wm::vgpu::numeric
