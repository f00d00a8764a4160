// `warpmill check`: a case, or the library's own kernels, under the judge's eyes, in every mode, with several seeds.
#include <fmt/format.h>

#include "case/check_case.hpp"
#include "commands.hpp"
#include "commands/attention_words.hpp"
#include "commands/measure.hpp"
#include "commands/shapes.hpp"
#include "judged.hpp"
#include "ops/gemm_problem.hpp"
#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"
#include "plan/gemm_choice.hpp"
#include "plan/gemm_plan_text.hpp"

namespace wm::cli {
namespace {

// A call of the library on one device, judged: `call` launches and returns its blocks and its plan, `error` is what its
// result is off, right below 1.
struct Launched {
  unsigned blocks = 0;
  std::string plan;
};
template <class Problem, class Call, class Error>
cases::CheckResult check_calls(const Stream& stream, const Problem& problem, const cases::CheckRequest& request,
                               Judged& judged, const Call& call, const Error& error) {
  const Device& device = stream.device();
  return cases::check_runs(device, request, [&](const vgpu::RunOptions& options) {
    vgpu::set_run_options(device, options);
    problem.poison(stream);
    const Launched launched = call();
    stream.synchronize();
    judged.plan = launched.plan;
    vgpu::RunReport report;
    if (launched.blocks > 0)
      report = vgpu::last_run(device);
    else
      report.check.emplace();  // there was nothing to launch
    return cases::RunVerdict{report, !report.ended_by, error() < 1};
  });
}

// A few, so that small problems take each of them from tile to tile; the plan is the one for a whole chip.
constexpr const char* few_multiprocessors = "virtual:sm_90a:sms=4";
Device whole(const Device& device) { return Device::open("virtual:" + device.info().arch.name()); }

constexpr const char* what_else = "what the library computes; please report this";

}  // namespace

int check(const CheckCommand& command) {
  return judged(command.options, [&](const cases::CheckRequest& request, Judged& judged) {
    const cases::Case description = read_case(command.file, command.defines);
    cases::CaseCheck result = cases::check_case(description, request);
    judged.name = description.name;
    judged.not_judged =
        "which elements of an allocation are read and written, what is computed from them, and the case's own "
        "expectation and tolerance; `warpmill run --fidelity` lists instructions that are not the chip's bit for bit";
    judged.first = std::move(result.first);
    return std::move(static_cast<cases::CheckResult&>(result));
  });
}

int check_gemm(const CheckGemmCommand& command) {
  return judged(command.options, [&](const cases::CheckRequest& request, Judged& judged) {
    const bench::Shape shape = shape_of(command.product);
    const Device device = Device::open(command.product.device.empty() ? few_multiprocessors : command.product.device);
    const Stream stream(device);
    check_host_memory(text_of(shape), shape.bytes());
    const bench::RandomProduct problem(stream, shape, 1, variant_of(command.product));
    GemmRequest product = request_of(stream, problem, command.product.plan);
    if (!product.plan) {
      const DeviceInfo& like = whole(device).info();
      const GemmKind kind = ops::understand(stream, product, plan::instruction_of(like.arch)).kind;
      if (const auto choice =
              plan::choose(kind, {shape.m, shape.n, shape.k, shape.batch}, plan::rates_of(like), like.name))
        product.plan = choice->plan;
    }
    judged.name = "gemm " + text_of(shape);
    judged.not_judged = what_else;
    return check_calls(
        stream, problem, request, judged,
        [&] {
          const GemmResult result = wm::gemm(stream, product);
          return Launched{result.blocks, plan::text_of(result.plan)};
        },
        [&] { return problem.sampled_error(64); });
  });
}

int check_attention(const CheckAttentionCommand& command) {
  return judged(command.options, [&](const cases::CheckRequest& request, Judged& judged) {
    const bench::AttentionCase attention = case_of(command.attention);
    auto plan = plan_of(command.plan, attention);
    const Device device = Device::open(command.device.empty() ? few_multiprocessors : command.device);
    const Stream stream(device);
    const DeviceInfo& like = whole(device).info();
    if (!plan)
      if (const auto choice = plan::choose(kind_of(attention), shape_of(attention), plan::rates_of(like), like.name))
        plan = choice->plan;
    check_host_memory(text_of(attention), attention.host_bytes());
    const bench::RandomAttention problem(stream, attention, 1);
    judged.name = "attention " + text_of(attention);
    judged.not_judged = what_else;
    return check_calls(
        stream, problem, request, judged,
        [&] {
          const AttentionResult result = wm::attention(stream, problem.request(plan));
          return Launched{result.blocks, plan::text_of(result.plan)};
        },
        [&] { return problem.error(256); });
  });
}

}  // namespace wm::cli
