// warpmill attention: one attention, checked and timed.
#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "case/files.hpp"
#include "commands/attention_words.hpp"
#include "commands/commands.hpp"
#include "commands/measure.hpp"
#include "commands/shapes.hpp"
#include "output.hpp"
#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"
#include "plan/chip_rates.hpp"
#include "progress.hpp"

namespace wm::cli {

int attention(const AttentionCommand& command) {
  const bench::AttentionCase attention = case_of(command.attention);
  const auto plan = plan_of(command.plan, attention);
  if (!command.stamps.empty()) cases::check_writable(command.stamps);
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  const Stream stream(device);
  const bool on_gpu = device.info().kind == DeviceKind::cuda;
  std::optional<Progress> progress;  // a GPU's kernel cannot be stopped half way: there a signal ends the program
  const auto begin = [&](const char* what) {
    if (progress) progress->begin(what);
  };
  if (!on_gpu) {
    check_host_memory(text_of(attention), attention.host_bytes());
    progress.emplace().watch(device);
  }
  begin("making the operands");
  const bench::RandomAttention problem(stream, attention, 1);
  AttentionRequest request = problem.request(plan);
  begin("attending");
  const auto first = std::chrono::steady_clock::now();
  const AttentionResult result = wm::attention(stream, request);
  const double first_ms = milliseconds_since(first);
  stream.synchronize();
  begin("checking");
  const double error = problem.error(256);
  progress.reset();

  const bool ran = result.blocks > 0;
  nlohmann::json report{{"attention", text_of(attention)},
                        {"dtype", command.attention.dtype},
                        {"device", device.info().id},
                        {"blocks", result.blocks}};
  if (ran)
    report.update(
        {{"plan", plan::text_of(result.plan)}, {"tuned", result.tuned}, {"error", error}, {"first_call_ms", first_ms}});
  const double ceiling = plan::tensor_flops(kind_of(attention), plan::rates_of(device.info()));
  if (ran && on_gpu) {
    const CallTimes times = timed(stream, command.repeat, [&] { wm::attention(stream, request); });
    report["us"] = times.device_us;
    report["tflops"] = attention.flops() / times.device_us * 1e-6;
    report["ceiling_share"] = attention.flops() / times.device_us * 1e6 / ceiling;
    report["call_us"] = times.host_us;
  }
  if (ran && !command.stamps.empty())
    write_timeline(command.stamps, [&](Trace& trace) {
      request.trace = &trace;
      wm::attention(stream, request);
    });
  const int status = error < 1 ? success : wrong_result;
  if (command.json) {
    say_json(report);
    return status;
  }
  say(fmt::format("{}, on {}\n", text_of(attention), device.info().id));
  if (!ran) {
    say("  nothing to do: there are no queries\n");
    return status;
  }
  say(fmt::format("  plan        {}, {} blocks, {}\n", plan::text_of(result.plan), result.blocks,
                  plan ? "by hand" : origin_of(result.tuned)));
  say(fmt::format("  check       {} (sampled against float64: {:.2f} of what rounding allows)\n",
                  error < 1 ? "right" : "WRONG", error));
  say(fmt::format("  first call  {:.1f} ms of host time\n", first_ms));
  if (on_gpu)
    say(fmt::format(
        "  time        {:.1f} us, {:.0f} TFLOP/s, {:.0f}% of the ceiling ({:.0f} TFLOP/s); {:.2f} us of host time a "
        "call\n",
        report["us"].get<double>(), report["tflops"].get<double>(), report["ceiling_share"].get<double>() * 100,
        ceiling * 1e-12, report["call_us"].get<double>()));
  return status;
}

}  // namespace wm::cli
