// The GEMM call: check the request, choose the plan, compile it once, launch.
#include "warpmill/gemm.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "ops/gemm_kernel.hpp"
#include "plan/gemm_ranking.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/module.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, "gemm refused: " + why); }

// Everything that a prepared call depends on: where the operands lie and how.
struct CallKey {
  std::array<std::uint64_t, 3> address;
  std::array<std::int64_t, 3> stride;  // elements between rows of A, columns of B, rows of D
  std::int64_t m, n, k;
  std::optional<GemmPlan> plan;
  bool operator==(const CallKey&) const = default;
};
struct HashCall {
  std::size_t operator()(const CallKey& key) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15ull;
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0xff51afd7ed558ccdull, hash ^= hash >> 32; };
    for (const auto value : key.address) mix(value);
    for (const auto value : key.stride) mix(static_cast<std::uint64_t>(value));
    mix(static_cast<std::uint64_t>(key.m));
    mix(static_cast<std::uint64_t>(key.n));
    mix(static_cast<std::uint64_t>(key.k));
    return hash;
  }
};

struct PreparedCall {
  Kernel kernel;
  LaunchConfig config;
  GemmArguments arguments;
  GemmResult result;
};

// What a device keeps between calls; the mutex guards the tables, never a compilation. It lives as long as the process:
// kernels keep their device open.
struct DeviceState {
  std::mutex mutex;
  std::map<std::string, Kernel> kernels;  // by the plan's C++ expression
  std::unordered_map<CallKey, std::shared_ptr<const PreparedCall>, HashCall> calls;
  static constexpr std::size_t most_calls = 1024;
};

DeviceState& state_of(const Device& device) {
  static std::mutex mutex;
  static auto& states = *new std::map<const void*, std::unique_ptr<DeviceState>>;  // never destroyed: no order at exit
  const std::lock_guard lock(mutex);
  auto& state = states[&device.backend()];
  if (!state) state = std::make_unique<DeviceState>();
  return *state;
}

// One operand's layout in words of the request: which of its two strides must be 1.
std::int64_t stride_of(const View& view, std::string_view name, int contiguous, std::string_view along) {
  const int other = 1 - contiguous;
  if (view.shape[contiguous] > 1 && view.strides[contiguous] != 1)
    refuse(
        fmt::format("{} is not contiguous along {}: its strides are ({}, {}). Only this layout is served so far; "
                    "copy {} into it, or transpose the view if it is kept the other way round",
                    name, along, view.strides[0], view.strides[1], name));
  // A single row (or column) has no stride that matters.
  return view.shape[other] > 1 ? view.strides[other] : (view.shape[contiguous] + 7) / 8 * 8;
}

// Whether an element of `x` is one of `d`. Two parts of one larger matrix (the same stride) may lie side by side: then
// their columns decide, else the ranges of addresses.
bool overlap(const View& d, const View& x, std::int64_t d_stride, std::int64_t x_stride, std::int64_t x_columns) {
  const std::uint64_t d_end = d.address + d.span_bytes(), x_end = x.address + x.span_bytes();
  if (d.elements() == 0 || x.elements() == 0 || d.address >= x_end || x.address >= d_end) return false;
  if (d_stride != x_stride) return true;
  const auto pitch = static_cast<std::uint64_t>(d_stride) * 2;
  const std::uint64_t apart = (pitch + d.address % pitch - x.address % pitch) % pitch;  // from x's column 0 to d's
  return apart < static_cast<std::uint64_t>(x_columns) * 2 ||
         apart + static_cast<std::uint64_t>(d.shape[1]) * 2 > pitch;
}

CallKey check(const Stream& stream, const GemmRequest& request) {
  const std::array<std::pair<const View*, std::string_view>, 3> operands{
      {{&request.a, "a"}, {&request.b, "b"}, {&request.d, "d"}}};
  for (const auto& [view, name] : operands) {
    if (view->dtype != DType::bf16)
      refuse(fmt::format("{} holds {}; bf16 is the one type served so far", name, name_of(view->dtype)));
    if (view->shape.size() != 2) refuse(fmt::format("{} has {} dimensions instead of 2", name, view->shape.size()));
    if (!(view->device == stream.device()))
      refuse(fmt::format("{} lies on {} and the stream belongs to {}", name, view->device.info().id,
                         stream.device().info().id));
  }
  const auto& [a, b, d, plan] = request;
  const std::int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  if (b.shape[0] != k || d.shape[0] != m || d.shape[1] != n)
    refuse(fmt::format("the shapes do not fit: a is {}x{}, b is {}x{}, d is {}x{}; they must be m x k, k x n, m x n", m,
                       k, b.shape[0], n, d.shape[0], d.shape[1]));
  for (const std::int64_t size : {m, n, k})
    if (size > 0x7fffffff)
      refuse(fmt::format("a dimension of {} is beyond the copy engine's 32-bit coordinates", size));
  const Architecture& arch = stream.device().info().arch;
  if (arch.major != 9 || !arch.specific)
    throw Error(ErrorCode::unsupported, fmt::format("gemm refused: {} is {}, and the kernel is for sm_90a",
                                                    stream.device().info().id, arch.name()));
  if (plan && !plan->valid()) refuse(fmt::format("the plan given is impossible: {}", plan->problem()));
  if (m > 1 && d.strides[0] < n)
    refuse(fmt::format("d's rows overlap: {} elements from one to the next, and each has {}", d.strides[0], n));
  const std::array<std::int64_t, 3> strides{stride_of(a, "a", 1, "k (its rows)"),
                                            stride_of(b, "b", 0, "k (its columns)"),
                                            stride_of(d, "d", 1, "n (its rows)")};
  if (overlap(d, a, strides[2], strides[0], k) || overlap(d, b, strides[2], strides[1], k))
    refuse("d overlaps a or b; the product cannot be made in place");
  return {{a.address, b.address, d.address}, strides, m, n, k, plan};
}

Kernel load_kernel(const Device& device, const GemmPlan& plan) {
  const bool chip = device.info().kind == DeviceKind::cuda;
  const jit::Program program =
      ops::compile_gemm(plan, device.info().arch, chip ? ops::Target::chip : ops::Target::virtual_gpu);
  return Module::load(device, program, "gemm_sm90").kernel(ops::expression(plan));
}

// Compiled once; two threads that need it at the same moment compile once too, and load it twice.
Kernel kernel_of(const Device& device, DeviceState& state, const GemmPlan& plan) {
  const std::string name = ops::expression(plan);
  {
    const std::lock_guard lock(state.mutex);
    if (const auto found = state.kernels.find(name); found != state.kernels.end()) return found->second;
  }
  const Kernel loaded = load_kernel(device, plan);
  const std::lock_guard lock(state.mutex);
  return state.kernels.emplace(name, loaded).first->second;
}

// A matrix of rows that are contiguous along k, or D's: `stride` elements from row to row.
TensorMap map_rows(const Device& device, std::string_view name, std::uint64_t address, std::int64_t rows,
                   std::int64_t columns, std::int64_t stride, std::int64_t box_rows, std::int64_t box_columns) {
  TensorMapSpec spec{.element = MapElement::bf16,
                     .address = address,
                     .dims = {rows, columns},
                     .strides = {stride * 2},
                     .swizzle = box_columns == 64   ? Swizzle::b128
                                : box_columns == 32 ? Swizzle::b64
                                                    : Swizzle::b32,
                     .l2_promotion = L2Promotion::b256,
                     .box = {box_rows, box_columns}};
  try {
    return make_tensor_map(device, spec);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("gemm refused: {}: {}", name, error.what()));
  }
}

std::shared_ptr<const PreparedCall> prepare(const Device& device, DeviceState& state, const CallKey& key) {
  const plan::GemmShape shape{key.m, key.n, key.k};
  const plan::ChipRates rates{.multiprocessors = device.info().multiprocessors};
  const plan::GemmEstimate choice =
      key.plan ? plan::estimate(*key.plan, shape, rates) : plan::rank(shape, rates).front();
  const GemmPlan& plan = choice.plan;

  GemmArguments arguments{
      .a =
          map_rows(device, "a", key.address[0], key.m, key.k, key.stride[0], plan.tile.m / plan.cluster.n, plan.tile.k),
      .b =
          map_rows(device, "b", key.address[1], key.n, key.k, key.stride[1], plan.tile.n / plan.cluster.m, plan.tile.k),
      .d = map_rows(device, "d", key.address[2], key.m, key.n, key.stride[2], plan.strip_rows(), plan.strip_columns()),
      .out = key.address[2],
      .out_stride = key.stride[2],
      .m = static_cast<unsigned>(key.m),
      .n = static_cast<unsigned>(key.n),
      .k = static_cast<unsigned>(key.k),
      .schedule = choice.schedule};

  const Kernel kernel = kernel_of(device, state, plan);
  const auto blocks =
      static_cast<unsigned>(std::min<std::int64_t>(choice.clusters, choice.tiles) * plan.cluster_size());
  const LaunchConfig config{.grid = {blocks},
                            .block = {static_cast<std::uint32_t>(plan.threads())},
                            .cluster = {static_cast<std::uint32_t>(plan.cluster_size())},
                            .shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes())};
  return std::make_shared<PreparedCall>(PreparedCall{kernel, config, arguments, {plan, choice.schedule.band, blocks}});
}

}  // namespace

GemmResult gemm(const Stream& stream, const GemmRequest& request) {
  const CallKey key = check(stream, request);
  if (key.m == 0 || key.n == 0) return {};
  if (key.k == 0) {  // an empty sum is zero
    const bool dense = key.stride[2] == key.n || key.m == 1;
    const auto row_bytes = static_cast<std::size_t>(key.n) * 2;
    for (std::int64_t row = 0; row < (dense ? 1 : key.m); ++row)
      stream.fill(key.address[2] + static_cast<std::uint64_t>(row * key.stride[2] * 2), std::byte{0},
                  dense ? row_bytes * static_cast<std::size_t>(key.m) : row_bytes);
    return {};
  }
  DeviceState& state = state_of(stream.device());
  const auto find = [&]() -> std::shared_ptr<const PreparedCall> {
    const std::lock_guard lock(state.mutex);
    const auto found = state.calls.find(key);
    return found == state.calls.end() ? nullptr : found->second;
  };
  std::shared_ptr<const PreparedCall> call = find();
  if (!call) {
    call = prepare(stream.device(), state, key);
    const std::lock_guard lock(state.mutex);
    if (state.calls.size() >= DeviceState::most_calls) state.calls.clear();
    state.calls.emplace(key, call);
  }
  launch(stream, call->kernel, call->config, call->arguments);
  return call->result;
}

}  // namespace wm
