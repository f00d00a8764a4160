// Bands, shared tiles, and what runs at once.
#include "plan/gemm_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wm::plan {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Tile rows walked together: the square-ish block of tiles in flight touches the fewest rows of A and columns of B.
std::uint32_t best_band(const GemmPlan& plan, std::int64_t rows, int clusters) {
  const double row_bytes = plan.tile.m * plan.cluster.m, column_bytes = plan.tile.n * plan.cluster.n;
  std::uint32_t best = 1;
  double least = INFINITY;
  for (std::uint32_t band = 1; band <= 64 && band <= rows; ++band) {
    const double footprint = band * row_bytes + std::ceil(double(clusters) / band) * column_bytes;
    if (footprint < least) {
      least = footprint;
      best = band;
    }
  }
  return best;
}

// The tiles that clusters share along k: all of them where there are fewer than clusters, else the last wave's and one
// wave more, so that everybody has as much to do.
WorkSchedule share_out(const GemmPlan& plan, const TileSchedule& tiles, std::int64_t count, std::int64_t steps,
                       int resident) {
  const std::int64_t most_clusters =
      plan.claim ? std::numeric_limits<std::int32_t>::max() / plan.cluster_size() : resident;
  const auto whole = static_cast<unsigned>(std::clamp<std::int64_t>(count, 1, most_clusters));
  // Steps of shared tiles are counted through all of them, in 32 bits.
  const std::int64_t shared = count < resident ? count : count % resident + resident;
  if (!plan.split || (plan.spread && count > resident) || count % resident == 0 || count > most_tiles ||
      shared * steps > std::numeric_limits<std::int32_t>::max())
    return WorkSchedule::make(tiles, static_cast<unsigned>(steps), whole, 0);
  if (count < resident) {
    constexpr std::int64_t fewest_steps = 4;  // that are worth a block's start
    const std::int64_t wanted = plan.pieces > 0 ? count * plan.pieces : resident;
    std::int64_t clusters = std::clamp<std::int64_t>(std::min(wanted, count * steps / fewest_steps), count, resident);
    // Tiles that are spread have as many pieces each.
    if (plan.spread) clusters = count * std::clamp<std::int64_t>(clusters / count, 1, GemmPlan::most_spread_pieces);
    return WorkSchedule::make(tiles, static_cast<unsigned>(steps), static_cast<unsigned>(clusters),
                              clusters > count ? static_cast<unsigned>(count) : 0);
  }
  return WorkSchedule::make(tiles, static_cast<unsigned>(steps), whole, static_cast<unsigned>(shared));
}

}  // namespace

int resident_clusters(const GemmPlan& plan, const ChipRates& rates) {
  const int size = plan.cluster_size();
  if (!plan.facts().copy_engine) {
    const auto fit = static_cast<int>(rates.shared_bytes / (static_cast<std::size_t>(plan.shared_bytes()) + 1024));
    return rates.multiprocessors * std::clamp(fit, 1, plan.blocks_each());
  }
  // A cluster lies in one GPC, and GPCs are not multiples of most sizes: measured on an H200, for clusters of 1 to 8.
  // Of larger ones a GPC has one, if it is whole.
  constexpr int of_132[] = {132, 66, 39, 30, 22, 16, 15, 15, 7};
  return std::max(1, of_132[std::clamp(size, 1, 9) - 1] * rates.multiprocessors / 132);
}

GemmSchedule schedule_of(const GemmPlan& plan, const GemmShape& asked, const ChipRates& rates) {
  const GemmShape shape = plan.exchange ? GemmShape{asked.n, asked.m, asked.k, asked.batch} : asked;
  const std::int64_t rows = ceil_divide(shape.m, std::int64_t(plan.tile.m) * plan.cluster.m);
  const std::int64_t columns = ceil_divide(shape.n, std::int64_t(plan.tile.n) * plan.cluster.n);
  const int resident = resident_clusters(plan, rates);
  GemmSchedule schedule;
  schedule.tiles = rows * columns * shape.batch;
  // Blocks that share a tile have equal parts: what lies beyond k is zero.
  schedule.steps = std::max<std::int64_t>(1, ceil_divide(shape.k, std::int64_t(plan.tile_k()) * plan.cluster.k));
  const std::int64_t band = plan.band > 0 ? std::min<std::int64_t>(plan.band, rows) : best_band(plan, rows, resident);
  const TileSchedule tiles{static_cast<unsigned>(rows), static_cast<unsigned>(columns), static_cast<unsigned>(band),
                           static_cast<unsigned>(shape.batch)};
  schedule.work = share_out(plan, tiles, schedule.tiles, schedule.steps, resident);
  return schedule;
}

}  // namespace wm::plan
