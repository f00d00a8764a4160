// Rotated operands, graph replay, interleaved rounds, medians; every measured product is checked on samples.
#include "gemm/gemm_bench.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "gemm/cublas_lt.hpp"
#include "gemm/foreign.hpp"
#include "gemm/rotation.hpp"
#include "ops/gemm_aligned.hpp"
#include "ops/gemm_kernel.hpp"
#include "ops/gemm_problem.hpp"
#include "plan/gemm_choice.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

// It may round sums of parts of k to D's type; another product would be off by hundreds.
constexpr double peer_limit = 32;

// Products of a rotation, recorded for replay, and what stands before each of them by itself.
class Recorded {
 public:
  using Work = std::function<void(const RandomProduct&)>;
  Recorded(const Rotation& rotation, const Work& before, const Work& product)
      : rotation_(rotation), whole_(rotation.record([&](const RandomProduct& problem) {
          if (before) before(problem);
          product(problem);
        })) {
    if (before) before_.emplace(rotation.record(before));
  }
  // Of one product, after what stands before it.
  double seconds() const {
    const double all = rotation_.seconds(whole_);
    return before_ ? all - rotation_.seconds(*before_) : all;
  }

 private:
  const Rotation& rotation_;
  Graph whole_;
  std::optional<Graph> before_;
};

class Measurement {
 public:
  Measurement(const Device& device, const GemmOptions& options)
      : options_(options), device_(device), stream_(device), workspace_(device, CublasLt::workspace_bytes) {
    if (!options.promote) peer_.emplace();
    if (!options.behind) return;
    foreign_.emplace(device);
    before_ = [this](const RandomProduct& problem) { foreign_->write_a(stream_, problem); };
  }

  // The kernels of these shapes, into the cache, as many at a time as there are cores; the measurement then loads them.
  void compile(std::span<const Shape> shapes) {
    std::vector<GemmPlan> plans;
    for (const Shape& shape : shapes) try {
        std::ranges::copy(plans_of(kind_of(imagined_request(device_, shape, variant())), shape),
                          std::back_inserter(plans));
      } catch (const Error&) {  // the measurement says it
      }
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i; (i = next++) < plans.size();) try {
          ops::compile(ops::gemm_source(plans[i]), device_.info().arch, ops::Target::chip);
        } catch (const Error&) {  // as above
        }
    };
    std::vector<std::jthread> threads(std::max(1u, std::thread::hardware_concurrency()));
    for (std::jthread& thread : threads) thread = std::jthread(work);
  }

  void measure(const Shape& shape, GemmTable& table) {
    const Rotation rotation(stream_, shape, variant());
    std::shared_ptr<CublasLt::Product> product;
    std::optional<Recorded> peer;
    if (options_.promote) {
      GemmRequest request = rotation.first().request();
      request.promote = false;
      const auto plan = untuned_plan(plans_of(kind_of(request), shape));
      const auto unpromoted = [&](const RandomProduct& problem) {
        GemmRequest request = problem.request(plan);
        request.promote = false;
        request.early = options_.early;
        gemm(stream_, request);
      };
      unpromoted(rotation.first());  // what it needs is made before anything is recorded
      peer.emplace(rotation, before_, unpromoted);
    } else if ((product = peer_->prepare(shape))) {
      peer.emplace(rotation, before_,
                   [&](const RandomProduct& problem) { peer_->run(*product, stream_.native(), problem, workspace_); });
    }

    const auto measure_plan = [&](std::optional<GemmPlan> plan) {
      table.rows.push_back(measured(rotation, plan, peer));
      const GemmRow& row = table.rows.back();
      options_.measured(fmt::format("{} x {} x {} {}: {}, {:.1f} us, ratio {:.3f}", shape.m, shape.n, shape.k,
                                    name_of(shape.operands), plan::text_of(row.plan), row.ours_us, row.ratio));
    };
    const GemmKind kind = kind_of(rotation.first().request());
    const std::vector<GemmPlan> plans = plans_of(kind, shape);
    const std::size_t first = table.rows.size();
    measure_plan(untuned_plan(plans));
    table.rows[first].chosen = true;
    for (std::size_t i = 1; i < plans.size(); ++i) measure_plan(plans[i]);
  }

  std::string peer_name() const {
    return options_.promote ? "the same without promotion" : "cuBLASLt " + peer_->version();
  }

 private:
  // Where measured plans do not count, the ranking's; else nothing: the library's own choice.
  std::optional<GemmPlan> untuned_plan(const std::vector<GemmPlan>& plans) const {
    return options_.untuned && !plans.empty() ? std::optional(plans.front()) : std::nullopt;
  }

  Variant variant() const { return {.promote = options_.promote}; }
  plan::ChipRates rates() const { return plan::rates_of(device_.info()); }

  GemmKind kind_of(const GemmRequest& request) const {
    return ops::kind_to_run(ops::understand(stream_, request, rates().instruction));
  }

  // What the library takes behind a kernel of its own or a foreign one, then the ranking's best in order, some of the
  // others, and those by hand.
  std::vector<GemmPlan> plans_of(const GemmKind& kind, const Shape& shape) const {
    const plan::GemmShape sizes{shape.m, shape.n, shape.k};
    std::vector<GemmPlan> plans;
    for (const auto& estimate : plan::rank(kind, sizes, rates())) plans.push_back(estimate.plan);
    const auto put_first = [&](const GemmPlan& plan) {
      std::erase(plans, plan);
      plans.insert(plans.begin(), plan);
    };
    std::optional<plan::GemmChoice> own;
    if (!options_.untuned)
      own = plan::choose(kind, sizes, rates(), device_.info().name);
    else if (!plans.empty())
      own = {plans.front()};
    if (own) put_first(own->plan);
    if (own && options_.early && !options_.behind)
      if (const auto early = plan::early_plan(*own, kind, sizes, rates())) put_first(*early);
    const auto others = plans.begin() + std::min<std::ptrdiff_t>(std::ssize(plans), options_.plans);
    if (options_.random_plans > 0)
      std::shuffle(others, plans.end(), std::mt19937_64(static_cast<std::uint64_t>(shape.m * shape.n * shape.k)));
    plans.resize(std::min(plans.size(), static_cast<std::size_t>(options_.plans + options_.random_plans)));
    for (const std::string& text : options_.by_hand) plans.push_back(plan::plan_from_text(text, kind));
    return plans;
  }

  // Without a plan: the library's own choice.
  GemmRow measured(const Rotation& rotation, const std::optional<GemmPlan>& plan, const std::optional<Recorded>& peer) {
    const RandomProduct& first = rotation.first();
    const Shape& shape = first.shape;
    first.poison(stream_);
    GemmResult result;
    const auto product = [&](const RandomProduct& problem) {
      GemmRequest request = problem.request(plan);
      request.early = options_.early;
      result = gemm(stream_, request);
    };
    product(first);
    const double error = first.sampled_error();
    const Recorded mine(rotation, before_, product);  // which may have another plan: the recorded products' is shown
    GemmRow row{.shape = shape,
                .plan = result.plan,
                .band = result.band,
                .path = result.path(),
                .chosen = !plan,
                .tuned = result.tuned};
    row.error = error;
    bool beside = peer.has_value();
    for (int i = 0; i < 3; ++i) {  // warm-up; what a replay leaves is checked, the peer's too
      if (beside) {
        first.poison(stream_);
        peer->seconds();
        if (const double error = i == 0 ? first.sampled_error() : 0; !(error < peer_limit))
          row.peer_error = error, beside = false;
      }
      first.poison(stream_);
      mine.seconds();
    }
    row.error = std::max(row.error, first.sampled_error());
    std::vector<double> mine_seconds, peer_seconds, ratios;
    for (int round = 0; round < options_.rounds; ++round) {
      mine_seconds.push_back(mine.seconds());
      if (!beside) continue;
      peer_seconds.push_back(peer->seconds());
      ratios.push_back(peer_seconds.back() / mine_seconds.back());
    }
    row.estimate_us = plan::estimate(result.plan, {shape.m, shape.n, shape.k}, rates()).seconds * 1e6;
    row.floor_us = floor_of(shape, rates()).seconds() * 1e6;
    row.ours_us = quantile(mine_seconds, 0.5) * 1e6;
    if (beside) {
      row.peer_us = quantile(peer_seconds, 0.5) * 1e6;
      row.ratio = quantile(ratios, 0.5);
      row.ratio_low = quantile(ratios, 0.25);
      row.ratio_high = quantile(ratios, 0.75);
    }
    return row;
  }

  const GemmOptions& options_;
  Device device_;
  Stream stream_;
  std::optional<CublasLt> peer_;  // or our own product without promotion
  Buffer workspace_;
  std::optional<ForeignKernel> foreign_;
  Recorded::Work before_;  // each product, or nothing
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
  Measurement measurement(device, options);
  const Shape& one = options.shapes.front();
  table = {device.info().name, measurement.peer_name(), one.operands, one.d, {}, device.info().multiprocessors,
           options.behind,     options.promote};
  constexpr std::size_t together = 16;  // shapes whose kernels are compiled at a time
  const std::span<const Shape> shapes = options.shapes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    options.begin(shapes[i]);
    if (i % together == 0) measurement.compile(shapes.subspan(i, std::min(together, shapes.size() - i)));
    measurement.measure(shapes[i], table);
  }
}

}  // namespace wm::bench
