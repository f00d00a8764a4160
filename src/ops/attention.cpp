// The attention call: understand the request, choose the plan, compile it once, launch.
#include "warpmill/attention.hpp"

#include <memory>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "ops/attention_kernel.hpp"
#include "ops/attention_launch.hpp"
#include "ops/attention_problem.hpp"
#include "ops/device_state.hpp"
#include "ops/kernel_ahead.hpp"
#include "ops/known.hpp"
#include "ops/workspace.hpp"
#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"
#include "trace/stamps.hpp"
#include "warpmill/error.hpp"

namespace wm {
namespace {

// Everything that a prepared call depends on.
struct AttentionKey {
  ops::AttentionProblem problem;
  std::optional<AttentionPlan> plan;
  bool stamped;  // for a timeline
  bool operator==(const AttentionKey&) const = default;

  std::size_t hash() const {
    ops::HashMix mix;
    for (const ops::HeadTensor* tensor : {&problem.q, &problem.k, &problem.v, &problem.out}) mix(tensor->address);
    for (const std::int64_t size : {problem.batch, problem.heads, problem.queries, problem.keys})
      mix(static_cast<std::uint64_t>(size));
    return mix.result();
  }
  std::size_t room() const { return 1; }
};

struct PreparedCall {
  Kernel kernel;
  ops::PreparedAttention launch;
  AttentionResult result;
};

struct AttentionState {
  ops::Kernels kernels;
  ops::Known<AttentionKey, PreparedCall> calls;
};

plan::AttentionChoice choose(const Device& device, const AttentionKey& key) {
  if (!key.plan) {
    const auto choice =
        plan::choose(key.problem.kind, key.problem.shape(), plan::rates_of(device.info()), device.info().name);
    if (!choice)
      throw Error(ErrorCode::unsupported,
                  fmt::format("attention refused: no plan serves a head dim of {} with a value dim of {} on {}: {}",
                              key.problem.kind.head_dim, key.problem.kind.value_dim, device.info().arch.name(),
                              plan::why_none(key.problem.kind, plan::instruction_of(device.info().arch))));
    return *choice;
  }
  AttentionPlan given = *key.plan;
  given.kind = key.problem.kind;
  if (given.instruction != plan::instruction_of(device.info().arch))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("attention refused: the plan given is for another chip than {}: its tile is '{}'",
                            device.info().arch.name(), plan::text_of(given)));
  if (!given.valid())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("attention refused: the plan given is impossible: {}", given.problem()));
  if (std::size_t(given.shared_bytes()) > device.info().shared_bytes_per_block)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("attention refused: the plan given takes {} bytes of shared memory and a block of {} has {}",
                    given.shared_bytes(), device.info().id, device.info().shared_bytes_per_block));
  return {given, false};
}

Kernel kernel_of(const Device& device, AttentionState& state, const AttentionPlan& plan, const AttentionKey& key) {
  const ops::KernelSource source = ops::attention_source(plan, key.problem.text);
  try {
    return state.kernels.get(device, key.stamped ? source.stamped() : source);
  } catch (const Error& error) {
    const std::string words = ops::expression_error(key.problem.text, error.what());
    if (words.empty()) throw;
    throw Error(error.code(), "attention refused: " + words);
  }
}

std::shared_ptr<const PreparedCall> prepare(const Device& device, AttentionState& state, const AttentionKey& key) {
  const auto [plan, tuned] = choose(device, key);
  const Kernel kernel = kernel_of(device, state, plan, key);
  const ops::PreparedAttention launch = ops::prepare_launch(device, key.problem, plan);
  return std::make_shared<PreparedCall>(PreparedCall{kernel, launch, {plan, launch.config.grid.x, tuned}});
}

}  // namespace

AttentionResult attention(const Stream& stream, const AttentionRequest& request) {
  const Device& device = stream.device();
  const TensorInstruction instruction = plan::instruction_of(device.info().arch);
  if (instruction != TensorInstruction::wgmma && instruction != TensorInstruction::tcgen05)
    throw Error(ErrorCode::unsupported,
                fmt::format("attention refused: {} is {}, and the kernels are for sm_90a and sm_100a; on the virtual "
                            "GPU open virtual:sm_90a",
                            device.info().id, device.info().arch.name()));
  const AttentionKey key{ops::understand(stream, request), request.plan, request.trace != nullptr};
  if (key.problem.batch == 0 || key.problem.heads == 0 || key.problem.queries == 0) return {};
  AttentionState& state = ops::state_of<AttentionState>(device);
  std::shared_ptr<const PreparedCall> call = state.calls.find(key);
  if (!call) {
    call = prepare(device, state, key);
    state.calls.add(key, call);
  }
  LaunchConfig config = call->launch.config;
  std::optional<trace::StampRecords> stamps;
  if (request.trace) stamps.emplace(stream, call->kernel, config);
  AttentionArguments arguments = call->launch.arguments;
  arguments.counter = ops::counter_of(stream);
  const runtime::ByteRange writes[] = {ops::bytes_of(request.out), ops::bytes_of(request.lse)};
  const bool tells = instruction == TensorInstruction::wgmma;
  ops::launch(stream, call->kernel, config, arguments, {.writes = {writes, tells ? std::size(writes) : 0}});
  if (stamps) *request.trace = stamps->read(stream);
  return call->result;
}

}  // namespace wm
