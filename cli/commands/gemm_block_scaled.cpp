// warpmill gemm with operands that have block scales: quantized, multiplied, checked and timed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "commands/measure.hpp"
#include "commands/shapes.hpp"
#include "output.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/block_scaled.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

BlockScaledMatrix random_matrix(const Stream& stream, std::int64_t rows, std::int64_t k, BlockFormat format,
                                std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<std::size_t>(rows * k));
  for (float& number : numbers) number = normal(random);
  const Buffer source = Buffer::of<float>(stream.device(), numbers);
  BlockScaledMatrix matrix = quantize(stream, source.view<float>({rows, k}), format);
  stream.synchronize();
  return matrix;
}

// Of D's elements here and there the largest error, as a part of what rounding allows.
double sampled_error(const BlockScaledMatrix& a, const BlockScaledMatrix& b, const Buffer& d, DType dtype) {
  const std::vector<float> left = numbers_of(a), right = numbers_of(b);
  const auto bytes = d.download<std::byte>();
  const double rounding = dtype == DType::f32    ? 0x1p-24
                          : dtype == DType::f16  ? 0x1p-11
                          : dtype == DType::bf16 ? 0x1p-8
                                                 : 0x1p-4;
  std::mt19937_64 random(1);
  double worst = 0;
  for (int sample = 0; sample < 256; ++sample) {
    const auto i = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(a.rows)),
               j = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(b.rows));
    double sum = 0, size = 0;
    for (std::int64_t x = 0; x < a.k; ++x) {
      const double product =
          double(left[static_cast<std::size_t>(i * a.k + x)]) * right[static_cast<std::size_t>(j * a.k + x)];
      sum += product;
      size += std::abs(product);
    }
    const double got = load_element(dtype, &bytes[static_cast<std::size_t>(i * b.rows + j) * size_of(dtype)]);
    if (dtype == DType::e4m3) sum = std::clamp(sum, -448.0, 448.0);
    worst = std::max(worst, std::abs(got - sum) / (0x1p-18 * size + rounding * std::abs(sum) + 0x1p-10));
  }
  return worst;
}

}  // namespace

int gemm_block_scaled(const GemmCommand& command) {
  if (command.batch != 1 || !command.epilogue.empty() || command.activation != "none" || !command.expression.empty() ||
      command.promote || command.a_major != "k" || command.b_major != "k")
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--dtype {} takes no --batch, --epilogue, --activation, --promote and major-ness here; the "
                            "library's call has an epilogue (warpmill/block_scaled.hpp)",
                            command.dtype));
  const BlockFormat format = block_format_from_name(command.dtype);
  const DType out = command.out_dtype.empty() ? DType::bf16 : dtype_from_name(command.out_dtype);
  const plan::GemmShape shape = plan::shape_from_text(command.shape);
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  const Stream stream(device);
  const bool on_gpu = device.info().kind == DeviceKind::cuda;
  const std::string what = fmt::format("{} x {} x {}, {}", shape.m, shape.n, shape.k, name_of(format));
  if (!on_gpu)
    check_host_memory(what,
                      6.0 * double(shape.m + shape.n) * double(shape.k) + 4.0 * double(shape.m) * double(shape.n));
  const BlockScaledMatrix a = random_matrix(stream, shape.m, shape.k, format, 1),
                          b = random_matrix(stream, shape.n, shape.k, format, 2);
  const Buffer d(device, static_cast<std::size_t>(shape.m * shape.n) * size_of(out));
  BlockScaledGemmRequest request{.a = a.view(), .b = b.view(), .d = d.view(out, {shape.m, shape.n})};
  if (!command.plan.empty()) request.plan = plan::plan_from_text(command.plan);
  const auto first = std::chrono::steady_clock::now();
  const GemmResult result = wm::gemm(stream, request);
  const double first_ms = milliseconds_since(first);
  stream.synchronize();
  const double error = result.blocks > 0 ? sampled_error(a, b, d, out) : 0;
  nlohmann::json report{{"shape", {shape.m, shape.n, shape.k}},
                        {"dtype", name_of(format)},
                        {"out_dtype", name_of(out)},
                        {"device", device.info().id},
                        {"blocks", result.blocks},
                        {"plan", plan::text_of(result.plan)},
                        {"error", error},
                        {"first_call_ms", first_ms}};
  if (on_gpu && result.blocks > 0) {
    const CallTimes times = timed(stream, command.repeat, [&] { wm::gemm(stream, request); });
    report["us"] = times.device_us;
    report["tflops"] = 2.0 * double(shape.m) * double(shape.n) * double(shape.k) / times.device_us * 1e-6;
  }
  if (!command.stamps.empty())
    write_timeline(command.stamps, [&](Trace& trace) {
      request.trace = &trace;
      wm::gemm(stream, request);
    });
  if (command.json) {
    say_json(report);
    return error < 1 ? success : wrong_result;
  }
  say(fmt::format("{}, on {}\n  plan        {}, {} blocks\n", what, device.info().id, plan::text_of(result.plan),
                  result.blocks));
  say(fmt::format("  check       {} (sampled against float64 of what quantize made: {:.2f} of what rounding allows)\n",
                  error < 1 ? "right" : "WRONG", error));
  say(fmt::format("  first call  {:.1f} ms of host time\n", first_ms));
  if (report.contains("us"))
    say(fmt::format("  time        {:.1f} us, {:.0f} TFLOP/s\n", report["us"].get<double>(),
                    report["tflops"].get<double>()));
  return error < 1 ? success : wrong_result;
}

}  // namespace wm::cli
