// The chip's sums, one accumulator at a time.
#include "vgpu/isa/numeric/chip_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "vgpu/isa/numeric/exact.hpp"
#include "vgpu/isa/numeric/halves.hpp"

namespace wm::vgpu::numeric {

namespace {

constexpr int f32_lowest = layout_of(Format::f32).lowest_exponent();

int lowest_exponent(Element element) {
  switch (element) {
    case Element::f16: return layout_of(Format::f16).lowest_exponent();
    case Element::e4m3: return layout_of(Format::e4m3).lowest_exponent();
    case Element::e5m2: return layout_of(Format::e5m2).lowest_exponent();
    default: return f32_lowest;
  }
}

// One summand: its value and the exponent it is aligned by, which is the sum of the operands' own and so may be less
// than that of the product.
struct Term {
  double value;
  int exponent;
};

class Adder {
 public:
  Adder(const ChipSum& how, Sum sum) : how_(how), sum_(sum) {}

  float add(const Term* terms, int count) const {
    int largest = 4 * f32_lowest;
    double special = 0;  // NaN and infinities, as floating-point addition joins them
    for (int i = 0; i < count; ++i) {
      if (!std::isfinite(terms[i].value)) special += terms[i].value;
      largest = std::max(largest, terms[i].value == 0 ? f32_lowest : terms[i].exponent);
    }
    if (special != 0) return static_cast<float>(special);  // true of NaN too
    std::int64_t total = 0;
    for (int i = 0; i < count; ++i)
      total += static_cast<std::int64_t>(std::ldexp(terms[i].value, how_.fraction_bits - largest));
    const auto size = static_cast<std::uint64_t>(total < 0 ? -total : total);
    return rounded({total < 0, largest - how_.fraction_bits, size});
  }

 private:
  float rounded(const Exact& total) const {
    if (sum_ == Sum::f16) return f32_of_f16(static_cast<std::uint32_t>(pack(Format::f16, total, {})));
    const int highest = total.exponent + bit_width(total.significand) - 1;
    if (total.significand != 0 && highest > 127) return total.negative ? -HUGE_VALF : HUGE_VALF;
    const int quantum = std::max(highest, f32_lowest) - how_.result_bits;
    const Exact cut = round_to_multiple(total, quantum, Rounding::rz);
    return f32_from(static_cast<std::uint32_t>(pack(Format::f32, cut, {.rounding = Rounding::rz})));
  }

  ChipSum how_;
  Sum sum_;
};

// Where accumulator `r` of a group lies: register, and half of it for f16.
float load(Sum sum, std::uint32_t* const* rows, int r, int lane) {
  if (sum == Sum::f32) return f32_from(rows[r][lane]);
  return f32_of_f16(rows[r / 2][lane] >> r % 2 * 16 & 0xffff);
}
void store(Sum sum, std::uint32_t* const* rows, int r, int lane, float value) {
  if (sum == Sum::f32) {
    rows[r][lane] = std::isnan(value) ? 0x7fffffff : f32_bits(value);
    return;
  }
  const std::uint32_t kept = rows[r / 2][lane] & (r % 2 ? 0xffffu : 0xffff0000u);
  rows[r / 2][lane] = kept | std::uint32_t{f16_of_f32(value)} << r % 2 * 16;
}

}  // namespace

void multiply_as_chip(const ChipSum& how, Element a_type, Element b_type, const Accumulation& accumulation,
                      const float* a, const float* b, int k, int groups, std::uint32_t* const* rows) {
  const Adder adder(how, accumulation.sum);
  const int a_lowest = lowest_exponent(a_type), b_lowest = lowest_exponent(b_type);
  const auto exponent = [](float value, int lowest) {
    return value == 0 ? lowest : std::max(std::ilogb(value), lowest);
  };
  const int rows_of_group = accumulation.sum == Sum::f16 ? 2 : 4;
  Term terms[33];
  for (int group = 0; group < groups; ++group, rows += rows_of_group, b += k * 8)
    for (int r = 0; r < 4; ++r)
      for (int lane = 0; lane < 32; ++lane) {
        float sum = accumulation.accumulate ? load(accumulation.sum, rows, r, lane) : 0.0f;
        for (int first = 0; first < k; first += how.products) {
          const int count = std::min(how.products, k - first);
          for (int i = 0; i < count; ++i) {
            const float x = a[(first + i) * 64 + r / 2 * 32 + lane], y = b[(first + i) * 8 + r % 2 * 4 + lane % 4];
            terms[i] = {static_cast<double>(x) * y, exponent(x, a_lowest) + exponent(y, b_lowest)};
          }
          terms[count] = {sum, exponent(sum, f32_lowest)};
          sum = adder.add(terms, count + 1);
        }
        store(accumulation.sum, rows, r, lane, sum);
      }
}

}  // namespace wm::vgpu::numeric
