// warpmill gemm: one product, checked and timed.
#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "case/files.hpp"
#include "commands/commands.hpp"
#include "commands/measure.hpp"
#include "commands/shapes.hpp"
#include "gemm/instructions.hpp"
#include "output.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_ranking.hpp"
#include "progress.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {

int gemm(const GemmCommand& command) {
  if (command.dtype.starts_with("mxfp") || command.dtype.starts_with("nvfp")) return gemm_block_scaled(command);
  const bench::Shape shape = shape_of(command);
  const bench::Variant variant = variant_of(command);
  if (!command.plan.empty()) plan::plan_from_text(command.plan);  // refused before any memory is filled
  if (!command.stamps.empty()) cases::check_writable(command.stamps);
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  const Stream stream(device);
  const bool on_gpu = device.info().kind == DeviceKind::cuda;
  std::optional<Progress> progress;  // a GPU's kernel cannot be stopped half way: there a signal ends the program
  const auto begin = [&](const char* what, std::uint64_t instructions = 0) {
    if (progress) progress->begin(what, instructions);
  };
  if (!on_gpu) {
    kind_of(device, shape, variant);  // what the library refuses it says first
    check_host_memory(text_of(shape), shape.bytes());
    progress.emplace().watch(device);
  }
  begin("making the operands");
  const bench::RandomProduct problem(stream, shape, 1, variant);
  GemmRequest request = request_of(stream, problem, command.plan);

  constexpr double long_work = 1e10;  // operations: about a second of a core
  begin("multiplying",
        progress && shape.flops() > long_work ? bench::expected_instructions(stream, problem, request.plan) : 0);
  const auto first = std::chrono::steady_clock::now();
  const GemmResult result = wm::gemm(stream, request);
  const double first_ms = milliseconds_since(first);
  stream.synchronize();
  begin("checking");
  const double error = problem.sampled_error(64, progress ? progress->teller() : Tell());
  progress.reset();

  const bool ran = result.blocks > 0;
  nlohmann::json report{{"shape", {shape.m, shape.n, shape.k}}, {"batch", shape.batch},
                        {"dtype", name_of(shape.operands)},     {"out_dtype", name_of(shape.d)},
                        {"device", device.info().id},           {"blocks", result.blocks}};
  if (ran)
    report.update({{"path", result.path()},
                   {"plan", plan::text_of(result.plan)},
                   {"band", result.band},
                   {"tuned", result.tuned},
                   {"error", error},
                   {"first_call_ms", first_ms}});
  const plan::ChipRates rates = plan::rates_of(device.info());
  if (ran && on_gpu) {
    const CallTimes times = timed(stream, command.repeat, [&] { wm::gemm(stream, request); });
    const double us = times.device_us;
    report["us"] = us;
    report["tflops"] = shape.flops() / us * 1e-6;
    report["bytes_per_second"] = shape.bytes() / us * 1e6;
    report["ceiling_share"] = bench::floor_of(shape, rates).seconds() / us * 1e6;
    report["call_us"] = times.host_us;
  }
  if (ran && !command.stamps.empty())
    write_timeline(command.stamps, [&](Trace& trace) {
      request.trace = &trace;
      wm::gemm(stream, request);
    });
  if (command.json) {
    say_json(report);
    return error < 1 ? success : wrong_result;
  }
  say(fmt::format("{}, on {}\n", text_of(shape), device.info().id));
  if (!ran) {
    say(fmt::format("  {}\n", nothing_to_do));
    return success;
  }
  say(fmt::format("  plan        {}, {} blocks, band {}, {}\n", plan::text_of(result.plan), result.blocks, result.band,
                  request.plan ? "by hand" : origin_of(result.tuned)));
  say(fmt::format("  path        {}\n", result.path()));
  say(fmt::format("  check       {} (sampled against float64: {:.2f} of what rounding allows)\n",
                  error < 1 ? "right" : "WRONG", error));
  say(fmt::format("  first call  {:.1f} ms of host time\n", first_ms));
  if (on_gpu)
    say(fmt::format(
        "  time        {:.1f} us, {:.0f} TFLOP/s, {:.2f} TB/s, {:.0f}% of the ceiling ({:.0f} TFLOP/s, {:.2f} TB/s); "
        "{:.2f} us of host time a call\n",
        report["us"].get<double>(), report["tflops"].get<double>(), report["bytes_per_second"].get<double>() * 1e-12,
        report["ceiling_share"].get<double>() * 100, bench::tensor_flops(rates, shape.operands) * 1e-12,
        rates.memory_bytes * 1e-12, report["call_us"].get<double>()));
  return error < 1 ? success : wrong_result;
}

}  // namespace wm::cli
