// The GEMM call: understand the request, choose the plan, compile it once, launch.
#include "warpmill/gemm.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/gemm_kernel.hpp"
#include "ops/gemm_problem.hpp"
#include "ops/workspace.hpp"
#include "plan/gemm_choice.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/module.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm {
namespace {

using ops::GemmProblem;
using ops::Matrix;

// Everything that a prepared call depends on. alpha and beta are set at each launch; whether they are there at all is
// part of the kind.
struct CallKey {
  GemmProblem problem;
  std::optional<GemmPlan> plan;
  bool operator==(const CallKey&) const = default;

  // What the choice of a plan and its kernel depend on: the same matrices anywhere.
  CallKey anywhere() const {
    CallKey key = *this;
    GemmProblem& p = key.problem;
    for (Matrix* matrix : {&p.a, &p.b, &p.c, &p.d}) {
      matrix->address = 0;
      if (p.kind.listed) matrix->matrix_stride = 0;
    }
    for (ops::Vector* vector : {&p.row_scale, &p.column_scale, &p.row_bias, &p.column_bias, &p.amax, &p.d_scale})
      vector->address = 0;
    p.listed = {};
    return key;
  }
};
struct HashCall {
  std::size_t operator()(const CallKey& key) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15ull;
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0xff51afd7ed558ccdull, hash ^= hash >> 32; };
    const GemmProblem& p = key.problem;
    for (const Matrix* matrix : {&p.a, &p.b, &p.d}) mix(matrix->address);
    for (const std::int64_t size : {p.m, p.n, p.k, p.batch}) mix(static_cast<std::uint64_t>(size));
    for (const auto* list : {&p.listed.a, &p.listed.b, &p.listed.d})
      for (const std::uint64_t address : *list) mix(address);
    return hash;
  }
};

// The plan for a call, and its kernel.
struct Choice : plan::GemmChoice {
  Kernel kernel;
};

struct PreparedLaunch {
  LaunchConfig config;
  GemmArguments arguments;
  std::unique_ptr<MatrixNumbers> numbers;  // of a listed batch
  std::size_t workspace_bytes;             // of a split plan
};
struct PreparedCall {
  Kernel kernel;
  std::vector<PreparedLaunch> launches;  // one, but for a long list
  GemmResult result;
};

// A table of what is known already. The oldest goes where it grows too long; a long list takes the room of several.
template <class Value>
class Known {
 public:
  std::shared_ptr<const Value> find(const CallKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : found->second;
  }
  void add(const CallKey& key, std::shared_ptr<const Value> value) {
    const std::lock_guard lock(mutex_);
    const auto [place, added] = values_.emplace(key, std::move(value));
    if (!added) return;
    oldest_.push_back(&place->first);
    room_ += room_of(key);
    while (room_ > most && oldest_.size() > 1) {
      room_ -= room_of(*oldest_.front());
      values_.erase(values_.find(*oldest_.front()));
      oldest_.pop_front();
    }
  }

 private:
  static constexpr std::size_t most = 2048;
  static std::size_t room_of(const CallKey& key) { return 1 + key.problem.listed.d.size() / 32; }
  std::mutex mutex_;
  std::unordered_map<CallKey, std::shared_ptr<const Value>, HashCall> values_;
  std::deque<const CallKey*> oldest_;  // first
  std::size_t room_ = 0;
};

// What a device keeps between calls; mutexes guard the tables, never a compilation. It lives as long as the process:
// kernels keep their device open.
struct DeviceState {
  std::mutex mutex;
  std::map<std::string, Kernel> kernels;  // by the plan's C++ expression and the caller's activation
  Known<Choice> choices;                  // by CallKey::anywhere()
  Known<PreparedCall> calls;
};

DeviceState& state_of(const Device& device) {
  static std::mutex mutex;
  static auto& states = *new std::map<const void*, std::unique_ptr<DeviceState>>;  // never destroyed: no order at exit
  const std::lock_guard lock(mutex);
  auto& state = states[&device.backend()];
  if (!state) state = std::make_unique<DeviceState>();
  return *state;
}

// Compiled once; two threads that need it at the same moment compile once too, and load it twice.
Kernel kernel_of(const Device& device, DeviceState& state, const GemmPlan& plan, const std::string& activation) {
  const ops::GemmSource source = ops::gemm_source(plan, activation);
  const std::string name = source.expression + activation;
  {
    const std::lock_guard lock(state.mutex);
    if (const auto found = state.kernels.find(name); found != state.kernels.end()) return found->second;
  }
  const bool chip = device.info().kind == DeviceKind::cuda;
  jit::Program program;
  try {
    program = ops::compile_gemm(source, device.info().arch, chip ? ops::Target::chip : ops::Target::virtual_gpu);
  } catch (const Error& error) {
    if (activation.empty()) throw;
    throw Error(error.code(), fmt::format("gemm refused: the kernel with the activation '{}' does not compile: {}",
                                          activation, error.what()));
  }
  const Kernel loaded = Module::load(device, program, "gemm").kernel(source.expression);
  const std::lock_guard lock(state.mutex);
  return state.kernels.emplace(name, loaded).first->second;
}

// `rows` lines of `columns` elements side by side, `pitch` elements from one to the next, `batch` times.
TensorMap map_lines(const Device& device, std::string_view name, DType dtype, const Matrix& matrix, std::int64_t pitch,
                    std::int64_t rows, std::int64_t columns, std::int64_t batch, std::int64_t box_rows,
                    std::int64_t box_columns) {
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  // Where there is one line or one matrix, its stride says nothing and may be any legal one.
  const std::int64_t line = rows > 1 ? pitch * bytes : (columns * bytes + 15) / 16 * 16;
  const bool several = batch > 1 && matrix.matrix_stride != 0;
  const TensorMapSpec spec{.element = dtype == DType::tf32 ? MapElement::f32 : map_element(dtype),
                           .address = matrix.address,
                           .dims = {several ? batch : 1, rows, columns},
                           .strides = {several ? matrix.matrix_stride * bytes : line, line},
                           .swizzle = Swizzle::b128,
                           // Not 256: rows that start inside a line would bring twice what is read (docs/gemm.md).
                           .l2_promotion = L2Promotion::b128,
                           .box = {1, box_rows, box_columns}};
  try {
    return make_tensor_map(device, spec);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("gemm refused: {}: {}", name, error.what()));
  }
}

TensorMap map_operand(const Device& device, std::string_view name, DType dtype, Major major, const Matrix& matrix,
                      std::int64_t extent, std::int64_t k, std::int64_t batch, const GemmPlan& plan, int tile_extent,
                      int shares) {
  if (!plan.kind.by_tma()) return {};
  if (major == Major::k)
    return map_lines(device, name, dtype, matrix, matrix.row_stride, extent, k, batch, tile_extent / shares,
                     plan.tile_k());
  return map_lines(device, name, dtype, matrix, matrix.column_stride, k, extent, batch, plan.tile_k() / shares,
                   plan.span_columns(tile_extent));
}

TensorMap map_strip(const Device& device, const GemmProblem& p, const Matrix& d, std::int64_t batch,
                    const GemmPlan& plan, int columns) {
  if (plan.kind.store_by_threads() || !plan.wgmma()) return {};
  if (plan.kind.d_columns) return map_lines(device, "d", p.kind.d, d, d.column_stride, p.n, p.m, batch, columns, 64);
  return map_lines(device, "d", p.kind.d, d, d.row_stride, p.m, p.n, batch, 64, columns);
}

plan::GemmShape shape_of(const GemmProblem& p) { return {p.m, p.n, p.k, p.batch}; }

// The plan given, or the best that is known.
std::shared_ptr<const Choice> choose(const Device& device, DeviceState& state, const CallKey& key) {
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
    choice.estimate = plan::estimate(given, shape_of(key.problem), rates);
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
  if (choice.estimate.tiles > plan::most_tiles)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("gemm refused: the plan given cuts the product into {} tiles, and they are counted up to {}; take "
                    "larger tiles",
                    choice.estimate.tiles, plan::most_tiles));
  const Kernel kernel = kernel_of(device, state, choice.estimate.plan, key.problem.expression);
  return std::make_shared<Choice>(Choice{choice, kernel});
}

// An operand's matrices in one launch: the one with the lowest address, and how many strides its map reaches.
struct Matrices {
  Matrix first;
  std::int64_t count;
};

// `products` of the batch from `begin` on. A list's get numbers, in strides from the first.
Matrices matrices_of(const Matrix& matrix, DType dtype, const std::vector<std::uint64_t>& listed, std::size_t begin,
                     std::size_t products, std::int64_t otherwise, unsigned* numbers) {
  if (listed.empty()) return {matrix, otherwise};
  const auto list = std::span(listed).subspan(begin, products);
  Matrices matrices{matrix, 1};
  matrices.first.address = *std::min_element(list.begin(), list.end());
  const std::uint64_t stride = static_cast<std::uint64_t>(matrix.matrix_stride) * size_of(dtype);
  for (std::size_t i = 0; i < products; ++i) {
    numbers[i] = static_cast<unsigned>((list[i] - matrices.first.address) / stride);
    matrices.count = std::max(matrices.count, std::int64_t{numbers[i]} + 1);
  }
  return matrices;
}

// How many products from `begin` on one launch takes: all of a batch with strides; of a list as many as there are
// numbers for, and as lie within 2^31 strides of each other.
std::size_t products_of_launch(const GemmProblem& p, std::size_t begin) {
  const std::size_t batch = static_cast<std::size_t>(p.batch);
  if (!p.kind.listed) return batch;
  std::size_t products = std::min<std::size_t>(MatrixNumbers::most, batch - begin);
  const auto limit = [&](const Matrix& matrix, DType dtype, const std::vector<std::uint64_t>& listed) {
    if (listed.empty()) return;
    const std::uint64_t reach = static_cast<std::uint64_t>(matrix.matrix_stride) * size_of(dtype) * 0x7fffffff;
    std::uint64_t least = listed[begin], most = listed[begin];
    for (std::size_t i = 0; i < products; ++i) {
      least = std::min(least, listed[begin + i]), most = std::max(most, listed[begin + i]);
      if (most - least > reach) products = i;
    }
  };
  limit(p.a, p.kind.a, p.listed.a);
  limit(p.b, p.kind.b, p.listed.b);
  limit(p.c, p.kind.epilogue.c, p.listed.c);
  limit(p.d, p.kind.d, p.listed.d);
  return products;
}

PreparedLaunch prepare_launch(const Device& device, const GemmProblem& p, const plan::GemmEstimate& choice,
                              std::size_t begin, std::size_t products) {
  const GemmPlan& plan = choice.plan;
  std::unique_ptr<MatrixNumbers> numbers = p.kind.listed ? std::make_unique<MatrixNumbers>() : nullptr;
  const std::int64_t otherwise = p.kind.listed ? 1 : p.batch;
  const auto matrices = [&](const Matrix& matrix, DType dtype, const std::vector<std::uint64_t>& listed,
                            unsigned(MatrixNumbers::*which)[MatrixNumbers::most]) {
    return matrices_of(matrix, dtype, listed, begin, products, otherwise, numbers ? (*numbers).*which : nullptr);
  };
  const Matrices a = matrices(p.a, p.kind.a, p.listed.a, &MatrixNumbers::a),
                 b = matrices(p.b, p.kind.b, p.listed.b, &MatrixNumbers::b),
                 c = matrices(p.c, p.kind.epilogue.c, p.listed.c, &MatrixNumbers::c),
                 d = matrices(p.d, p.kind.d, p.listed.d, &MatrixNumbers::d);
  const auto address = [](const Matrix& m) {
    return MatrixAddress{m.address, m.row_stride, m.column_stride, m.matrix_stride};
  };
  // Where one row or column of tiles is all there is, the other operand is read once: its lines make room first, those
  // of the operand that every tile reads stay (cache.cuh has the bits); and as memory is the limit, the first of what
  // streams is brought into L2 while the kernel ahead is ending. A list may name a matrix twice.
  const auto once = [&](unsigned tiles, const Matrix& m) {
    return tiles == 1 && (p.batch == 1 || (m.matrix_stride != 0 && !p.kind.listed));
  };
  const bool a_streams = once(choice.work.tiles.columns, p.a), b_streams = once(choice.work.tiles.rows, p.b);
  constexpr std::uint64_t evict_first = 0x12f0000000000000, evict_last = 0x14f0000000000000,
                          unchanged = 0x1000000000000000;
  const auto policy = [](bool streams, bool other) { return streams ? evict_first : other ? evict_last : unchanged; };
  constexpr unsigned ahead = 4;  // steps; docs/gemm.md has what more and fewer cost
  const GemmArguments arguments{.a = map_operand(device, "a", p.kind.a, p.kind.a_major, a.first, p.m, p.k, a.count,
                                                 plan, plan.tile.m, plan.cluster.n),
                                .b = map_operand(device, "b", p.kind.b, p.kind.b_major, b.first, p.n, p.k, b.count,
                                                 plan, plan.tile.n, plan.cluster.m),
                                .d = map_strip(device, p, d.first, d.count, plan, plan.strip_columns()),
                                .d_last = map_strip(device, p, d.first, d.count, plan, plan.last_strip_columns()),
                                .a_at = address(a.first),
                                .b_at = address(b.first),
                                .d_at = address(d.first),
                                .c_at = address(c.first),
                                .row_scale = p.row_scale.address,
                                .column_scale = p.column_scale.address,
                                .row_bias = p.row_bias.address,
                                .column_bias = p.column_bias.address,
                                .amax = p.amax.address,
                                .d_scale = p.d_scale.address,
                                .row_scale_stride = p.row_scale.stride,
                                .column_scale_stride = p.column_scale.stride,
                                .alpha = 1,
                                .beta = 0,
                                .m = static_cast<unsigned>(p.m),
                                .n = static_cast<unsigned>(p.n),
                                .k = static_cast<unsigned>(p.k),
                                .a_policy = policy(a_streams, b_streams),
                                .b_policy = policy(b_streams, a_streams),
                                .a_ahead = a_streams ? ahead : 0,
                                .b_ahead = b_streams ? ahead : 0,
                                .partials = 0,
                                .work = choice.work};

  const unsigned blocks = choice.work.clusters * static_cast<unsigned>(plan.cluster_size());
  const LaunchConfig config{.grid = {blocks},
                            .block = {static_cast<std::uint32_t>(plan.threads())},
                            .cluster = {static_cast<std::uint32_t>(plan.cluster_size())},
                            .shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes()),
                            .programmatic_dependent = plan.wgmma()};
  const bool shares = plan.split && choice.work.shared_tiles > 0;
  return {config, arguments, std::move(numbers), shares ? std::size_t(blocks) * plan.partial_bytes() : 0};
}

std::shared_ptr<const PreparedCall> prepare(const Device& device, DeviceState& state, const CallKey& key) {
  const CallKey anywhere = key.anywhere();
  std::shared_ptr<const Choice> choice = state.choices.find(anywhere);
  if (!choice) {
    choice = choose(device, state, anywhere);
    state.choices.add(anywhere, choice);
  }
  const plan::GemmEstimate& whole = choice->estimate;
  const GemmProblem p = whole.plan.exchange ? key.problem.transposed() : key.problem;
  auto call = std::make_shared<PreparedCall>(PreparedCall{choice->kernel, {}, {}});
  const std::size_t batch = static_cast<std::size_t>(p.batch);
  for (std::size_t begin = 0, products = 0; begin < batch; begin += products) {
    products = products_of_launch(p, begin);
    plan::GemmShape shape = shape_of(key.problem);
    shape.batch = static_cast<std::int64_t>(products);
    const auto part = products == batch ? whole : plan::estimate(whole.plan, shape, plan::rates_of(device.info()));
    call->launches.push_back(prepare_launch(device, p, part, begin, products));
  }
  const PreparedLaunch& first = call->launches.front();
  call->result = {whole.plan, first.arguments.work.tiles.band, first.config.grid.x, choice->tuned};
  return call;
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
  return fmt::format("{}{}", a == b ? a : fmt::format("a: {}; b: {}", a, b),
                     plan.kind.store_by_threads() ? "; d: stored by threads" : "");
}

GemmResult gemm(const Stream& stream, const GemmRequest& request) {
  const Device& device = stream.device();
  const Architecture& arch = device.info().arch;
  if (arch.number() < 80)
    throw Error(ErrorCode::unsupported, fmt::format("gemm refused: {} is {}, and the kernels are for sm_80 and newer",
                                                    device.info().id, arch.name()));
  const TensorInstruction best = plan::instruction_of(arch);
  const TensorInstruction instruction = request.plan ? request.plan->instruction : best;
  if (instruction == TensorInstruction::wgmma && best != TensorInstruction::wgmma)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("gemm refused: the plan given takes wgmma, which only sm_90a has, and {} is {}; take an mma plan",
                    device.info().id, arch.name()));
  const CallKey key{ops::understand(stream, request, instruction), request.plan};
  const auto clear_amax = [&] {  // once nothing can be refused any more
    if (key.problem.kind.epilogue.amax) stream.fill(key.problem.amax.address, std::byte{0}, sizeof(float));
  };
  if (key.problem.m == 0 || key.problem.n == 0 || key.problem.batch == 0) {
    clear_amax();
    return {};
  }
  DeviceState& state = state_of(device);
  std::shared_ptr<const PreparedCall> call = state.calls.find(key);
  if (!call) {
    ops::check_overlaps(request);
    call = prepare(device, state, key);
    state.calls.add(key, call);
  }
  std::size_t workspace_bytes = 0;
  for (const PreparedLaunch& part : call->launches) workspace_bytes = std::max(workspace_bytes, part.workspace_bytes);
  const std::uint64_t partials = workspace_bytes > 0 ? ops::workspace_of(stream, workspace_bytes) : 0;
  clear_amax();
  for (const PreparedLaunch& part : call->launches) {
    GemmArguments arguments = part.arguments;
    arguments.alpha = request.epilogue.alpha;
    arguments.beta = request.epilogue.beta;
    arguments.partials = partials;
    if (part.numbers)
      launch(stream, call->kernel, part.config, ListedGemmArguments{arguments, *part.numbers});
    else
      launch(stream, call->kernel, part.config, arguments);
  }
  return call->result;
}

}  // namespace wm
