// Random operands made on the device, and samples of the result computed in float64.
#include "gemm/gemm_problem.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "warpmill/jit.hpp"
#include "warpmill/module.hpp"

namespace wm::bench {
namespace {

// Nearly normal values from a counter: the sum of four uniform 16-bit parts, scaled to a variance of 1.
constexpr const char* fill_source = R"(
#include "warpmill/types.cuh"
extern "C" __global__ void fill_normal(wm::bf16* to, wm::u64 count, wm::u64 seed) {
  for (wm::u64 i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull) {
    wm::u64 x = (i + seed) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    const float sum = float(x & 0xffff) + float(x >> 16 & 0xffff) + float(x >> 32 & 0xffff) + float(x >> 48);
    const float value = (sum - 131070.f) / 37837.f;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to[i].bits) : "f"(value));
  }
}
)";

std::size_t bytes_of(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns) * 2; }

}  // namespace

double Shape::floor_seconds() const { return std::max(bytes() / 4.5e12, flops() / 858e12); }

GemmProblem::GemmProblem(const Stream& stream, const Shape& shape, std::uint64_t seed)
    : shape(shape),
      a(stream.device(), bytes_of(shape.m, shape.k)),
      b(stream.device(), bytes_of(shape.n, shape.k)),
      d(stream.device(), bytes_of(shape.m, shape.n)) {
  const Device& device = stream.device();
  const auto program = jit::compile({"fill_normal.cu", fill_source}, {.arch = device.info().arch});
  const Kernel fill = Module::load(device, program, "fill_normal").kernel("fill_normal");
  const auto blocks = static_cast<std::uint32_t>(device.info().multiprocessors * 8);
  for (const Buffer* operand : {&a, &b}) {
    const std::uint64_t count = operand->bytes() / 2;
    if (count > 0)
      launch(stream, fill, {.grid = {blocks}, .block = {256}}, *operand, count, (2 * seed + (operand == &b)) << 40);
  }
  poison(stream);
  stream.synchronize();  // the fill's module goes out of scope here
}

GemmRequest GemmProblem::request(std::optional<GemmPlan> plan) const {
  return {.a = a.view<bf16>({shape.m, shape.k}),
          .b = b.view<bf16>({shape.n, shape.k}).transposed(),
          .d = d.view<bf16>({shape.m, shape.n}),
          .plan = plan};
}

void GemmProblem::poison(const Stream& stream) const { stream.fill(d.address(), std::byte{0xff}, d.bytes()); }

double GemmProblem::sampled_error(int samples) const {
  if (d.bytes() == 0) return 0;
  std::mt19937_64 random(7);
  double worst = 0;
  std::vector<bf16> row(static_cast<std::size_t>(shape.k)), column(static_cast<std::size_t>(shape.k));
  for (int sample = 0; sample < samples; ++sample) {
    const std::int64_t i = sample < 4 ? (sample & 1 ? shape.m - 1 : 0) : std::int64_t(random() % shape.m);
    const std::int64_t j = sample < 4 ? (sample & 2 ? shape.n - 1 : 0) : std::int64_t(random() % shape.n);
    a.download(std::as_writable_bytes(std::span(row)), bytes_of(i, shape.k));
    b.download(std::as_writable_bytes(std::span(column)), bytes_of(j, shape.k));
    bf16 got;
    d.download(std::as_writable_bytes(std::span(&got, 1)), bytes_of(i, shape.n) + bytes_of(j, 1));
    double sum = 0, magnitude = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const double product = double(float(row[k])) * double(float(column[k]));
      sum += product;
      magnitude += std::fabs(product);
    }
    const double allowed = std::fabs(sum) / 256 + magnitude * 0x1p-20;
    const double difference = std::fabs(double(float(got)) - sum);
    const double error = difference == 0 ? 0 : difference / allowed;
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

}  // namespace wm::bench
