// Fills and layouts. The generators use only integer arithmetic and the IEEE operations + - * / sqrt, so a seed gives
// the same bits on every machine; the build keeps the compiler from fusing them (-ffp-contract=off).
#include "fill.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "npy.hpp"
#include "warpmill/error.hpp"

namespace wm::cases {
namespace {

constexpr std::byte poisoned{0xa5};

// A function of seed and counter with 64 well mixed bits: two rounds of a multiply-xorshift permutation.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  return mix(mix(seed + 0x9e3779b97f4a7c15u) + (counter + 1) * 0x9e3779b97f4a7c15u);
}
// In [0, 1), a multiple of 2^-53.
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// ln x for x in (0, 1), by the series of artanh; the C library's log may differ from machine to machine.
double logarithm(double x) {
  constexpr double ln2 = 0.6931471805599453094;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // [0.5, 1)
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  const double t = (mantissa - 1) / (mantissa + 1), square = t * t;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * ln2 + 2 * t * sum;
}

// A standard normal number by Marsaglia's polar method; each try has a counter of its own.
double normal(std::uint64_t seed, std::uint64_t index) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const std::uint64_t counter = (attempt << 48) + 2 * index;
    const double u = 2 * unit(random_bits(seed, counter)) - 1;
    const double v = 2 * unit(random_bits(seed, counter + 1)) - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * logarithm(s) / s);
  }
}

// Calls write(index, element) for every element of a dense array.
template <class Write>
std::vector<std::byte> generate(const Layout& layout, const Tell& tell, Write write) {
  const std::size_t width = size_of(layout.dtype);
  std::vector<std::byte> elements(layout.elements * width);
  const Steps steps(tell, "elements filled", layout.elements);
  for (std::size_t i = 0; i < layout.elements; ++i) {
    steps.at(i);
    write(i, elements.data() + i * width);
  }
  return elements;
}

struct Filler {
  const Layout& layout;
  const Tell& tell;
  DType dtype = layout.dtype;
  std::size_t width = size_of(layout.dtype);

  std::vector<std::byte> operator()(const Poison&) const {
    return std::vector<std::byte>(layout.elements * width, is_floating(dtype) ? std::byte{0xff} : poisoned);
  }
  std::vector<std::byte> operator()(const Constant& fill) const {
    return generate(layout, tell,
                    [&](std::size_t, std::byte* element) { std::memcpy(element, fill.element.data(), width); });
  }
  std::vector<std::byte> operator()(const Iota& fill) const {
    return generate(layout, tell, [&](std::size_t i, std::byte* element) {
      const std::uint64_t step = fill.modulo ? i % fill.modulo : i;
      if (is_floating(dtype)) return store_element(dtype, element, fill.start + fill.step * static_cast<double>(step));
      const std::uint64_t value =
          static_cast<std::uint64_t>(fill.whole_start) + static_cast<std::uint64_t>(fill.whole_step) * step;
      std::memcpy(element, &value, width);
    });
  }
  std::vector<std::byte> operator()(const Uniform& fill) const {
    return generate(layout, tell, [&](std::size_t i, std::byte* element) {
      const std::uint64_t bits = random_bits(fill.seed, i);
      if (is_floating(dtype)) return store_element(dtype, element, fill.low + (fill.high - fill.low) * unit(bits));
      const std::uint64_t choices =
          static_cast<std::uint64_t>(fill.whole_high) - static_cast<std::uint64_t>(fill.whole_low) + 1;
      // 0: all 2^64 of them. Otherwise the high word of the product is uniform up to 2^-64 * choices.
      const std::uint64_t chosen =
          choices == 0 ? bits : static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * choices) >> 64);
      const std::uint64_t value = static_cast<std::uint64_t>(fill.whole_low) + chosen;
      std::memcpy(element, &value, width);
    });
  }
  std::vector<std::byte> operator()(const Normal& fill) const {
    return generate(layout, tell, [&](std::size_t i, std::byte* element) {
      store_element(dtype, element, fill.mean + fill.deviation * normal(fill.seed, i));
    });
  }
  std::vector<std::byte> operator()(const NpyFile& fill) const {
    const NpyArray array = read_npy(fill.path);
    if (array.shape != layout.shape)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} has the shape ({}), the buffer ({})", fill.path.string(),
                              fmt::join(array.shape, ", "), fmt::join(layout.shape, ", ")));
    try {
      return convert(array, dtype);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", fill.path.string(), error.what()));
    }
  }
};

// Calls visit(byte offset in memory) for each run of the innermost dimension, in row-major order.
template <class Visit>
void for_each_row(const Layout& layout, Visit visit) {
  if (layout.elements == 0) return;
  const std::size_t outer = layout.shape.empty() ? 0 : layout.shape.size() - 1;
  std::vector<std::int64_t> at(outer, 0);
  std::int64_t offset = 0;
  for (;;) {
    visit(static_cast<std::size_t>(offset));
    std::size_t d = outer;
    for (; d > 0; --d) {
      offset += layout.strides[d - 1];
      if (++at[d - 1] < layout.shape[d - 1]) break;
      offset -= layout.strides[d - 1] * layout.shape[d - 1];
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

// Copies between dense elements and strided memory; `copy(dense, strided)` gets the pointers' offsets in bytes.
template <class Copy>
void for_each_element(const Layout& layout, Copy copy) {
  const std::size_t width = size_of(layout.dtype);
  const std::size_t row = layout.shape.empty() ? 1 : static_cast<std::size_t>(layout.shape.back());
  const std::size_t step = layout.strides.empty() ? 1 : static_cast<std::size_t>(layout.strides.back());
  std::size_t dense = 0;
  for_each_row(layout, [&](std::size_t offset) {
    for (std::size_t i = 0; i < row; ++i, dense += width) copy(dense, (offset + i * step) * width);
  });
}

}  // namespace

Layout make_layout(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  auto refuse = [](const std::string& why) { throw Error(ErrorCode::invalid_argument, why); };
  Layout layout;
  layout.dtype = dtype;
  const bool given = !strides.empty();
  if (given && strides.size() != shape.size())
    refuse(
        fmt::format("{} dimensions and {} strides: one stride a dimension is expected", shape.size(), strides.size()));
  // Elements and places stay under 2^58, so their bytes do under 2^62 and no sum or product of two goes unnoticed.
  constexpr std::int64_t most = std::int64_t{1} << 58;
  std::int64_t elements = 1, dense = 1, last = 0;
  bool empty = false;
  for (const auto size : shape) {
    if (size < 0) refuse(fmt::format("a size is 0 or more, not {}", size));
    empty = empty || size == 0;
  }
  if (!given) strides.resize(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (!given) strides[d] = dense;
    if (strides[d] < 0) refuse(fmt::format("a stride is 0 or more, not {}", strides[d]));
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(dense, std::max<std::int64_t>(shape[d], 1), &dense) || dense > most ||
        __builtin_mul_overflow(std::max<std::int64_t>(shape[d] - 1, 0), strides[d], &reach) ||
        __builtin_add_overflow(last, reach, &last) || last > most)
      refuse(fmt::format("the shape ({}) is too large", fmt::join(shape, ", ")));
    elements = dense;
  }
  layout.elements = empty ? 0 : static_cast<std::size_t>(elements);
  layout.bytes = empty ? 0 : static_cast<std::size_t>(last + 1) * size_of(dtype);
  layout.shape = std::move(shape);
  layout.strides = std::move(strides);
  return layout;
}

bool Layout::dense() const { return strides == make_layout(dtype, shape).strides; }

std::vector<std::byte> fill_elements(const Fill& fill, const Layout& layout, const Tell& tell) {
  return std::visit(Filler{layout, tell}, fill);
}

std::vector<std::byte> to_memory(const Layout& layout, std::span<const std::byte> elements) {
  if (layout.dense()) return {elements.begin(), elements.end()};
  const std::size_t width = size_of(layout.dtype);
  std::vector<std::byte> memory(layout.bytes, poisoned);
  for_each_element(layout, [&](std::size_t dense, std::size_t strided) {
    std::memcpy(memory.data() + strided, elements.data() + dense, width);
  });
  return memory;
}

std::vector<std::byte> from_memory(const Layout& layout, std::span<const std::byte> memory) {
  if (layout.dense()) return {memory.begin(), memory.end()};
  const std::size_t width = size_of(layout.dtype);
  std::vector<std::byte> elements(layout.elements * width);
  for_each_element(layout, [&](std::size_t dense, std::size_t strided) {
    std::memcpy(elements.data() + dense, memory.data() + strided, width);
  });
  return elements;
}

std::vector<std::int64_t> coordinates(const Layout& layout, std::size_t index) {
  std::vector<std::int64_t> at(layout.shape.size());
  for (std::size_t d = at.size(); d-- > 0;) {
    at[d] = static_cast<std::int64_t>(index % static_cast<std::size_t>(layout.shape[d]));
    index /= static_cast<std::size_t>(layout.shape[d]);
  }
  return at;
}

}  // namespace wm::cases
