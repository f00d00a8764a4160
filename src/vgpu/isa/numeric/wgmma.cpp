// wgmma: descriptors, gathering of operands, and what surrounds the multiply kernel.
#include "vgpu/isa/numeric/wgmma.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "vgpu/isa/numeric/chip_sum.hpp"

namespace wm::vgpu::numeric {

std::string WgmmaShape::refusal() const {
  const bool integers = is_integer(a);
  const bool bytes = a == Element::e4m3 || a == Element::e5m2;
  if (n < 8 || n > 256 || n % 8 != 0) return fmt::format("n = {}: n is a multiple of 8 from 8 to 256", n);
  if (integers && n > 32 && n % 16 != 0)
    return fmt::format("n = {}: of 8-bit integers n is 8, 16, 24, 32 or a multiple of 16 up to 256", n);
  const bool alike = integers ? is_integer(b) : bytes ? (b == Element::e4m3 || b == Element::e5m2) : a == b;
  if (!alike) return "A and B have types that do not go together";
  if (integers != (sum == Sum::s32)) return "integers are summed in s32, and nothing else is";
  if (sum == Sum::f16 && (a == Element::bf16 || a == Element::tf32)) return "bf16 and tf32 are summed in f32 alone";
  if (saturate && !integers) return ".satfinite is for integers alone";
  return {};
}

std::string WgmmaStep::refusal(const WgmmaShape& shape) const {
  if ((a_mn_major || b_mn_major) && bits_of(shape.a) != 16) return "only 16-bit elements can be MN-major";
  if (a_mn_major && a_in_registers()) return "A in registers cannot be transposed";
  if ((negate_a || negate_b) && is_integer(shape.a)) return "integers cannot be negated";
  return {};
}

namespace {

constexpr int warps = 4;

void read_group(RawTransposed& group, const MatrixDescriptor& matrix, std::uint32_t eight, SharedReader& reader,
                char operand) {
  for (std::uint32_t k = 0; k < 16; ++k) reader.read(group.bytes[k], matrix.mn_major(eight, k), operand);
}

// Fills the panels' k from `at` of `k` in all with one step's operands.
void gather(const WgmmaShape& shape, const WgmmaStep& step, SharedReader& reader, Panels& panels, int at, int k) {
  const bool negate = step.negate_a != step.negate_b;
  RawGroup group;
  RawTransposed across;
  for (int eight = 0; eight < 64 / 8; ++eight) {
    float* to = panels.a.get() + (eight / 2 * k + at) * spread_row + eight % 2 * 32;
    if (step.a_in_registers()) {
      group = rows_from_registers(step.a_rows[static_cast<std::size_t>(eight / 2)], eight % 2);
    } else if (step.a_mn_major) {
      read_group(across, step.a, static_cast<std::uint32_t>(eight), reader, 'A');
      widen_rows(shape.a, across, negate, to, spread_row);
      continue;
    } else {
      read_rows(group, step.a, static_cast<std::uint32_t>(eight), reader, 'A');
    }
    widen_rows(shape.a, group, shape.k(), negate, to, spread_row);
  }
  for (int eight = 0; eight < shape.n / 8; ++eight) {
    float* to = panels.b.get() + (eight * k + at) * 8;
    if (step.b_mn_major) {
      read_group(across, step.b, static_cast<std::uint32_t>(eight), reader, 'B');
      widen_columns(shape.b, across, to);
    } else {
      read_rows(group, step.b, static_cast<std::uint32_t>(eight), reader, 'B');
      widen_columns(shape.b, group, shape.k(), to);
    }
  }
}

}  // namespace

std::optional<OutOfWindow> wgmma(const WgmmaShape& shape, std::span<const WgmmaStep> steps,
                                 std::span<const std::byte> shared, const WgmmaRegisters& registers) {
  thread_local Panels panels(warps);
  // A sum in f32 goes on through several steps; others are rounded or saturated after each.
  const std::size_t most = shape.sum == Sum::f32 ? static_cast<std::size_t>(Panels::most_k / shape.k()) : 1;
  const int groups = shape.n / 8;
  while (!steps.empty()) {
    std::size_t count = 1;
    while (count < std::min(most, steps.size()) && steps[count].accumulate) ++count;
    const int k = static_cast<int>(count) * shape.k();
    SharedReader reader(shared);
    for (std::size_t i = 0; i < count; ++i) gather(shape, steps[i], reader, panels, static_cast<int>(i) * shape.k(), k);
    if (reader.problem()) return reader.problem();
    for (std::size_t warp = 0; warp < warps; ++warp) {
      const auto row = [&](std::size_t r) { return registers.files[warp] + std::size_t{registers.rows[r]} * 32; };
      std::array<std::uint32_t*, 128> rows{};
      for (std::size_t r = 0; r < static_cast<std::size_t>(shape.registers()); ++r) rows[r] = row(r);
      const float* a = panels.a.get() + warp * static_cast<std::size_t>(k) * spread_row;
      const Accumulation how{shape.sum, shape.saturate, steps[0].accumulate};
      if (shape.as_chip && shape.sum != Sum::s32)
        multiply_as_chip(wgmma_sum(shape.a), shape.a, shape.b, how, a, panels.b.get(), k, groups, rows.data());
      else
        multiply_fragments(how, a, panels.b.get(), k, groups, rows.data(), panels.sums.get());
    }
    steps = steps.subspan(count);
  }
  return std::nullopt;
}

}  // namespace wm::vgpu::numeric
