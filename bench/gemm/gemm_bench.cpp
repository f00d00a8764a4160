// Rotated operands, graph replay, interleaved rounds, medians; every measured product is checked on samples.
#include "gemm/gemm_bench.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "gemm/cublas_lt.hpp"
#include "gemm/rotation.hpp"
#include "ops/gemm_kernel.hpp"
#include "ops/gemm_problem.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_ranking.hpp"
#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

class Measurement {
 public:
  explicit Measurement(const Device& device)
      : device_(device), stream_(device), workspace_(device, CublasLt::workspace_bytes) {}

  void measure(const Shape& shape, const GemmOptions& options, GemmTable& table) {
    const Rotation rotation(stream_, shape);
    const auto product = peer_.prepare(shape);
    std::optional<Graph> peer;
    if (product)
      peer.emplace(rotation.record(
          [&](const RandomProduct& problem) { peer_.run(*product, stream_.native(), problem, workspace_); }));

    const auto measure_plan = [&](std::optional<GemmPlan> plan) {
      table.rows.push_back(measured(rotation, plan, options.rounds, peer));
      const GemmRow& row = table.rows.back();
      options.measured(fmt::format("{} x {} x {} {}: {}, {:.1f} us, ratio {:.3f}", shape.m, shape.n, shape.k,
                                   name_of(shape.operands), plan::text_of(row.plan), row.ours_us, row.ratio));
    };
    const GemmKind kind = ops::understand(stream_, rotation.first().request(), rates().instruction).kind;
    const std::size_t first = table.rows.size();
    std::vector<GemmPlan> plans = ranked(kind, options, shape);
    measure_plan(options.untuned && !plans.empty() ? std::optional(plans.front()) : std::nullopt);
    table.rows[first].chosen = true;
    std::erase(plans, table.rows[first].plan);
    plans.resize(std::min(plans.size(), static_cast<std::size_t>(options.plans - 1 + options.random_plans)));
    for (const std::string& text : options.by_hand) plans.push_back(plan::plan_from_text(text, kind));
    compile_together(plans);
    for (const GemmPlan& plan : plans) measure_plan(plan);
  }

  std::string peer_name() const { return "cuBLASLt " + peer_.version(); }

 private:
  plan::ChipRates rates() const { return plan::rates_of(device_.info()); }

  // The ranking's plans: its best in order, the others shuffled where some of them are wanted.
  std::vector<GemmPlan> ranked(const GemmKind& kind, const GemmOptions& options, const Shape& shape) const {
    std::vector<GemmPlan> plans;
    for (const auto& estimate : plan::rank(kind, {shape.m, shape.n, shape.k}, rates())) plans.push_back(estimate.plan);
    const auto others = plans.begin() + std::min<std::ptrdiff_t>(std::ssize(plans), options.plans);
    if (options.random_plans > 0)
      std::shuffle(others, plans.end(), std::mt19937_64(static_cast<std::uint64_t>(shape.m * shape.n * shape.k)));
    return plans;
  }

  // Into the cache, as many at a time as there are cores; the measurement then loads them.
  void compile_together(const std::vector<GemmPlan>& plans) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i; (i = next++) < plans.size();) try {
          ops::compile(ops::gemm_source(plans[i]), device_.info().arch, ops::Target::chip);
        } catch (const Error&) {  // the measurement says it
        }
    };
    std::vector<std::jthread> threads(std::max(1u, std::thread::hardware_concurrency()));
    for (std::jthread& thread : threads) thread = std::jthread(work);
  }

  // Without a plan: the library's own choice.
  GemmRow measured(const Rotation& rotation, const std::optional<GemmPlan>& plan, int rounds,
                   const std::optional<Graph>& peer) {
    const RandomProduct& first = rotation.first();
    const Shape& shape = first.shape;
    first.poison(stream_);
    const auto product = [&](const RandomProduct& problem) { return gemm(stream_, problem.request(plan)); };
    const GemmResult result = product(first);
    GemmRow row{.shape = shape,
                .plan = result.plan,
                .band = result.band,
                .path = result.path(),
                .chosen = !plan,
                .tuned = result.tuned};
    row.error = first.sampled_error();
    const Graph mine = rotation.record(product);
    for (int i = 0; i < 3; ++i) {  // warm-up; what a replay leaves is checked, the peer's too
      if (peer) {
        first.poison(stream_);
        rotation.seconds(*peer);
        // It may round sums of parts of k to D's type; another product would be off by hundreds.
        constexpr double peer_limit = 32;
        if (const double error = i == 0 ? first.sampled_error() : 0; !(error < peer_limit))
          throw Error(ErrorCode::execution,
                      fmt::format("cuBLASLt's product of {} x {} x {} is off by {:.3g} times what rounding allows: the "
                                  "two do not compute the same",
                                  shape.m, shape.n, shape.k, error));
      }
      first.poison(stream_);
      rotation.seconds(mine);
    }
    row.error = std::max(row.error, first.sampled_error());
    std::vector<double> mine_seconds, peer_seconds, ratios;
    for (int round = 0; round < rounds; ++round) {
      mine_seconds.push_back(rotation.seconds(mine));
      if (!peer) continue;
      peer_seconds.push_back(rotation.seconds(*peer));
      ratios.push_back(peer_seconds.back() / mine_seconds.back());
    }
    row.estimate_us = plan::estimate(result.plan, {shape.m, shape.n, shape.k}, rates()).seconds * 1e6;
    row.floor_us = floor_of(shape, rates()).seconds() * 1e6;
    row.ours_us = quantile(mine_seconds, 0.5) * 1e6;
    if (peer) {
      row.peer_us = quantile(peer_seconds, 0.5) * 1e6;
      row.ratio = quantile(ratios, 0.5);
      row.ratio_low = quantile(ratios, 0.25);
      row.ratio_high = quantile(ratios, 0.75);
    }
    return row;
  }

  Device device_;
  Stream stream_;
  CublasLt peer_;
  Buffer workspace_;
};

}  // namespace

std::vector<Shape> gemm_shapes() {
  return {{1024, 1024, 1024}, {2048, 2048, 2048},  {4096, 4096, 4096},  {8192, 8192, 8192},  {16384, 16384, 8192},
          {4096, 6144, 4096}, {4096, 28672, 4096}, {4096, 4096, 14336}, {8192, 10240, 8192}, {8192, 8192, 28672},
          {4096, 2112, 7168}, {4096, 24576, 1536}, {4096, 32768, 512},  {4096, 7168, 16384}, {4096, 4096, 7168},
          {4096, 7168, 2048}, {2048, 2048, 65536}, {4104, 4104, 4104},  {1000, 1000, 1000},  {16, 6144, 4096},
          {64, 2112, 7168},   {64, 4096, 7168},    {64, 28672, 4096},   {128, 7168, 16384},  {128, 24576, 1536},
          {256, 28672, 4096}};
}

std::vector<Shape> random_shapes(int count, std::uint64_t seed, bool odd, DType operands) {
  constexpr double most_bytes = 4e9;
  std::mt19937_64 dice(seed);
  const auto between = [&](double least, double most) {  // not std::uniform_real_distribution: each library has its own
    const double share = static_cast<double>(dice() >> 11) * 0x1p-53;
    const auto size = static_cast<std::int64_t>(std::llround(least * std::pow(most / least, share)));
    return odd || size < 16 ? size : size / 16 * 16;
  };
  std::vector<Shape> shapes;
  while (shapes.size() < static_cast<std::size_t>(count)) {
    const std::int64_t m = between(1, 16384), n = between(64, 32768), k = between(64, 32768);
    const Shape shape{m, n, k, operands, usual_output(operands)};
    if (shape.bytes() <= most_bytes) shapes.push_back(shape);
  }
  return shapes;
}

void measure_gemm(const Device& device, const GemmOptions& options, GemmTable& table) {
  if (device.info().kind != DeviceKind::cuda)
    throw Error(ErrorCode::unsupported,
                "the GEMM benchmark measures a GPU against cuBLASLt; " + device.info().id + " is none");
  if (options.shapes.empty()) throw Error(ErrorCode::invalid_argument, "there is no shape to measure");
  Measurement measurement(device);
  const Shape& one = options.shapes.front();
  table = {device.info().name, measurement.peer_name(), one.operands, one.d, {}, device.info().multiprocessors};
  for (const Shape& shape : options.shapes) {
    options.begin(shape);
    measurement.measure(shape, options, table);
  }
}

}  // namespace wm::bench
