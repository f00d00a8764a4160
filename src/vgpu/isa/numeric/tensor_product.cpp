// tcgen05.mma: gathering of operands, and D in tensor memory around the multiply kernel.
#include "vgpu/isa/numeric/tensor_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/isa/numeric/operands.hpp"

namespace wm::vgpu::numeric {

TensorAddress TensorShape::place(int sixteen, int eight) const {
  const auto lane = static_cast<std::uint32_t>(16 * sixteen), column = static_cast<std::uint32_t>(8 * eight);
  if (rows() == 128) return {d.lane + lane, d.column + column};
  if (!halves()) return {d.lane + 2 * lane, d.column + column};  // 64 rows: the first 16 lanes of each quarter
  const auto half = static_cast<std::uint32_t>(n) / 2;
  return column < half ? TensorAddress{d.lane + lane, d.column + column}
                       : TensorAddress{d.lane + lane + 64, d.column + column - half};
}

namespace {

constexpr int most_sixteens = 8;  // rows of a block

// Eight rows (of A) or columns (of B), K-major whatever the memory's order is.
void read_turned(RawGroup& group, const TensorDescriptor& matrix, std::uint32_t eight, Element element,
                 SharedReader& reader, char operand) {
  const std::uint32_t bytes = static_cast<std::uint32_t>(bits_of(element)) / 8;
  const std::uint32_t first = eight * 8 * bytes / 16, chunks = std::max(1u, 8 * bytes / 16);
  for (std::uint32_t k = 0; k < slice_bytes / bytes; ++k) {
    std::uint8_t line[32] = {};
    for (std::uint32_t c = 0; c < chunks; ++c) reader.read(line + 16 * c, matrix.mn_major(first + c, k), operand);
    const std::uint8_t* from = line + eight * 8 * bytes % 16;
    for (std::uint32_t row = 0; row < 8; ++row) std::memcpy(group.bytes[row] + k * bytes, from + row * bytes, bytes);
  }
}

// Rows of A in tensor memory: 32 bytes of a row are eight neighbouring cells.
RawGroup read_cells(TensorMemory& memory, std::uint32_t lane, std::uint32_t column) {
  RawGroup group;
  for (std::uint32_t row = 0; row < 8; ++row)
    for (std::uint32_t word = 0; word < 8; ++word)
      std::memcpy(group.bytes[row] + 4 * word, &memory.at(lane + row, column + word), 4);
  return group;
}

// One block's rows of A of one step.
void gather_a(const TensorShape& shape, const TensorStep& step, const TensorBlock& block, SharedReader& reader,
              float* panels, int at, int k) {
  RawGroup group;
  RawTransposed across;
  for (int eight = 0; eight < shape.rows() / 8; ++eight) {
    float* to = panels + (eight / 2 * k + at) * spread_row + eight % 2 * 32;
    const auto number = static_cast<std::uint32_t>(eight);
    if (step.a_cells) {
      // Its lanes are those of D; where the upper ones hold a copy, it is the same (refusal_of_cells).
      TensorShape like = shape;
      like.d = *step.a_cells;
      const TensorAddress place = like.place(eight / 2, 0);
      group = read_cells(*block.memory, place.lane + 8 * (number % 2), place.column);
      to_low_bits(shape.a, group);
    } else if (step.a_mn_major && bits_of(shape.a) == 16) {
      for (std::uint32_t i = 0; i < 16; ++i) reader.read(across.bytes[i], step.a.mn_major(number, i), 'A');
      widen_rows(shape.a, across, step.negate, to, spread_row);
      continue;
    } else if (step.a_mn_major) {
      read_turned(group, step.a, number, shape.a, reader, 'A');
    } else {
      read_rows(group, step.a.matrix, number, reader, 'A');
      if (has_gaps(shape.a)) spread_packed(shape.a, group);
    }
    widen_rows(shape.a, group, shape.k(), step.negate, to, spread_row);
  }
  if (step.scales)
    for (int sixteen = 0; sixteen < shape.rows() / 16; ++sixteen)
      scale_rows(shape, *step.scales, *block.memory, static_cast<std::uint32_t>(16 * sixteen),
                 panels + (sixteen * k + at) * spread_row);
}

// The columns of B that block `part` of the pair has.
void gather_b(const TensorShape& shape, const TensorStep& step, SharedReader& reader, float* panels, int at, int k,
              int part) {
  RawGroup group;
  RawTransposed across;
  const int eights = shape.n / 8 / shape.blocks;
  for (int eight = 0; eight < eights; ++eight) {
    float* to = panels + ((part * eights + eight) * k + at) * 8;
    const auto number = static_cast<std::uint32_t>(eight);
    if (step.b_mn_major && bits_of(shape.b) == 16) {
      for (std::uint32_t i = 0; i < 16; ++i) reader.read(across.bytes[i], step.b.mn_major(number, i), 'B');
      widen_columns(shape.b, across, to);
      continue;
    }
    if (step.b_mn_major)
      read_turned(group, step.b, number, shape.b, reader, 'B');
    else
      read_rows(group, step.b.matrix, number, reader, 'B');
    if (has_gaps(shape.b)) spread_packed(shape.b, group);
    widen_columns(shape.b, group, shape.k(), to);
  }
}

// Sixteen rows of D as the kernel wants them: in place, or in a copy where the cells are not f32 or integers of whole
// tiles that may all be written.
class Accumulators {
 public:
  Accumulators(const TensorShape& shape, TensorMemory& memory, const std::uint32_t* kept, int sixteen)
      : shape_(shape), memory_(memory), kept_(kept), sixteen_(sixteen) {
    in_place_ = shape.sum != Sum::f16 && shape.d.column % TensorMemory::tile_columns == 0 &&
                std::all_of(kept, kept + 4, [](std::uint32_t word) { return word == 0; });
  }

  // Row `r` of the fragment of columns 8 * eight to 8 * eight + 7.
  void open(std::uint32_t* const* copy, std::uint32_t** rows) {
    copy_ = copy;
    for (int eight = 0; eight < shape_.n / 8; ++eight) {
      const TensorAddress place = shape_.place(sixteen_, eight);
      for (int r = 0; r < 4; ++r)
        rows[4 * eight + r] = in_place_ ? memory_.tile(place.lane, place.column) + r * 32 : copy[4 * eight + r];
      if (!in_place_)
        each(eight, [&](std::uint32_t& cell, std::uint32_t& own, std::uint32_t) {
          own = shape_.sum == Sum::f16 ? f32_bits(f32_of_f16(cell & 0xffff)) : cell;
        });
    }
  }
  void close() {
    if (in_place_) return;
    for (int eight = 0; eight < shape_.n / 8; ++eight)
      each(eight, [&](std::uint32_t& cell, std::uint32_t& own, std::uint32_t lane) {
        if ((kept_[lane / 32] >> lane % 32 & 1) == 0) cell = shape_.sum == Sum::f16 ? f16_of_f32(f32_from(own)) : own;
      });
  }

 private:
  template <class Use>
  void each(int eight, const Use& use) {
    const TensorAddress place = shape_.place(sixteen_, eight);
    for (std::uint32_t r = 0; r < 4; ++r)
      for (std::uint32_t i = 0; i < 32; ++i) {
        const std::uint32_t lane = place.lane + i / 4 + 8 * (r / 2), column = place.column + 2 * (i % 4) + r % 2;
        use(memory_.at(lane, column), copy_[4 * static_cast<std::uint32_t>(eight) + r][i], lane);
      }
  }
  const TensorShape& shape_;
  TensorMemory& memory_;
  const std::uint32_t* kept_;
  int sixteen_;
  bool in_place_;
  std::uint32_t* const* copy_ = nullptr;
};

// Elements of fewer than 8 bits in tensor memory, of which some bits mean nothing and are zeros.
std::string refusal_of_padding(const TensorShape& shape, const TensorStep& step, TensorMemory& memory) {
  const std::uint32_t used = shape.a == Element::e2m1 ? 0x3c3c3c3c : 0x3f3f3f3f;
  TensorShape like = shape;
  like.d = *step.a_cells;
  for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(shape.rows()); ++row)
    for (std::uint32_t word = 0; word < slice_bytes / 4; ++word) {
      const TensorAddress place = like.place(static_cast<int>(row / 16), 0);
      const std::uint32_t lane = place.lane + row % 16, cell = memory.at(lane, place.column + word);
      if ((cell & ~used) != 0)
        return fmt::format(
            "row {} of A is {:#010x} in lane {} of tensor memory, column {}: its elements lie in bits "
            "{} of each byte, and the others are zeros",
            row, cell, lane, place.column + word, shape.a == Element::e2m1 ? "2-5" : "0-5");
    }
  return {};
}

}  // namespace

std::string refusal_of_cells(const TensorShape& shape, const TensorStep& step, std::span<const TensorBlock> blocks) {
  for (const TensorBlock& block : blocks) {
    if (step.a_cells && shape.halves())
      for (std::uint32_t row = 0; row < 64; ++row)
        for (std::uint32_t word = 0; word < slice_bytes / 4; ++word)
          if (const std::uint32_t column = step.a_cells->column + word;
              block.memory->at(row, column) != block.memory->at(row + 64, column))
            return fmt::format(
                "row {0} of A differs between lanes {0} and {1} of tensor memory: of 64 rows in each of "
                "two blocks both hold it",
                row, row + 64);
    if (step.a_cells && has_gaps(shape.a))
      if (std::string no = refusal_of_padding(shape, step, *block.memory); !no.empty()) return no;
    if (step.scales)
      if (std::string no = refusal_of_scales(shape, *step.scales, *block.memory); !no.empty()) return no;
  }
  return {};
}

std::optional<OutOfWindow> tensor_product(const TensorShape& shape, std::span<const TensorStep> steps,
                                          std::span<const TensorBlock> blocks) {
  thread_local Panels panels(most_sixteens);
  const std::size_t most = shape.sum == Sum::f32 ? static_cast<std::size_t>(Panels::most_k / shape.k()) : 1;
  const int eights = shape.n / 8;
  while (!steps.empty()) {
    std::size_t count = 1;
    while (count < std::min(most, steps.size()) && steps[count].accumulate && steps[count].scale == 0) ++count;
    const int k = static_cast<int>(count) * shape.k();
    const auto at = [&](std::size_t step) { return static_cast<int>(step) * shape.k(); };
    const auto gather_all_b = [&]() -> std::optional<OutOfWindow> {
      for (std::size_t part = 0; part < blocks.size(); ++part) {
        SharedReader reader(blocks[part].shared);
        for (std::size_t i = 0; i < count; ++i)
          gather_b(shape, steps[i], reader, panels.b.get(), at(i), k, static_cast<int>(part));
        if (reader.problem()) return reader.problem();
      }
      return std::nullopt;
    };
    if (auto problem = gather_all_b()) return problem;
    for (std::size_t part = 0; part < blocks.size(); ++part) {
      const TensorBlock& block = blocks[part];
      if (steps[0].scales) {  // each block has its own, of all columns
        if (part > 0) gather_all_b();
        for (std::size_t i = 0; i < count; ++i)
          for (int eight = 0; eight < eights; ++eight)
            scale_columns(shape, *steps[i].scales, *block.memory, static_cast<std::uint32_t>(8 * eight),
                          panels.b.get() + (eight * k + at(i)) * 8);
      }
      SharedReader reader(block.shared);
      for (std::size_t i = 0; i < count; ++i) gather_a(shape, steps[i], block, reader, panels.a.get(), at(i), k);
      if (reader.problem()) return reader.problem();
      for (int sixteen = 0; sixteen < shape.rows() / 16; ++sixteen) {
        std::array<std::uint32_t*, 128> rows{}, copy{};
        for (std::size_t r = 0; r < copy.size(); ++r) copy[r] = panels.words.get() + r * 32;
        Accumulators sums(shape, *block.memory, shape.kept.data() + 4 * part, sixteen);
        sums.open(copy.data(), rows.data());
        if (steps[0].scale != 0 && steps[0].accumulate)
          for (int r = 0; r < 4 * eights; ++r)
            for (int i = 0; i < 32; ++i) {
              std::uint32_t& word = rows[static_cast<std::size_t>(r)][i];
              word = f32_bits(std::ldexp(f32_from(word), -steps[0].scale));
            }
        const float* a = panels.a.get() + sixteen * k * spread_row;
        const Accumulation how{shape.sum == Sum::f16 ? Sum::f32 : shape.sum, shape.saturate, steps[0].accumulate};
        multiply_fragments(how, a, panels.b.get(), k, eights, rows.data(), panels.sums.get());
        sums.close();
      }
    }
    steps = steps.subspan(count);
  }
  return std::nullopt;
}

}  // namespace wm::vgpu::numeric
