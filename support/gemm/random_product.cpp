// Random operands made on the device, and samples of the result computed in float64.
#include "gemm/random_product.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "gemm/reference.hpp"
#include "ops/gemm_problem.hpp"
#include "plan/gemm_ranking.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/module.hpp"

namespace wm::bench {
namespace {

// Nearly normal values from a counter: the sum of four uniform 16-bit parts, scaled to a variance of 1. Rounded so that
// the tensor cores read exactly what is stored; integers are 32 times as large.
constexpr const char* fill_source = R"(
#include "warpmill/tile/element.cuh"
namespace wm {{
template <class T>
WM_DEVICE T element(f32 x) {{
  if constexpr (same<T, i8>) {{
    return static_cast<i8>(__float2int_rn(fminf(fmaxf(32 * x, -127), 127)));
  }} else if constexpr (same<T, f32> || same<T, tf32>) {{
    u32 bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return *reinterpret_cast<T*>(&bits);
  }} else {{
    return round_to<T>(x);
  }}
}}
}}
using Element = wm::Element<wm::DType::{}>;
extern "C" __global__ void fill_normal(Element* to, wm::u64 count, wm::u64 seed) {{
  for (wm::u64 i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull) {{
    wm::u64 x = (i + seed) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    const float sum = float(x & 0xffff) + float(x >> 16 & 0xffff) + float(x >> 32 & 0xffff) + float(x >> 48);
    to[i] = wm::element<Element>((sum - 131070.f) / 37837.f);
  }}
}}
)";

std::size_t bytes_of(DType dtype, std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(rows * columns) * size_of(dtype);
}

// `count` elements from element `first` on, `stride` apart, as doubles.
std::vector<double> elements(const Buffer& buffer, DType dtype, std::int64_t first, std::int64_t count,
                             std::int64_t stride = 1) {
  std::vector<double> values(static_cast<std::size_t>(count));
  if (count == 0) return values;
  std::vector<std::byte> raw(bytes_of(dtype, 1, (count - 1) * stride + 1));
  buffer.download(raw, bytes_of(dtype, 1, first));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load_element(dtype, raw.data() + i * static_cast<std::size_t>(stride) * size_of(dtype));
  return values;
}

// The element of a part of the epilogue, or what stands for none.
double element_or(double none, const Buffer& buffer, DType dtype, std::int64_t index) {
  return buffer.bytes() == 0 ? none : elements(buffer, dtype, index, 1)[0];
}

// One element in float64, and how far the tensor cores may be from it.
struct Sum {
  double value = 0, allowed = 0;
};
Sum sum_of(const std::vector<double>& a, const std::vector<double>& b, DType operands, bool promote) {
  double sum = 0, magnitude = 0, cut = 0;
  const std::size_t together = 32 / size_of(operands);  // products that one instruction adds
  DroppedBits dropped(size_of(operands) == 1 ? 1 : 0, promote);
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum += a[k] * b[k];
    magnitude += std::fabs(a[k] * b[k]);
    dropped.add(a[k], &b[k]);
    if (k % together == 0) cut += std::fabs(sum);
  }
  if (operands == DType::i8) return {sum, 0};
  if (size_of(operands) == 1) return {sum, dropped.most()[0]};
  // Each instruction cuts the sum so far to 24 bits, always toward zero, half of the last on average: in long sums of
  // tf32 that is the larger part (H200, k of 10416 to 16352: 0.6 of it).
  return {sum, std::max(magnitude * 0x1p-20, cut * 0x1p-24)};
}

// Factors of a product that has them: no powers of two, so that a rounding in the wrong place shows.
constexpr float alpha_of(const EpilogueFacts& facts) { return facts.alpha ? 1.3f : 1.f; }
constexpr float beta_of(const EpilogueFacts& facts) { return facts.residual ? -0.7f : 0.f; }

std::size_t part_bytes(bool there, DType dtype, std::int64_t count) { return there ? bytes_of(dtype, 1, count) : 0; }

// Where the parts of a product lie.
struct Addresses {
  std::uint64_t a, b, d, c, row_scale, column_scale, row_bias, column_bias, amax, d_scale;
};

GemmRequest request_at(const Addresses& at, const Device& device, const Shape& shape, const Variant& variant) {
  const auto matrix = [&](std::uint64_t address, DType dtype, std::int64_t rows, std::int64_t columns,
                          bool transposed) {
    std::vector<std::int64_t> sizes{rows, columns};
    if (transposed) std::swap(sizes[0], sizes[1]);
    if (shape.batch != 1) sizes.insert(sizes.begin(), shape.batch);
    const View view(device, address, dtype, sizes);
    return transposed ? view.transposed() : view;
  };
  const auto part = [&](bool there, std::uint64_t address, DType dtype, std::int64_t count) {
    return there ? std::optional(View(device, address, dtype, {count})) : std::nullopt;
  };
  const EpilogueFacts& facts = variant.epilogue;
  GemmRequest request{.a = matrix(at.a, shape.operands, shape.m, shape.k, variant.a_major == Major::mn),
                      .b = matrix(at.b, shape.operands, shape.k, shape.n, variant.b_major == Major::k),
                      .d = matrix(at.d, shape.d, shape.m, shape.n, false),
                      .epilogue = {.alpha = alpha_of(facts),
                                   .beta = beta_of(facts),
                                   .row_scale = part(facts.row_scale, at.row_scale, DType::f32, shape.m),
                                   .column_scale = part(facts.column_scale, at.column_scale, DType::f32, shape.n),
                                   .row_bias = part(facts.row_bias, at.row_bias, facts.bias, shape.m),
                                   .column_bias = part(facts.column_bias, at.column_bias, facts.bias, shape.n),
                                   .activation = facts.activation,
                                   .expression = variant.expression,
                                   .amax = part(facts.amax, at.amax, DType::f32, 1),
                                   .d_scale = part(facts.d_scale, at.d_scale, DType::f32, 1)},
                      .promote = variant.promote};
  if (facts.residual) request.epilogue.c = matrix(at.c, facts.c, shape.m, shape.n, false);
  return request;
}

// The shape, once the library has looked at it.
const Shape& served(const Stream& stream, const Shape& shape, const Variant& variant) {
  const Device& device = stream.device();
  ops::understand(stream, imagined_request(device, shape, variant), plan::instruction_of(device.info().arch));
  return shape;
}

// The caller's own expression of each value, by the device: only a compiler can read it.
void evaluate(const Device& device, const std::string& expression, std::vector<double>& values) {
  constexpr const char* source = R"(
#include "warpmill/gemm/activation.cuh"
namespace wm::activation {{
WM_DEVICE f32 callers_own(f32 x) {{ return {}; }}
}}
extern "C" __global__ void evaluate(float* values, unsigned count) {{
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) values[i] = wm::activation::callers_own(values[i]);
}}
)";
  const auto program = jit::compile({"evaluate.cu", fmt::format(source, expression)}, {.arch = device.info().arch});
  const Kernel kernel = Module::load(device, program, "evaluate").kernel("evaluate");
  const std::vector<float> rounded(values.begin(), values.end());
  const auto buffer = Buffer::of<float>(device, rounded);
  const Stream stream(device);
  launch(stream, kernel, {.grid = {1}, .block = {128}}, buffer, static_cast<std::uint32_t>(values.size()));
  stream.synchronize();
  const auto results = buffer.download<float>();
  std::copy(results.begin(), results.end(), values.begin());
}

}  // namespace

DType usual_output(DType operands) {
  switch (operands) {
    case DType::e4m3:
    case DType::e5m2: return DType::bf16;
    case DType::i8: return DType::i32;
    case DType::tf32: return DType::f32;
    default: return operands;
  }
}

double Shape::bytes() const {
  return double(batch) *
         (double(size_of(operands)) * (double(m) * k + double(n) * k) + double(size_of(d)) * double(m) * n);
}

Floor floor_of(const Shape& shape, const plan::ChipRates& rates) {
  return {shape.bytes() / rates.memory_bytes, shape.flops() / tensor_flops(rates, shape.operands)};
}

double tensor_flops(const plan::ChipRates& rates, DType operands) {
  return rates.tensor_flops * 2 / double(size_of(operands));
}

GemmRequest imagined_request(const Device& device, const Shape& shape, const Variant& variant) {
  const auto at = [](std::uint64_t number) { return number << 60; };  // farther apart than any memory reaches
  return request_at({at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10)}, device, shape, variant);
}

RandomProduct::RandomProduct(const Stream& stream, const Shape& shape, std::uint64_t seed, const Variant& variant)
    : shape(served(stream, shape, variant)),
      variant(variant),
      a(stream.device(), bytes_of(shape.operands, shape.batch * shape.m, shape.k)),
      b(stream.device(), bytes_of(shape.operands, shape.batch * shape.n, shape.k)),
      d(stream.device(), bytes_of(shape.d, shape.batch * shape.m, shape.n)),
      c_(stream.device(), part_bytes(variant.epilogue.residual, variant.epilogue.c, shape.batch * shape.m * shape.n)),
      row_scale_(stream.device(), part_bytes(variant.epilogue.row_scale, DType::f32, shape.m)),
      column_scale_(stream.device(), part_bytes(variant.epilogue.column_scale, DType::f32, shape.n)),
      row_bias_(stream.device(), part_bytes(variant.epilogue.row_bias, variant.epilogue.bias, shape.m)),
      column_bias_(stream.device(), part_bytes(variant.epilogue.column_bias, variant.epilogue.bias, shape.n)),
      amax_(stream.device(), part_bytes(variant.epilogue.amax, DType::f32, 1)),
      d_scale_(stream.device(), part_bytes(variant.epilogue.d_scale, DType::f32, 1)) {
  const Device& device = stream.device();
  const auto blocks = static_cast<std::uint32_t>(device.info().multiprocessors * 8);
  std::uint64_t part = 0;
  const auto fill = [&](const Buffer& buffer, DType dtype) {
    const std::uint64_t count = buffer.bytes() / size_of(dtype), number = part++;
    if (count == 0) return;
    const auto program =
        jit::compile({"fill_normal.cu", fmt::format(fill_source, name_of(dtype))}, {.arch = device.info().arch});
    const Kernel kernel = Module::load(device, program, "fill_normal").kernel("fill_normal");
    launch(stream, kernel, {.grid = {blocks}, .block = {256}}, buffer, count, (16 * seed + number) << 40);
    stream.synchronize();  // the module goes out of scope here
  };
  for (const Buffer* operand : {&a, &b}) fill(*operand, shape.operands);
  fill(c_, variant.epilogue.c);
  for (const Buffer* factor : {&row_scale_, &column_scale_, &d_scale_}) fill(*factor, DType::f32);
  for (const Buffer* bias : {&row_bias_, &column_bias_}) fill(*bias, variant.epilogue.bias);
  poison(stream);
  stream.synchronize();
}

GemmRequest RandomProduct::request(std::optional<GemmPlan> plan) const {
  GemmRequest request = request_at({.a = a.address(),
                                    .b = b.address(),
                                    .d = d.address(),
                                    .c = c_.address(),
                                    .row_scale = row_scale_.address(),
                                    .column_scale = column_scale_.address(),
                                    .row_bias = row_bias_.address(),
                                    .column_bias = column_bias_.address(),
                                    .amax = amax_.address(),
                                    .d_scale = d_scale_.address()},
                                   a.device(), shape, variant);
  request.plan = plan;
  return request;
}

void RandomProduct::poison(const Stream& stream) const {
  stream.fill(d.address(), std::byte(is_floating(shape.d) ? 0xff : 0x80), d.bytes());
}

double RandomProduct::sampled_error(int samples, const Tell& tell) const {
  if (d.bytes() == 0) return 0;
  const EpilogueFacts& facts = variant.epilogue;
  const double d_scale = element_or(1, d_scale_, DType::f32, 0);
  std::mt19937_64 random(7);
  // Before the activation, each sample three times: as far below as the sums may be, exact, as far above.
  std::vector<double> x, got;
  for (int sample = 0; sample < samples; ++sample) {
    if (tell) tell("samples", static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(samples));
    const std::int64_t matrix = std::int64_t(random() % shape.batch);
    const std::int64_t i = sample < 4 ? (sample & 1 ? shape.m - 1 : 0) : std::int64_t(random() % shape.m);
    const std::int64_t j = sample < 4 ? (sample & 2 ? shape.n - 1 : 0) : std::int64_t(random() % shape.n);
    const std::int64_t a_first = matrix * shape.m * shape.k, b_first = matrix * shape.n * shape.k;
    const Sum sum = sum_of(variant.a_major == Major::k ? elements(a, shape.operands, a_first + i * shape.k, shape.k)
                                                       : elements(a, shape.operands, a_first + i, shape.k, shape.m),
                           variant.b_major == Major::k ? elements(b, shape.operands, b_first + j * shape.k, shape.k)
                                                       : elements(b, shape.operands, b_first + j, shape.k, shape.n),
                           shape.operands, variant.promote);
    const std::int64_t at = (matrix * shape.m + i) * shape.n + j;
    const double factor =
        alpha_of(facts) * element_or(1, row_scale_, DType::f32, i) * element_or(1, column_scale_, DType::f32, j);
    const double product = factor * sum.value, residual = beta_of(facts) * element_or(0, c_, facts.c, at);
    const double bias = element_or(0, row_bias_, facts.bias, i) + element_or(0, column_bias_, facts.bias, j);
    const double value = product + residual + bias;
    double allowed = std::fabs(factor) * sum.allowed;
    if (!facts.none()) allowed += 0x1p-21 * (std::fabs(product) + std::fabs(residual) + std::fabs(bias));
    x.insert(x.end(), {value - allowed, value, value + allowed});
    got.push_back(elements(d, shape.d, at, 1)[0]);
  }
  if (facts.activation == Activation::expression)
    evaluate(d.device(), variant.expression, x);
  else
    for (double& value : x) value = activated(facts.activation, value);

  const auto in_d = [&](double value) {  // e4m3 saturates
    return shape.d == DType::e4m3 ? std::clamp(value * d_scale, -448., 448.) : value * d_scale;
  };
  double worst = 0;
  const auto count = [&](double value, double expected, double allowed) {
    const double difference = std::fabs(value - expected);
    const double error = difference == 0 ? 0 : difference / (allowed + rounding_of(shape.d, expected));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  };
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double below = x[3 * i], exact = x[3 * i + 1], above = x[3 * i + 2];
    double allowed = std::max(std::fabs(below - exact), std::fabs(above - exact)) * std::fabs(d_scale);
    // The kernel's exponentials are approximate.
    if (facts.activation != Activation::none) allowed += (0x1p-18 * std::fabs(exact) + 0x1p-20) * std::fabs(d_scale);
    if (facts.d_scale) allowed += 0x1p-22 * std::fabs(exact * d_scale);
    count(got[i], in_d(exact), allowed);
  }
  if (facts.amax) {  // D's largest magnitude is that of the largest x, as rounding keeps the order
    double largest = 0;
    constexpr std::int64_t piece = 1 << 20;  // elements held at once
    const std::int64_t all = shape.batch * shape.m * shape.n;
    for (std::int64_t first = 0; first < all; first += piece) {
      if (tell) tell("elements", static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(all));
      for (const double value : elements(d, shape.d, first, std::min(piece, all - first)))
        largest = std::max(largest, std::fabs(value));
    }
    const double expected = std::fabs(in_d(element_or(0, amax_, DType::f32, 0)));
    count(largest, expected, 0x1p-22 * expected);
  }
  return worst;
}

}  // namespace wm::bench
