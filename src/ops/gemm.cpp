// The GEMM call: understand the request, choose the plan, compile it once, launch.
#include "warpmill/gemm.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/device_state.hpp"
#include "ops/gemm_aligned.hpp"
#include "ops/gemm_kernel.hpp"
#include "ops/gemm_launch.hpp"
#include "ops/gemm_problem.hpp"
#include "ops/kernel_ahead.hpp"
#include "ops/known.hpp"
#include "ops/workspace.hpp"
#include "plan/gemm_choice.hpp"
#include "trace/stamps.hpp"
#include "warpmill/error.hpp"

namespace wm {
namespace {

using ops::GemmProblem;
using ops::Matrix;
using ops::PreparedLaunch;

// Everything that a prepared call depends on. alpha and beta are set at each launch; whether they are there at all is
// part of the kind.
struct CallKey {
  GemmProblem problem;
  std::optional<GemmPlan> plan;
  bool stamped;          // for a timeline
  bool aligned = false;  // operands are copied first: the problem has them where they will be
  ops::EarlyOperands early{};
  bool operator==(const CallKey&) const = default;

  // What the choice of a plan and its kernel depend on: the same matrices anywhere, behind any kernel.
  CallKey anywhere() const {
    CallKey key = *this;
    key.early = {};
    GemmProblem& p = key.problem;
    for (Matrix* matrix : {&p.a, &p.b, &p.c, &p.d}) {
      matrix->address = 0;
      if (p.kind.listed) matrix->matrix_stride = 0;
    }
    for (ops::Vector* vector : {&p.row_scale, &p.column_scale, &p.row_bias, &p.column_bias, &p.amax, &p.d_scale})
      vector->address = 0;
    p.a_scales.address = p.b_scales.address = 0;
    p.listed = {};
    return key;
  }

  std::size_t hash() const {
    ops::HashMix mix;
    for (const Matrix* matrix : {&problem.a, &problem.b, &problem.d}) mix(matrix->address);
    for (const std::int64_t size : {problem.m, problem.n, problem.k, problem.batch})
      mix(static_cast<std::uint64_t>(size));
    for (const auto* list : {&problem.listed.a, &problem.listed.b, &problem.listed.d})
      for (const std::uint64_t address : *list) mix(address);
    return mix.result();
  }
  // A long list takes the room of several.
  std::size_t room() const { return 1 + problem.listed.d.size() / 32; }
};
// The plan for a call, and its kernel; and those for calls whose operands are loaded early, where they are others. Both
// kernels are loaded together: which one it is shows in a capture, when nothing can be loaded any more.
struct Choice : plan::GemmChoice {
  struct Other {
    GemmPlan plan;
    Kernel kernel;
  };
  Kernel kernel;
  std::optional<Other> early;
};

struct PreparedCall {
  Kernel kernel;
  std::vector<PreparedLaunch> launches;  // one, but for a long list
  GemmResult result;
  std::optional<Kernel> copy;  // of operands, before
};

struct GemmState {
  ops::Kernels kernels;
  ops::Known<CallKey, Choice> choices;  // by CallKey::anywhere()
  ops::Known<CallKey, PreparedCall> calls;
};

Kernel kernel_of(const Device& device, GemmState& state, const GemmPlan& plan, const CallKey& key) {
  const std::string& activation = key.problem.expression;
  const ops::KernelSource source = ops::gemm_source(plan, activation);
  try {
    return state.kernels.get(device, key.stamped ? source.stamped() : source);
  } catch (const Error& error) {
    if (activation.empty()) throw;
    throw Error(error.code(), fmt::format("gemm refused: the kernel with the activation '{}' does not compile: {}",
                                          activation, error.what()));
  }
}

plan::GemmShape shape_of(const GemmProblem& p) { return {p.m, p.n, p.k, p.batch}; }

// The plan given, or the best that is known.
std::shared_ptr<const Choice> choose(const Device& device, GemmState& state, const CallKey& key) {
  const DeviceInfo& info = device.info();
  const plan::ChipRates rates = plan::rates_of(info);
  plan::GemmChoice choice;
  if (key.plan) {
    GemmPlan given = *key.plan;
    given.kind = given.exchange ? key.problem.kind.transposed() : key.problem.kind;
    if (!given.valid())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("gemm refused: the plan given is impossible: {}", given.problem()));
    if (std::size_t(given.shared_bytes()) > info.shared_bytes_per_block)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("gemm refused: the plan given takes {} bytes of shared memory and a block of {} has {}; take "
                      "fewer stages or a smaller tile",
                      given.shared_bytes(), info.id, info.shared_bytes_per_block));
    choice.plan = given;
  } else {
    const auto own = plan::choose(key.problem.kind, shape_of(key.problem), rates, info.name);
    if (!own)
      throw Error(
          ErrorCode::unsupported,
          fmt::format("gemm refused: no plan serves {} of {} x {} x {} on {}: they are more than 2^31 tiles, or "
                      "{} bytes of shared memory are too few",
                      key.problem.batch, key.problem.m, key.problem.n, key.problem.k, info.id,
                      info.shared_bytes_per_multiprocessor));
    choice = *own;
  }
  if (const auto tiles = plan::schedule_of(choice.plan, shape_of(key.problem), rates).tiles; tiles > plan::most_tiles)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("gemm refused: the plan given cuts the product into {} tiles, and they are counted up to {}; take "
                    "larger tiles",
                    tiles, plan::most_tiles));
  const std::optional<GemmPlan> early =
      key.plan ? std::nullopt : plan::early_plan(choice, key.problem.kind, shape_of(key.problem), rates);
  std::future<Kernel> other;
  try {
    if (early) other = std::async(std::launch::async, [&] { return kernel_of(device, state, *early, key); });
  } catch (const std::system_error&) {  // no thread to be had
  }
  auto both = std::make_shared<Choice>(Choice{choice, kernel_of(device, state, choice.plan, key), {}});
  try {
    if (other.valid()) both->early = {*early, other.get()};
  } catch (const Error&) {  // the product has a kernel without it
  }
  return both;
}

std::shared_ptr<const PreparedCall> prepare(const Device& device, GemmState& state, const CallKey& key) {
  const CallKey anywhere = key.anywhere();
  std::shared_ptr<const Choice> choice = state.choices.find(anywhere);
  if (!choice) {
    choice = choose(device, state, anywhere);
    state.choices.add(anywhere, choice);
  }
  const bool takes_early =
      choice->early && (choice->early->plan.exchange ? key.early.b : key.early.a);  // whichever has the rows
  const GemmPlan& plan = takes_early ? choice->early->plan : choice->plan;
  auto call = std::make_shared<PreparedCall>(PreparedCall{takes_early ? choice->early->kernel : choice->kernel,
                                                          ops::prepare_launches(device, key.problem, plan, key.early),
                                                          {},
                                                          {}});
  if (key.aligned) call->copy = state.kernels.get(device, ops::aligned_copy_source(key.problem.kind.a));
  const PreparedLaunch& first = call->launches.front();
  call->result = {.plan = plan,
                  .band = first.arguments.work.tiles.band,
                  .blocks = first.config.grid.x,
                  .tuned = choice->tuned,
                  .aligned = key.aligned,
                  .early = first.arguments.a_early || first.arguments.b_early};
  return call;
}

// Nothing is known of it where operands cannot be loaded before it has ended: matrices of a list may lie anywhere, and
// where an amax is cleared first, that is what is ahead.
ops::KernelAhead kernel_ahead(const Stream& stream, const GemmRequest& request, const CallKey& key) {
  const GemmKind& kind = key.problem.kind;
  const bool may_be_early = request.early && !key.aligned && !kind.listed && !kind.epilogue.amax && kind.by_tma();
  return may_be_early ? ops::KernelAhead(stream) : ops::KernelAhead();
}

}  // namespace

std::string GemmResult::path() const {
  if (blocks == 0) return "nothing to do";
  const auto producer = [](Producer by, Major major) -> std::string {
    switch (by) {
      case Producer::tma: return "copy engine";
      case Producer::elements: return major == Major::mn ? "threads, transposing" : "threads, element by element";
      default: return fmt::format("threads, {}-byte copies", copy_bytes(by));
    }
  };
  GemmKind kind = plan.exchange ? plan.kind.transposed() : plan.kind;  // in the caller's words
  const std::string a = producer(kind.a_producer, kind.a_major), b = producer(kind.b_producer, kind.b_major);
  return fmt::format("{}{}{}", aligned ? "copied to aligned lines, " : "",
                     a == b ? a : fmt::format("a: {}; b: {}", a, b),
                     plan.kind.store_by_threads() ? "; d: stored by threads" : "");
}

namespace {

// The instruction of the plan given, or the best that there is.
TensorInstruction instruction_for(const Device& device, const std::optional<GemmPlan>& plan) {
  const Architecture& arch = device.info().arch;
  if (arch.number() < 80)
    throw Error(ErrorCode::unsupported, fmt::format("gemm refused: {} is {}, and the kernels are for sm_80 and newer",
                                                    device.info().id, arch.name()));
  const TensorInstruction best = plan::instruction_of(arch);
  const TensorInstruction instruction = plan ? plan->instruction : best;
  if (instruction != best && instruction != TensorInstruction::mma)
    throw Error(ErrorCode::unsupported,
                fmt::format("gemm refused: the plan given takes {}, and {} is {}; take an mma plan",
                            instruction == TensorInstruction::wgmma     ? "wgmma, which only sm_90a has"
                            : instruction == TensorInstruction::tcgen05 ? "tcgen05, which only sm_100a has"
                                                                        : "mma-tma, which is for sm_120a",
                            device.info().id, arch.name()));
  return instruction;
}

// What is understood: prepared once, and launched. `request` says where everything lies.
GemmResult run(const Stream& stream, const GemmRequest& request, CallKey key) {
  const Device& device = stream.device();
  const auto clear_amax = [&] {  // once nothing can be refused any more
    if (key.problem.kind.epilogue.amax) stream.fill(key.problem.amax.address, std::byte{0}, sizeof(float));
  };
  if (key.problem.m == 0 || key.problem.n == 0 || key.problem.batch == 0) {
    clear_amax();
    return {};
  }
  AlignedCopies copies{};
  std::optional<ops::Scratch> scratch;  // until the product is in the stream
  if (const std::size_t bytes = request.align ? ops::aligned_bytes(key.problem) : 0; bytes > 0) {
    ops::check_overlaps(request);  // the key does not say where the operands lie
    scratch = ops::scratch_of(stream, bytes);
  }
  if (scratch) {
    ops::AlignedProblem to = ops::aligned(key.problem, scratch->address);
    key.problem = std::move(to.problem), key.aligned = true, copies = to.copies;
  }
  const ops::KernelAhead ahead = kernel_ahead(stream, request, key);
  key.early = {ahead.leaves(ops::bytes_of(request.a)), ahead.leaves(ops::bytes_of(request.b))};
  GemmState& state = ops::state_of<GemmState>(device);
  std::shared_ptr<const PreparedCall> call = state.calls.find(key);
  if (!call) {
    ops::check_overlaps(request);
    call = prepare(device, state, key);
    state.calls.add(key, call);
  }
  std::size_t workspace_bytes = 0, sum_bytes = 0;
  for (const PreparedLaunch& part : call->launches) {
    workspace_bytes = std::max(workspace_bytes, part.workspace_bytes);
    sum_bytes = std::max(sum_bytes, part.sum_bytes);
  }
  const std::uint64_t partials = workspace_bytes > 0 ? ops::workspace_of(stream, workspace_bytes) : 0;
  const std::uint64_t sums = sum_bytes > 0 ? ops::unset_workspace_of(stream, sum_bytes) : 0;
  clear_amax();
  // For the next call: what this launch writes, if it is one alone, of matrices that lie in order, by a kernel that
  // lets the next start when those ahead have ended.
  const GemmPlan& plan = call->result.plan;
  const runtime::ByteRange writes[] = {ops::bytes_of(request.d),
                                       ops::bytes_of(request.epilogue.amax),
                                       {partials, partials + workspace_bytes},
                                       {sums, sums + sum_bytes}};
  const bool tells = plan.instruction == TensorInstruction::wgmma && plan.load_group() && !request.batch;
  const runtime::LaunchNotes notes{.writes = {writes, tells ? std::size(writes) : 0},
                                   .place = call->result.early ? ahead.place() : runtime::Place{}};
  if (call->copy) launch(stream, *call->copy, ops::aligned_copy_config(copies, device.info().multiprocessors), copies);
  for (const PreparedLaunch& part : call->launches) {
    LaunchConfig config = part.config;
    std::optional<trace::StampRecords> stamps;
    if (request.trace) stamps.emplace(stream, call->kernel, config);
    GemmArguments arguments = part.arguments;
    arguments.alpha = request.epilogue.alpha;
    arguments.beta = request.epilogue.beta;
    arguments.partials = partials;
    arguments.sums = sums;
    if (part.numbers)
      launch(stream, call->kernel, config, ListedGemmArguments{arguments, *part.numbers});
    else if (part.scale_maps)
      launch(stream, call->kernel, config, ClusterScaledGemmArguments{arguments, *part.scale_maps});
    else
      ops::launch(stream, call->kernel, config, arguments, notes);
    if (stamps) *request.trace = stamps->read(stream);
  }
  return call->result;
}

}  // namespace

GemmResult gemm(const Stream& stream, const GemmRequest& request) {
  const TensorInstruction instruction = instruction_for(stream.device(), request.plan);
  return run(stream, request, {ops::understand(stream, request, instruction), request.plan, request.trace != nullptr});
}

GemmResult gemm(const Stream& stream, const BlockScaledGemmRequest& request) {
  const TensorInstruction instruction = instruction_for(stream.device(), request.plan);
  ops::BlockScaledProblem understood = ops::understand(stream, request, instruction);
  understood.bytes.trace = request.trace;
  return run(stream, understood.bytes, {understood.problem, request.plan, request.trace != nullptr});
}

}  // namespace wm
