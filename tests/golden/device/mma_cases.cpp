// mma.sync: each shape and pair of types, on integers that every type holds exactly and on random numbers.
#include <cmath>

#include "lab.hpp"

namespace wm::golden {
namespace {

struct Product {
  int m = 16, n = 8, k = 16;
  DType a = DType::bf16, b = DType::bf16, sum = DType::f32;
  bool saturate = false, normal = false;
};

bool is_integer(DType type) { return type == DType::i8 || type == DType::u8; }
std::size_t words_of(int elements, DType type) {
  return static_cast<std::size_t>(elements) * size_of(type) / (type == DType::f64 ? 8 : 4);
}

// Puts the elements of `matrix` (row-major, K columns) where lane and word say; the same for A's rows and B's columns.
std::vector<std::byte> fragments(const std::vector<double>& matrix, DType type, int rows, int k) {
  const int size = static_cast<int>(size_of(type)), word_size = std::max(size, 4), each = word_size / size;
  const int words = static_cast<int>(words_of(rows * k, type)) / 32, slabs = rows / 8;
  std::vector<std::byte> bytes(static_cast<std::size_t>(words * 32 * word_size));
  for (int i = 0; i < words; ++i)
    for (int lane = 0; lane < 32; ++lane)
      for (int e = 0; e < each; ++e) {
        const int row = lane / 4 + i % slabs * 8, column = i / slabs * 4 * each + lane % 4 * each + e;
        store_element(type, &bytes[static_cast<std::size_t>((i * 32 + lane) * word_size + e * size)],
                      matrix[static_cast<std::size_t>(row * k + column)]);
      }
  return bytes;
}

struct Position {
  int row, column;
};
Position position(int index, bool packed) {
  if (packed) return {index / 2 % 32 / 4 + index / 64 * 8, index / 2 % 4 * 2 + index % 2};
  const int i = index / 32, lane = index % 32;
  return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2};
}

double tolerance(const Product& p) {
  if (p.sum == DType::f64) return 0x1p-50;
  if (p.sum == DType::f16) return 0x1p-9;
  return p.a == DType::e4m3 || p.a == DType::e5m2 ? 0x1p-11 : 0x1p-19;
}

Results run_product(const Device& device, const Product& p, const KernelName& name, std::uint64_t seed) {
  add_as_chip(device, p.normal);
  Random random(seed);
  const auto numbers = [&](DType type, int count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) {
      value = type == DType::u8 || (p.saturate && is_integer(type)) ? static_cast<double>(random.integer(0, 127))
              : is_integer(type)                                    ? static_cast<double>(random.integer(-128, 127))
              : p.normal                                            ? random.normal()
                                                                    : static_cast<double>(random.integer(-4, 4));
      std::byte stored[8];
      store_element(type, stored, value);
      value = load_element(type, stored);
    }
    return values;
  };
  const std::vector<double> a = numbers(p.a, p.m * p.k), b = numbers(p.b, p.n * p.k);
  const int count = p.m * p.n;
  const std::size_t size = size_of(p.sum);
  std::vector<double> before(static_cast<std::size_t>(count));
  std::vector<std::byte> start(static_cast<std::size_t>(count) * size);
  for (std::size_t i = 0; i < before.size(); ++i) {
    before[i] = p.saturate ? 2147483647.0 - static_cast<double>(random.integer(0, 1 << 18))
                           : static_cast<double>(random.integer(-64, 64));
    store_element(p.sum, &start[i * size], before[i]);
  }
  const Buffer out = poisoned<std::byte>(device, start.size());
  run(device, name, {.block = {32}}, upload(device, fragments(a, p.a, p.m, p.k)),
      upload(device, fragments(b, p.b, p.n, p.k)), upload(device, start), out);

  Results results{p.sum, out.download<std::byte>()};
  for (int i = 0; i < count; ++i) {
    const auto [row, column] = position(i, p.sum == DType::f16);
    double want = before[static_cast<std::size_t>(i)], magnitude = std::abs(want);
    for (int j = 0; j < p.k; ++j) {
      const double term = a[static_cast<std::size_t>(row * p.k + j)] * b[static_cast<std::size_t>(column * p.k + j)];
      want += term;
      magnitude += std::abs(term);
    }
    if (p.saturate) want = std::min(want, 2147483647.0);
    const double got = load_element(p.sum, &results.bytes[static_cast<std::size_t>(i) * size]);
    const double allowed = p.normal ? tolerance(p) * magnitude : 0;
    if (!(std::abs(got - want) <= allowed))
      throw Error(ErrorCode::execution,
                  fmt::format("D[{}, {}] is {}, the reference is {} (allowed {})", row, column, got, want, allowed));
  }
  return results;
}

}  // namespace

void add_mma(std::vector<Case>& cases) {
  const auto add = [&](Product p) {
    for (const bool normal : {false, true}) {
      if (normal && is_integer(p.a)) continue;
      p.normal = normal;
      const std::string entry = fmt::format("m{}n{}k{}_{}_{}{}{}", p.m, p.n, p.k, name_of(p.a), name_of(p.b),
                                            p.sum == DType::f16 ? "_f16" : "", p.saturate ? "_saturate" : "");
      const KernelName name = declare("mma.cu", entry);
      const std::string variant = fmt::format("mma/{}{}", entry, normal ? "_normal" : "");
      const std::uint64_t seed = seed_of(variant);
      // Sums are compared bit by bit but for two whose order is not modelled: f64, and 8-bit floats added in f16. C is
      // at most 64, and K terms have a mean magnitude under 1.
      const bool modelled = p.sum == DType::f32 || (p.sum == DType::f16 && p.a == DType::f16);
      cases.push_back({variant,
                       normal && !modelled ? Bound{tolerance(p) * (64 + p.k), 0} : Bound{},
                       [p, name, seed](const Device& device) { return run_product(device, p, name, seed); },
                       128,
                       {}});
    }
  };
  for (const DType a : {DType::i8, DType::u8})
    for (const DType b : {DType::i8, DType::u8})
      for (const bool saturate : {false, true}) {
        add({8, 8, 16, a, b, DType::i32, saturate});
        add({16, 8, 16, a, b, DType::i32, saturate});
        add({16, 8, 32, a, b, DType::i32, saturate});
      }
  for (const DType a : {DType::e4m3, DType::e5m2})
    for (const DType b : {DType::e4m3, DType::e5m2})
      for (const DType sum : {DType::f32, DType::f16}) {
        add({16, 8, 16, a, b, sum});
        add({16, 8, 32, a, b, sum});
      }
  add({16, 8, 4, DType::tf32, DType::tf32});
  add({16, 8, 8, DType::tf32, DType::tf32});
  for (const int k : {8, 16}) {
    add({16, 8, k, DType::bf16, DType::bf16});
    add({16, 8, k, DType::f16, DType::f16});
    add({16, 8, k, DType::f16, DType::f16, DType::f16});
  }
  add({8, 8, 4, DType::f64, DType::f64, DType::f64});
  for (const int k : {4, 8, 16}) add({16, 8, k, DType::f64, DType::f64, DType::f64});
}

}  // namespace wm::golden
