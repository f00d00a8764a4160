// Which tiles a cluster of blocks computes, in which order, and how much of k of each. Plain C++, shared by host and
// device.
#pragma once

namespace wm {

// Tiles are numbered in bands of `band` rows, down a band's columns first, so that the tiles in flight share few rows
// of A and few columns of B, and both stay in L2. Matrices of a batch follow one another.
struct TileSchedule {
  unsigned rows, columns;  // of cluster tiles, in one matrix
  unsigned band;           // rows a band
  unsigned batch = 1;      // matrices

  struct Tile {
    unsigned row, column, matrix;
  };
  constexpr unsigned count() const { return rows * columns * batch; }
  constexpr Tile tile(unsigned number) const {
    const unsigned matrix = batch > 1 ? number / (rows * columns) : 0;
    number -= matrix * rows * columns;
    const unsigned band_tiles = band * columns;
    const unsigned first_row = number / band_tiles * band;
    const unsigned rows_here = rows - first_row < band ? rows - first_row : band;
    const unsigned in_band = number % band_tiles;
    return {first_row + in_band % rows_here, in_band / rows_here, matrix};
  }
};

// A part of a tile's k, in steps of one stage.
struct Piece {
  unsigned tile, first_step, steps;
};

// A persistent schedule: the grid is as large as the chip. The steps of the first `shared_tiles` tiles are dealt out
// evenly, without regard to where a tile ends (Stream-K): each cluster gets a run of them. Then whole tiles follow,
// cluster c taking every `clusters`-th one. With no shared tiles every tile belongs to one cluster; with as many
// clusters as a multiple of the shared tiles each is split evenly (split-K).
//
// A run may begin inside a tile and end inside another. Its cluster takes the begun tile first and leaves its sums for
// the run that has the tile's first step, which comes to that tile last: so nobody waits for long, and the sums are
// added in the order of k, always the same. The last run is cluster 0's: a cluster waits only for those with smaller
// numbers, which the chip starts first, so that the wait ends even where other kernels leave no room for all at once.
struct WorkSchedule {
  TileSchedule tiles;
  unsigned tile_steps;    // stages along k
  unsigned clusters;      // that share the work
  unsigned shared_tiles;  // tile numbers 0 to shared_tiles - 1
  unsigned run, rest;     // steps of a run; the rest is spread evenly, so that tiles are cut alike

  static constexpr WorkSchedule make(TileSchedule tiles, unsigned tile_steps, unsigned clusters,
                                     unsigned shared_tiles) {
    const unsigned steps = shared_tiles * tile_steps;
    return {tiles, tile_steps, clusters, shared_tiles, steps / clusters, steps % clusters};
  }
  constexpr unsigned run_of(unsigned cluster) const { return clusters - 1 - cluster; }
  // The first step of a run, counted through all shared tiles.
  constexpr unsigned run_begin(unsigned number) const { return number * run + number * rest / clusters; }
  constexpr unsigned run_end(unsigned number) const { return run_begin(number + 1); }
};

// Which of the equal parts of each whole tile's k: where blocks of a cluster have one each, tile_steps is a multiple.
struct PartOfK {
  unsigned number = 0, parts = 1;
};

// One cluster's pieces, in its order.
class PieceWalk {
 public:
  constexpr PieceWalk(const WorkSchedule& work, unsigned cluster, PartOfK part = {})
      : work_(work),
        part_(part),
        at_(work.run_begin(work.run_of(cluster))),
        end_(work.run_end(work.run_of(cluster))),
        whole_(work.shared_tiles + cluster) {}

  constexpr bool next(Piece& piece) {
    if (at_ < end_) {
      piece.tile = at_ / work_.tile_steps;
      piece.first_step = at_ % work_.tile_steps;
      const unsigned rest = work_.tile_steps - piece.first_step;
      piece.steps = rest < end_ - at_ ? rest : end_ - at_;
      at_ += piece.steps;
      return true;
    }
    if (whole_ >= work_.tiles.count()) return false;
    const unsigned steps = work_.tile_steps / part_.parts;
    piece = {whole_, part_.number * steps, steps};
    whole_ += work_.clusters;
    return true;
  }

 private:
  const WorkSchedule& work_;
  PartOfK part_;
  unsigned at_, end_, whole_;
};

}  // namespace wm
