// Random operands made on the device, and samples of the result computed in float64.
#include "gemm/gemm_problem.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <fmt/format.h>

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

// `count` elements from element `first` on, as doubles.
std::vector<double> elements(const Buffer& buffer, DType dtype, std::int64_t first, std::int64_t count) {
  std::vector<std::byte> raw(bytes_of(dtype, 1, count));
  buffer.download(raw, bytes_of(dtype, 1, first));
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_element(dtype, raw.data() + i * size_of(dtype));
  return values;
}

// What rounding to D's type may change.
double rounding_of(DType d, double value) {
  switch (d) {
    case DType::bf16: return std::fabs(value) * 0x1p-8;
    case DType::f16: return std::fabs(value) * 0x1p-11;
    case DType::e4m3: return std::fabs(value) * 0x1p-4 + 0x1p-10;  // subnormals
    case DType::i32: return 0;
    default: return std::fabs(value) * 0x1p-23;
  }
}

// One element in float64, and how far the tensor cores may be from it.
struct Sum {
  double value = 0, allowed = 0;
};
Sum sum_of(const std::vector<double>& a, const std::vector<double>& b, DType operands) {
  double sum = 0, magnitude = 0;
  // 8-bit floats: a step of 32 products is cut 13 bits below its largest term, the sum so far among them. The sum loses
  // up to two such units a step, always toward zero; the cuts of products go both ways.
  double drift = 0, variance = 0, largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double product = a[k] * b[k];
    largest = std::max({largest, std::fabs(product), std::fabs(sum)});
    sum += product;
    magnitude += std::fabs(product);
    if (k % 32 == 31 || k + 1 == a.size()) {
      const double unit = std::max(largest, std::fabs(sum)) * 0x1p-13;
      drift += 2 * unit;
      variance += 100 * unit * unit;
      largest = 0;
    }
  }
  if (operands == DType::i8) return {sum, 0};
  if (size_of(operands) == 1) return {sum, drift + std::sqrt(variance)};
  return {sum, magnitude * 0x1p-20};
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

double tensor_ceiling(DType operands) {
  switch (size_of(operands)) {
    case 1: return 1698e12;
    case 2: return 858e12;
    default: return 429e12;
  }
}

double Shape::bytes() const {
  return double(size_of(operands)) * (double(m) * k + double(n) * k) + double(size_of(d)) * double(m) * n;
}

double Shape::floor_seconds() const { return std::max(bytes() / 4.5e12, flops() / tensor_ceiling(operands)); }

GemmProblem::GemmProblem(const Stream& stream, const Shape& shape, std::uint64_t seed)
    : shape(shape),
      a(stream.device(), bytes_of(shape.operands, shape.m, shape.k)),
      b(stream.device(), bytes_of(shape.operands, shape.n, shape.k)),
      d(stream.device(), bytes_of(shape.d, shape.m, shape.n)) {
  const Device& device = stream.device();
  const auto program =
      jit::compile({"fill_normal.cu", fmt::format(fill_source, name_of(shape.operands))}, {.arch = device.info().arch});
  const Kernel fill = Module::load(device, program, "fill_normal").kernel("fill_normal");
  const auto blocks = static_cast<std::uint32_t>(device.info().multiprocessors * 8);
  for (const Buffer* operand : {&a, &b}) {
    const std::uint64_t count = operand->bytes() / size_of(shape.operands);
    if (count > 0)
      launch(stream, fill, {.grid = {blocks}, .block = {256}}, *operand, count, (2 * seed + (operand == &b)) << 40);
  }
  poison(stream);
  stream.synchronize();  // the fill's module goes out of scope here
}

GemmRequest GemmProblem::request(std::optional<GemmPlan> plan) const {
  return {.a = a.view(shape.operands, {shape.m, shape.k}),
          .b = b.view(shape.operands, {shape.n, shape.k}).transposed(),
          .d = d.view(shape.d, {shape.m, shape.n}),
          .plan = plan};
}

void GemmProblem::poison(const Stream& stream) const {
  stream.fill(d.address(), std::byte(is_floating(shape.d) ? 0xff : 0x80), d.bytes());
}

double GemmProblem::sampled_error(int samples) const {
  if (d.bytes() == 0) return 0;
  std::mt19937_64 random(7);
  double worst = 0;
  for (int sample = 0; sample < samples; ++sample) {
    const std::int64_t i = sample < 4 ? (sample & 1 ? shape.m - 1 : 0) : std::int64_t(random() % shape.m);
    const std::int64_t j = sample < 4 ? (sample & 2 ? shape.n - 1 : 0) : std::int64_t(random() % shape.n);
    const Sum sum = sum_of(elements(a, shape.operands, i * shape.k, shape.k),
                           elements(b, shape.operands, j * shape.k, shape.k), shape.operands);
    const double got = elements(d, shape.d, i * shape.n + j, 1)[0];
    const double expected = shape.d == DType::e4m3 ? std::clamp(sum.value, -448., 448.) : sum.value;  // it saturates
    const double allowed = sum.allowed + rounding_of(shape.d, expected);
    const double difference = std::fabs(got - expected);
    const double error = difference == 0 ? 0 : difference / allowed;
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

}  // namespace wm::bench
