// How work is dealt out to clusters: each tile once, each step of each shared tile once, and nobody waits in a circle.
#include "warpmill/pipeline/schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

using namespace wm;

TEST(Divisor, DividesWhatIsBelowTwoToThe31) {
  constexpr unsigned most = (1u << 31) - 1;
  std::vector<unsigned> divisors{1u << 31, most};
  for (unsigned d = 1; d < 1u << 30; d += 1 + d / 7) divisors.insert(divisors.end(), {d, d + 1});
  for (int bits = 0; bits < 31; ++bits) divisors.push_back(1u << bits);
  for (const unsigned d : divisors) {
    const Divisor divisor = Divisor::of(d);
    for (unsigned quotient = 0; quotient <= most / d; quotient += 1 + quotient / 3)
      for (const unsigned x : {quotient * d, quotient * d + d - 1}) {
        if (x > most) continue;
        ASSERT_EQ(divisor.divide(x), x / d) << x << " / " << d;
      }
    ASSERT_EQ(divisor.divide(most), most / d) << d;
  }
}

TEST(TileSchedule, VisitsEachTileOfEachMatrixOnce) {
  for (const TileSchedule schedule :
       {TileSchedule{1, 1, 1}, {7, 5, 3}, {16, 3, 16}, {5, 9, 8}, {13, 1, 4}, {1, 13, 4}, {7, 5, 3, 4}, {1, 1, 1, 9}}) {
    std::set<std::tuple<unsigned, unsigned, unsigned>> seen;
    const WorkSchedule work = WorkSchedule::make(schedule, 1, 1, 0);
    for (unsigned i = 0; i < schedule.count(); ++i) {
      const auto tile = schedule.tile(i), by_multiplying = work.tile(i);
      EXPECT_EQ(by_multiplying.row, tile.row);
      EXPECT_EQ(by_multiplying.column, tile.column);
      EXPECT_EQ(by_multiplying.matrix, tile.matrix);
      EXPECT_LT(tile.row, schedule.rows);
      EXPECT_LT(tile.column, schedule.columns);
      EXPECT_LT(tile.matrix, schedule.batch);
      EXPECT_TRUE(seen.emplace(tile.row, tile.column, tile.matrix).second);
    }
  }
}

namespace {

struct Contribution {
  unsigned cluster, first_step, steps;
  bool last_of_run;  // the last shared piece of its cluster
  bool first_of_run;
};

void check_schedule(const WorkSchedule& work) {
  SCOPED_TRACE(testing::Message() << work.tiles.count() << " tiles of " << work.tile_steps << " steps, "
                                  << work.shared_tiles << " shared by " << work.clusters);
  std::map<unsigned, std::vector<Contribution>> tiles;
  for (unsigned cluster = 0; cluster < work.clusters; ++cluster) {
    PieceWalk walk(work, cluster);
    bool first = true;
    Contribution* shared = nullptr;
    for (Piece piece{}; walk.next(piece); first = false) {
      ASSERT_LT(piece.tile, work.tiles.count());
      ASSERT_GE(piece.steps, 1u);
      tiles[piece.tile].push_back({cluster, piece.first_step, piece.steps, false, first});
      if (piece.tile < work.shared_tiles) shared = &tiles[piece.tile].back();
    }
    if (shared) shared->last_of_run = true;
  }
  ASSERT_EQ(tiles.size(), work.tiles.count());
  for (auto& [tile, contributions] : tiles) {
    std::sort(contributions.begin(), contributions.end(),
              [](const auto& a, const auto& b) { return a.first_step < b.first_step; });
    unsigned step = 0;
    for (std::size_t i = 0; i < contributions.size(); ++i) {
      const Contribution& part = contributions[i];
      ASSERT_EQ(part.first_step, step) << "tile " << tile << ": a step is missing or done twice";
      step += part.steps;
      if (i == 0) continue;
      // What the kernels build on: the sums of a tile come from one run after another, whoever leaves sums for others
      // does so before all else, and they are collected by clusters with greater numbers.
      EXPECT_EQ(work.run_of(part.cluster), work.run_of(contributions[0].cluster) + i);
      EXPECT_LT(part.cluster, contributions[0].cluster);
      EXPECT_TRUE(part.first_of_run);
    }
    EXPECT_TRUE(contributions.size() == 1 || contributions[0].last_of_run);
    EXPECT_EQ(step, work.tile_steps) << "tile " << tile;
  }
}

}  // namespace

TEST(WorkSchedule, CoversEveryStepOfEveryTileOnceInTheOrderOfK) {
  for (const unsigned count : {1u, 2u, 5u, 12u, 131u, 150u})
    for (const unsigned steps : {1u, 3u, 4u, 64u, 101u})
      for (const unsigned clusters : {1u, 2u, 7u, 66u, 132u}) {
        const TileSchedule tiles{count, 1, 3};
        check_schedule(WorkSchedule::make(tiles, steps, clusters, 0));
        // All shared (fewer tiles than clusters, or more), and the last waves only; each run has a step at least.
        for (const unsigned shared : {count, count % clusters + clusters})
          if (shared <= count && shared * steps >= clusters)
            check_schedule(WorkSchedule::make(tiles, steps, clusters, shared));
      }
}

TEST(WorkSchedule, BlocksOfAClusterHaveEqualPartsOfEachPiece) {
  constexpr unsigned parts = 4, steps = 7, tiles = 5;
  for (const unsigned shared : {0u, 5u}) {  // whole tiles, and tiles cut into pieces
    const WorkSchedule work = WorkSchedule::make({tiles, 1, 3}, steps, shared ? 8 : 2, shared);
    std::vector<unsigned> visits(tiles * steps * parts);
    for (unsigned cluster = 0; cluster < work.clusters; ++cluster) {
      PieceWalk walk(work, cluster);
      for (Piece piece{}; walk.next(piece);)
        for (unsigned part = 0; part < parts; ++part)
          for (unsigned stage = 0; stage < piece.steps; ++stage)
            ++visits[piece.tile * steps * parts + piece.first_stage(part, parts) + stage];
    }
    EXPECT_EQ(visits, std::vector<unsigned>(visits.size(), 1)) << shared << " shared tiles";
  }
}

TEST(WorkSchedule, CutsEachTileIntoAsManyPiecesAsThereAreClustersForIt) {
  for (const unsigned pieces : {2u, 3u, 5u})
    for (const unsigned count : {1u, 4u, 20u})
      for (const unsigned steps : {5u, 7u, 112u}) {
        const WorkSchedule work = WorkSchedule::make({count, 1, 1}, steps, count * pieces, count);
        for (unsigned cluster = 0; cluster < work.clusters; ++cluster) {
          PieceWalk walk(work, cluster);
          Piece piece{};
          ASSERT_TRUE(walk.next(piece));
          EXPECT_EQ(piece.tile, work.run_of(cluster) / pieces);
          EXPECT_FALSE(walk.next(piece));
        }
      }
}
