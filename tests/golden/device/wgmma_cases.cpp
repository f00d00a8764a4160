// wgmma: every pair of types, from shared memory and registers, each major-ness, swizzle and flag; on integers that
// every type holds exactly and on random numbers, where the reference allows for the tensor core's own rounding and the
// virtual GPU, adding as the chip does, must give the chip's bits.
#include <algorithm>
#include <cmath>

#include "lab.hpp"

namespace wm::golden {
namespace {

// A matrix in shared memory as wgmma can read it.
struct Layout {
  bool mn_major = false;
  int swizzle = 128;        // bytes; 0 none
  bool rows_first = false;  // without swizzle: core matrices of one K lie together, rather than those of 8 rows
};

enum class Data { small_integers, normal, wide };  // wide: normal numbers scaled by powers of two from 2^-6 to 2^6

struct Product {
  DType a = DType::bf16, b = DType::bf16, sum = DType::f32;
  int n = 64;
  Layout a_layout = {}, b_layout = {};
  bool registers = false, accumulate = false, saturate = false;
  int scale_a = 1, scale_b = 1;
  Data data = Data::small_integers;
};

constexpr int rows = 64, steps = 2;

std::string device_name(DType type) { return type == DType::i8 ? "i8" : std::string(name_of(type)); }
bool is_integer(DType type) { return type == DType::i8 || type == DType::u8; }

// Row-major numbers, each one a value of `type`.
std::vector<double> numbers(DType type, int count, Data data, std::uint64_t seed, bool positive) {
  Random random(seed);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) {
    if (is_integer(type))
      value = type == DType::u8 || positive ? static_cast<double>(random.integer(0, 127))
                                            : static_cast<double>(random.integer(-128, 127));
    else if (data == Data::small_integers)
      value = static_cast<double>(random.integer(-2, 2));
    else
      value = random.normal() * (data == Data::wide ? std::ldexp(1.0, static_cast<int>(random.integer(-6, 6))) : 1.0);
    std::byte stored[8];
    store_element(type, stored, value);
    value = load_element(type, stored);
  }
  return values;
}

struct Image {
  std::vector<std::byte> bytes;
  std::uint64_t layout = 0;  // the descriptor without its address
  std::uint32_t step = 0;    // bytes one K step further
};

// `count` rows of K = steps * 32 bytes, laid out as the canonical layouts of the PTX manual say.
Image image_of(const std::vector<double>& matrix, DType type, int count, const Layout& layout) {
  const int size = static_cast<int>(size_of(type)), k_bytes = 32 * steps, k = k_bytes / size;
  const int width = layout.swizzle, blocks = k_bytes / 16;
  int leading = 16, stride = 0, step = 0, total = 0;
  if (!layout.mn_major && width > 0) {
    stride = 8 * width;
    step = width == 32 ? count * 32 : 32;
    total = count * std::max(width, k_bytes);
  } else if (!layout.mn_major) {
    leading = layout.rows_first ? count * 16 : 128;
    stride = layout.rows_first ? 128 : blocks * 128;
    step = 2 * leading;
    total = count * k_bytes;
  } else if (width > 0) {
    stride = 8 * width;
    leading = k * width;
    step = 2 * stride;
    total = (count * 2 + width - 1) / width * leading;
  } else {
    leading = layout.rows_first ? count * 16 : 128;
    stride = layout.rows_first ? 128 : k * 16;
    step = 2 * leading;
    total = count * k_bytes;
  }
  const auto place = [&](int row, int column) {
    int offset;
    if (!layout.mn_major && width > 0)
      offset = column * size / width * (count * width) + row * width + column * size % width;
    else if (!layout.mn_major)
      offset = row / 8 * stride + column * size / 16 * leading + row % 8 * 16 + column * size % 16;
    else if (width > 0)
      offset = row * 2 / width * leading + column / 8 * stride + column % 8 * width + row * 2 % width;
    else
      offset = row / 8 * stride + column / 8 * leading + column % 8 * 16 + row % 8 * 2;
    return width > 0 ? offset ^ (((offset >> 7) & (width / 16 - 1)) << 4) : offset;
  };
  Image image;
  image.bytes.assign(static_cast<std::size_t>(total), std::byte{0x7f});
  for (int row = 0; row < count; ++row)
    for (int column = 0; column < k; ++column)
      store_element(type, &image.bytes.at(static_cast<std::size_t>(place(row, column))),
                    matrix[static_cast<std::size_t>(row * k + column)]);
  const std::uint64_t code = width == 128 ? 1 : width == 64 ? 2 : width == 32 ? 3 : 0;
  image.layout =
      static_cast<std::uint64_t>(leading >> 4) << 16 | static_cast<std::uint64_t>(stride >> 4) << 32 | code << 62;
  image.step = static_cast<std::uint32_t>(step);
  return image;
}

// A in registers: word i of thread t and K step s at (4 s + i) * 128 + t.
std::vector<std::uint32_t> fragments_of(const std::vector<double>& a, DType type) {
  const int size = static_cast<int>(size_of(type)), each = 4 / size, k = 32 / size * steps;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(steps * 4 * 128));
  for (int step = 0; step < steps; ++step)
    for (int i = 0; i < 4; ++i)
      for (int t = 0; t < 128; ++t) {
        const int row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8,
                  column = step * 32 / size + i / 2 * 4 * each + t % 4 * each;
        auto* word = reinterpret_cast<std::byte*>(&words[static_cast<std::size_t>((step * 4 + i) * 128 + t)]);
        for (int e = 0; e < each; ++e)
          store_element(type, word + e * size, a[static_cast<std::size_t>(row * k + column + e)]);
      }
  return words;
}

// What the kernel sees beside the images; the same struct as in products.cu.
struct Tiles {
  std::uint64_t a_layout, b_layout;
  std::uint32_t a_bytes, b_bytes, a_step, b_step, accumulate;
};

// Element `index` of what the accumulators hold: elements of a thread's register i come in order; for f16 two a
// register.
struct Position {
  int row, column;
};
Position position(int index, bool packed) {
  const int pair = packed ? index % 2 : 0, word = packed ? index / 2 : index, i = word / 128, t = word % 128;
  const int row = t / 32 * 16 + t % 32 / 4;
  if (packed) return {row + i % 2 * 8, i / 2 * 8 + t % 4 * 2 + pair};
  return {row + i / 2 % 2 * 8, i / 4 * 8 + t % 4 * 2 + i % 2};
}

bool is_exact(const Product& p) { return p.data == Data::small_integers || is_integer(p.a); }

// How far a tensor core's sum may be from the exact one. In a step it adds the products of 32 bytes of k and the
// accumulator, each cut off some bits below the largest of them: 13 for 8-bit floats, 25 for others. Then the sum is
// cut to the mantissa of the result, of which 8-bit floats get 13 bits too.
class Allowance {
 public:
  explicit Allowance(const Product& p)
      : bits_(size_of(p.a) == 1 ? 13 : 25), result_bits_(p.sum == DType::f16 ? 10 : std::min(bits_, 23)) {}
  void add_step(double largest, int terms, double result) {
    total_ += std::ldexp(largest, -bits_) * terms;
    total_ += std::ldexp(std::abs(result) + total_, -result_bits_);
  }
  double total() const { return total_; }

 private:
  int bits_, result_bits_;
  double total_ = 0;
};

Results run_product(const Device& device, const Product& p, const KernelName& name, std::uint64_t seed) {
  const int size = static_cast<int>(size_of(p.a)), each = 32 / size, k = each * steps, count = rows * p.n;
  add_as_chip(device, !is_exact(p));
  const std::vector<double> a = numbers(p.a, rows * k, p.data, seed, p.saturate),
                            b = numbers(p.b, p.n * k, p.data, seed + 1, p.saturate);
  const Image a_image = p.registers ? Image{} : image_of(a, p.a, rows, p.a_layout),
              b_image = image_of(b, p.b, p.n, p.b_layout);

  // D before: small integers, or something that must not be seen.
  const std::size_t sum_size = size_of(p.sum);
  std::vector<std::byte> start(static_cast<std::size_t>(count) * sum_size, std::byte{0xff});
  Random random(seed + 2);
  std::vector<double> before(static_cast<std::size_t>(count), 0.0);
  if (p.accumulate)
    for (std::size_t i = 0; i < before.size(); ++i) {
      before[i] = p.saturate ? 2147483647.0 - static_cast<double>(random.integer(0, 1 << 20))
                             : static_cast<double>(random.integer(-100, 100));
      store_element(p.sum, &start[i * sum_size], before[i]);
    }

  std::vector<std::byte> images = a_image.bytes;
  images.insert(images.end(), b_image.bytes.begin(), b_image.bytes.end());
  const Tiles tiles{a_image.layout,
                    b_image.layout,
                    static_cast<std::uint32_t>(a_image.bytes.size()),
                    static_cast<std::uint32_t>(b_image.bytes.size()),
                    a_image.step,
                    b_image.step,
                    p.accumulate};
  const Buffer image_buffer = upload(device, images), start_buffer = upload(device, start);
  const Buffer out = poisoned<std::byte>(device, start.size());
  const LaunchConfig config{.block = {128}, .shared_bytes = static_cast<std::uint32_t>(images.size())};
  if (p.registers)
    run(device, name, config, image_buffer, upload(device, fragments_of(a, p.a)), tiles, start_buffer, out);
  else
    run(device, name, config, image_buffer, tiles, start_buffer, out);

  Results results{p.sum, out.download<std::byte>()};
  for (int i = 0; i < count; ++i) {
    const auto [row, column] = position(i, p.sum == DType::f16);
    double want = before[static_cast<std::size_t>(i)];
    Allowance allowance(p);
    for (int step = 0; step < steps; ++step) {
      double largest = std::abs(want);
      for (int j = step * each; j < (step + 1) * each; ++j) {
        const double term = p.scale_a * p.scale_b * a[static_cast<std::size_t>(row * k + j)] *
                            b[static_cast<std::size_t>(column * k + j)];
        want += term;
        largest = std::max(largest, std::abs(term));
      }
      allowance.add_step(largest, each + 1, want);
    }
    if (p.saturate) want = std::min(want, 2147483647.0);
    const double got = load_element(p.sum, &results.bytes[static_cast<std::size_t>(i) * sum_size]);
    const double allowed = is_exact(p) ? 0 : allowance.total();
    if (!(std::abs(got - want) <= allowed))
      throw Error(ErrorCode::execution,
                  fmt::format("D[{}, {}] is {}, the reference is {} (allowed {})", row, column, got, want, allowed));
  }
  return results;
}

class Adder {
 public:
  explicit Adder(std::vector<Case>& cases) : cases_(cases) {}

  void operator()(const Product& p) {
    const std::string a = device_name(p.a), b = device_name(p.b), types = p.a == p.b ? a : a + "_" + b;
    const int registers = p.n / (p.sum == DType::f16 ? 4 : 2);
    const std::string options =
        fmt::format("wm::wgmma::Options{{wm::wgmma::Major({}), wm::wgmma::Major({}), {}, {}, {}}}",
                    int(p.a_layout.mn_major), int(p.b_layout.mn_major), p.scale_a, p.scale_b, p.saturate);
    const KernelName name =
        declare("products.cu",
                fmt::format("{}<wm::{}, wm::{}, wm::{}, {}, {}, {}>", p.registers ? "from_registers" : "from_shared", a,
                            b, p.sum == DType::f16 ? "u32" : name_of(p.sum), registers, steps, options),
                fmt::format("#include \"warpmill/ptx/wgmma_{}.cuh\"\n", types));
    const auto layout = [](const Layout& l) {
      return fmt::format("{}{}{}", l.mn_major ? "mn" : "k", l.swizzle, l.rows_first ? "r" : "");
    };
    std::string text = fmt::format("wgmma_{}/{}_n{}_{}_{}", types, name_of(p.sum), p.n,
                                   p.registers ? "registers" : layout(p.a_layout), layout(p.b_layout));
    if (p.scale_a < 0) text += "_minus_a";
    if (p.scale_b < 0) text += "_minus_b";
    if (p.saturate) text += "_saturate";
    if (p.accumulate) text += "_accumulate";
    if (p.data != Data::small_integers && !is_integer(p.a)) text += p.data == Data::wide ? "_wide" : "_normal";
    const std::uint64_t seed = seed_of(text);
    cases_.push_back({text,
                      {},
                      [p, name, seed](const Device& device) { return run_product(device, p, name, seed); },
                      is_exact(p) ? std::size_t{16} : std::size_t{1024},
                      {}});
  }

 private:
  std::vector<Case>& cases_;
};

}  // namespace

void add_wgmma(std::vector<Case>& cases) {
  Adder add(cases);
  const auto sums = [](DType a) {
    if (is_integer(a)) return std::vector{DType::i32};
    if (a == DType::bf16 || a == DType::tf32) return std::vector{DType::f32};
    return std::vector{DType::f32, DType::f16};
  };
  const std::vector<std::pair<DType, DType>> same = {
      {DType::bf16, DType::bf16}, {DType::f16, DType::f16}, {DType::tf32, DType::tf32}, {DType::e4m3, DType::e4m3},
      {DType::e5m2, DType::e5m2}, {DType::i8, DType::i8},   {DType::u8, DType::u8}};
  const std::vector<std::pair<DType, DType>> mixed = {
      {DType::e4m3, DType::e5m2}, {DType::e5m2, DType::e4m3}, {DType::i8, DType::u8}, {DType::u8, DType::i8}};
  for (const auto& [a, b] : same)
    for (const DType sum : sums(a)) {
      Product p{.a = a, .b = b, .sum = sum};
      const auto shapes = is_integer(a) ? std::vector{8, 16, 24, 64, 112, 128, 208, 256}
                                        : std::vector{8, 16, 24, 40, 64, 104, 128, 200, 256};
      for (const int n : shapes) {
        p.n = n;
        add(p);
      }
      p.accumulate = true;
      for (const int n : {24, 64})
        for (const int swizzle : {0, 32, 64, 128}) {
          p.n = n;
          p.a_layout.swizzle = p.b_layout.swizzle = swizzle;
          add(p);
        }
      p.a_layout = p.b_layout = {.swizzle = 0, .rows_first = true};
      add(p);
      p.a_layout = {.swizzle = 64};
      p.b_layout = {.swizzle = 128};
      add(p);
      p.registers = true;
      for (const int n : {8, 24, 64, 128, 256}) {
        p.n = n;
        add(p);
      }
      p.n = 16;
      if (is_integer(a)) {
        p.saturate = true;
        add(p);
        p.registers = false;
        add(p);
        continue;
      }
      for (const bool registers : {false, true})
        for (const auto& [scale_a, scale_b] : {std::pair{-1, 1}, {1, -1}, {-1, -1}}) {
          p.registers = registers;
          p.scale_a = scale_a;
          p.scale_b = scale_b;
          add(p);
        }
      p = {.a = a, .b = b, .sum = sum, .accumulate = true, .data = Data::normal};
      add(p);
      p.registers = true;
      add(p);
      p.registers = false;
      p.data = Data::wide;
      add(p);
    }
  for (const auto& [a, b] : mixed)
    for (const DType sum : sums(a)) {
      Product p{.a = a, .b = b, .sum = sum};
      for (const int n : {16, 64, 256}) {
        p.n = n;
        add(p);
      }
      p.n = 64;
      p.registers = true;
      add(p);
      p.data = Data::normal;
      p.accumulate = true;
      add(p);
    }
  for (const DType a : {DType::bf16, DType::f16})  // MN-major exists for 16-bit elements alone
    for (const DType sum : sums(a))
      for (const int swizzle : {0, 32, 64, 128})
        for (const int n : {16, 64, 104, 256}) {
          Product p{.a = a, .b = a, .sum = sum, .n = n};
          p.a_layout.swizzle = p.b_layout.swizzle = swizzle;
          p.b_layout.mn_major = true;
          add(p);
          p.a_layout.mn_major = true;
          add(p);
          p.b_layout.mn_major = false;
          add(p);
          p.b_layout.mn_major = true;
          p.a_layout = {};
          p.registers = true;
          add(p);
          if (swizzle == 0) {
            p.registers = false;
            p.a_layout = p.b_layout = {.mn_major = true, .swizzle = 0, .rows_first = true};
            add(p);
          }
        }
}

}  // namespace wm::golden
