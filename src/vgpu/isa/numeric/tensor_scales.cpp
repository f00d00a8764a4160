// Where scales lie in tensor memory, their numbers, and their products with operands.
#include "vgpu/isa/numeric/tensor_scales.hpp"

#include <array>

#include <fmt/format.h>

#include "vgpu/isa/numeric/narrow.hpp"
#include "vgpu/isa/numeric/tensor_product.hpp"

namespace wm::vgpu::numeric {

namespace {

constexpr std::uint32_t quarter = 32;  // lanes that hold one copy

std::uint32_t count_of_b(const TensorShape& shape) {
  return static_cast<std::uint32_t>(shape.halves() ? shape.n / 2 : shape.n);
}

// The first lane and the column of a row's cell, and the lanes from its first copy to the one behind its last.
struct Cells {
  TensorAddress first;
  std::uint32_t lanes = TensorMemory::lanes;
};
Cells cells_of_a(const TensorScales& scales, std::uint32_t row) {
  return {{row % quarter, scales.a.column + row / quarter}};
}
Cells cells_of_b(const TensorShape& shape, const TensorScales& scales, std::uint32_t row) {
  if (!shape.halves()) return {{row % quarter, scales.b.column + row / quarter}};
  const std::uint32_t half = count_of_b(shape), within = row % half;
  return {{within % quarter + row / half * 64, scales.b.column + within / quarter}, 64};
}

constexpr int most_scales = 4;  // of a row, in one step

std::array<float, most_scales> numbers_of(const TensorShape& shape, const TensorScales& scales, TensorMemory& memory,
                                          const Cells& cells, std::uint32_t first_byte) {
  const std::uint32_t word = memory.at(cells.first.lane, cells.first.column) >> 8 * first_byte;
  std::array<float, most_scales> numbers{};
  for (int i = 0; i < shape.k() / scales.group; ++i) numbers[i] = scale_number(word >> 8 * i & 0xff, scales.ue8m0);
  return numbers;
}

std::string refusal_of(const TensorShape& shape, const TensorScales& scales, TensorMemory& memory, const Cells& cells,
                       std::uint32_t first_byte, char operand, std::uint32_t row) {
  const int count = shape.k() / scales.group;
  const auto [lane, column] = cells.first;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t shift = 8 * (first_byte + static_cast<std::uint32_t>(i));
    const std::uint32_t own = memory.at(lane, column) >> shift & 0xff;
    const auto where = [&] {
      return fmt::format("scale {} of {} {} of {}", i, operand == 'A' ? "row" : "column", row, operand);
    };
    if (!scales.ue8m0 && own > 0x7f)
      return fmt::format("{} is {:#04x}: ue4m3 has no sign, and bit 7 is zero", where(), own);
    for (std::uint32_t copy = lane + quarter; copy < lane / 64 * 64 + cells.lanes; copy += quarter)
      if (const std::uint32_t other = memory.at(copy, column) >> shift & 0xff; other != own)
        return fmt::format(
            "{} is {:#04x} in lane {} of tensor memory, column {}, and {:#04x} in lane {}: each 32 lanes "
            "hold the same",
            where(), own, lane, column, other, copy);
  }
  return {};
}

}  // namespace

std::uint32_t columns_of_a_scales(const TensorShape& shape) {
  return static_cast<std::uint32_t>(shape.rows()) / quarter;
}

std::uint32_t columns_of_b_scales(const TensorShape& shape, std::uint32_t lane) {
  return (count_of_b(shape) + quarter - 1 - lane % quarter) / quarter;
}

std::string refusal_of_scales(const TensorShape& shape, const TensorScales& scales, TensorMemory& memory) {
  for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(shape.rows()); ++row)
    if (std::string no = refusal_of(shape, scales, memory, cells_of_a(scales, row), scales.a_byte, 'A', row);
        !no.empty())
      return no;
  for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(shape.n); ++row)
    if (std::string no = refusal_of(shape, scales, memory, cells_of_b(shape, scales, row), scales.b_byte, 'B', row);
        !no.empty())
      return no;
  return {};
}

void scale_rows(const TensorShape& shape, const TensorScales& scales, TensorMemory& memory, std::uint32_t first,
                float* rows) {
  for (std::uint32_t row = 0; row < 16; ++row) {
    const auto numbers = numbers_of(shape, scales, memory, cells_of_a(scales, first + row), scales.a_byte);
    for (int k = 0; k < shape.k(); ++k)
      for (std::uint32_t copy = 0; copy < 4; ++copy) rows[k * spread_row + 4 * row + copy] *= numbers[k / scales.group];
  }
}

void scale_columns(const TensorShape& shape, const TensorScales& scales, TensorMemory& memory, std::uint32_t first,
                   float* columns) {
  for (std::uint32_t i = 0; i < 8; ++i) {  // the even columns come first
    const std::uint32_t column = first + 2 * (i % 4) + i / 4;
    const auto numbers = numbers_of(shape, scales, memory, cells_of_b(shape, scales, column), scales.b_byte);
    for (int k = 0; k < shape.k(); ++k) columns[k * 8 + i] *= numbers[k / scales.group];
  }
}

}  // namespace wm::vgpu::numeric
