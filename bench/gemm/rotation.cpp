// Rotated operands and timed replays.
#include "gemm/rotation.hpp"

#include <algorithm>

#include "plan/gemm_ranking.hpp"

namespace wm::bench {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * (values.size() - 1) + 0.5)];
}

Rotation::Rotation(const Stream& stream, const Shape& shape, const Variant& variant) : stream_(stream) {
  constexpr double rotation_bytes = 400 << 20;  // several times the L2
  const int sets = std::clamp(int(rotation_bytes / shape.bytes()) + 1, 2, 64);
  for (int i = 0; i < sets; ++i) sets_.emplace_back(stream, shape, i, variant);
  // Enough launches a replay that the clock's grain and the replay's own cost vanish.
  const double expected = 1.4 * floor_of(shape, plan::rates_of(stream.device().info())).seconds() + 4e-6;
  launches_ = std::max(sets, std::min(512, int(2e-3 / expected) / sets * sets));
}

Graph Rotation::record(const std::function<void(const RandomProduct&)>& product) const {
  return Graph(stream_, [&] {
    for (int i = 0; i < launches_; ++i) product(sets_[static_cast<std::size_t>(i) % sets_.size()]);
  });
}

double Rotation::seconds(const Graph& graph) const {
  const Event start(stream_.device()), end(stream_.device());
  stream_.record(start);
  graph.replay(stream_);
  stream_.record(end);
  end.synchronize();
  return end.since(start) * 1e-3 / launches_;
}

}  // namespace wm::bench
