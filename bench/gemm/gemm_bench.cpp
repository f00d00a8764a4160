// Rotated buffers beyond L2, graph replay, interleaved rounds, medians; every measured product is checked on samples.
#include "gemm/gemm_bench.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gemm/cublas_lt.hpp"
#include "gemm/graph.hpp"
#include "plan/gemm_ranking.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

constexpr std::size_t rotation_bytes = 400u << 20;  // several times the L2

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * (values.size() - 1) + 0.5)];
}

class Measurement {
 public:
  explicit Measurement(const Device& device)
      : device_(device), stream_(device), workspace_(device, CublasLt::workspace_bytes) {}

  void measure(const Shape& shape, const GemmOptions& options, GemmTable& table) {
    const int sets = std::clamp<int>(int(rotation_bytes / shape.bytes()) + 1, 2, 64);
    std::vector<GemmProblem> operands;
    for (int i = 0; i < sets; ++i) operands.emplace_back(stream_, shape, i);
    const auto product = peer_.prepare(shape.m, shape.n, shape.k);

    // Enough launches a replay that the clock's grain and the replay's own cost vanish.
    const double expected = shape.flops() / 600e12 + 4e-6;
    const int launches = std::max(sets, std::min(512, int(2e-3 / expected) / sets * sets));
    const Graph peer(stream_, [&] {
      for (int i = 0; i < launches; ++i) {
        const auto& set = operands[i % sets];
        peer_.run(*product, stream_.native(), set.a.address(), set.b.address(), set.d.address(), workspace_.address());
      }
    });
    const auto ranking = plan::rank(GemmKind{}, {shape.m, shape.n, shape.k}, {.multiprocessors = device_.info().multiprocessors});
    for (int rank = 0; rank < options.plans && rank < int(ranking.size()); ++rank) {
      options.progress(fmt::format("{} x {} x {}, plan {} of {}", shape.m, shape.n, shape.k, rank + 1, options.plans));
      table.rows.push_back(measure_plan(shape, operands, ranking[rank], rank, options, peer, launches));
    }
  }

  std::string peer_name() const { return "cuBLASLt " + peer_.version(); }

 private:
  double replay_seconds(const Graph& graph, int launches) {
    const Event start(device_), end(device_);
    stream_.record(start);
    graph.replay(stream_);
    stream_.record(end);
    end.synchronize();
    return end.since(start) * 1e-3 / launches;
  }

  GemmRow measure_plan(const Shape& shape, const std::vector<GemmProblem>& operands, const plan::GemmEstimate& estimate,
                       int rank, const GemmOptions& options, const Graph& peer, int launches) {
    const GemmProblem& first = operands.front();
    first.poison(stream_);
    gemm(stream_, first.request(estimate.plan));
    stream_.synchronize();
    GemmRow row{.shape = shape, .plan = estimate.plan, .band = estimate.work.tiles.band, .rank = rank};
    row.error = first.sampled_error();
    const Graph mine(stream_, [&] {
      for (int i = 0; i < launches; ++i) gemm(stream_, operands[i % operands.size()].request(estimate.plan));
    });
    for (int i = 0; i < 3; ++i) {  // warm-up; what a replay leaves is checked, the peer's too
      first.poison(stream_);
      replay_seconds(peer, launches);
      if (i == 0 && !(first.sampled_error() < 1))
        throw Error(ErrorCode::execution, "cuBLASLt's product is wrong: the two do not compute the same");
      first.poison(stream_);
      replay_seconds(mine, launches);
    }
    row.error = std::max(row.error, first.sampled_error());
    std::vector<double> mine_seconds, peer_seconds, ratios;
    for (int round = 0; round < options.rounds; ++round) {
      mine_seconds.push_back(replay_seconds(mine, launches));
      peer_seconds.push_back(replay_seconds(peer, launches));
      ratios.push_back(peer_seconds.back() / mine_seconds.back());
    }
    const double seconds = quantile(mine_seconds, 0.5), peer_time = quantile(peer_seconds, 0.5);
    row.estimate_us = estimate.seconds * 1e6;
    row.ours_us = seconds * 1e6;
    row.peer_us = peer_time * 1e6;
    row.ratio = quantile(ratios, 0.5);
    row.ratio_low = quantile(ratios, 0.25);
    row.ratio_high = quantile(ratios, 0.75);
    row.tflops = shape.flops() / seconds * 1e-12;
    row.peer_tflops = shape.flops() / peer_time * 1e-12;
    row.ceiling_share = shape.floor_seconds() / seconds;
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

GemmTable measure_gemm(const Device& device, const GemmOptions& options) {
  if (device.info().kind != DeviceKind::cuda)
    throw Error(ErrorCode::unsupported,
                "the GEMM benchmark measures a GPU against cuBLASLt; " + device.info().id + " is none");
  Measurement measurement(device);
  GemmTable table{.device = device.info().name, .peer = measurement.peer_name(), .rows = {}};
  for (const Shape& shape : options.shapes) measurement.measure(shape, options, table);
  return table;
}

double geometric_mean_ratio(const std::vector<GemmRow>& rows) {
  double sum = 0;
  for (const GemmRow& row : rows) sum += std::log(row.ratio);
  return rows.empty() ? 0 : std::exp(sum / double(rows.size()));
}

}  // namespace wm::bench
