// Which tiles a cluster of blocks computes, in which order, and how much of k of each. Plain C++, shared by host and
// device.
#pragma once

namespace wm {

// Division by what the host knows, as a multiplication: a kernel has divisions on its way to its first copy. Of numbers
// below 2^31, by one from 1 to 2^31; by 0 as by 1, for schedules without tiles.
struct Divisor {
  unsigned multiplier = (1u << 31) + 1, shift = 31;  // by 1

  static constexpr Divisor of(unsigned value) {
    if (value == 0) return {};
    unsigned bits = 0;  // the smallest power of two that is not below `value`
    while (1ull << bits < value) ++bits;
    return {static_cast<unsigned>((1ull << (31 + bits)) / value + 1), 31 + bits};
  }
  constexpr unsigned divide(unsigned number) const {
    return static_cast<unsigned>(static_cast<unsigned long long>(number) * multiplier >> shift);
  }
};

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

// A part of a tile's k. A step is one stage of each of the blocks that share tiles along k, or of the only one.
struct Piece {
  unsigned tile, first_step, steps;

  // Of the stages of blocks that share it, in equal parts: where the part of one begins.
  constexpr unsigned first_stage(unsigned part, unsigned parts) const { return first_step * parts + part * steps; }
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
  unsigned tile_steps;    // along k
  unsigned clusters;      // that share the work
  unsigned shared_tiles;  // tile numbers 0 to shared_tiles - 1
  unsigned run, rest;     // steps of a run; the rest is spread evenly, so that tiles are cut alike
  Divisor by_tile_steps, by_clusters;
  Divisor by_matrix, by_band, by_rows, by_last_rows;  // tiles of a matrix and of a band; rows of a band and of the last

  static constexpr WorkSchedule make(TileSchedule tiles, unsigned tile_steps, unsigned clusters,
                                     unsigned shared_tiles) {
    const unsigned steps = shared_tiles * tile_steps, last = tiles.band ? tiles.rows % tiles.band : 0;
    return {tiles,
            tile_steps,
            clusters,
            shared_tiles,
            steps / clusters,
            steps % clusters,
            Divisor::of(tile_steps),
            Divisor::of(clusters),
            Divisor::of(tiles.rows * tiles.columns),
            Divisor::of(tiles.band * tiles.columns),
            Divisor::of(tiles.band),
            Divisor::of(last ? last : tiles.band)};
  }
  // As TileSchedule's, without a division.
  constexpr TileSchedule::Tile tile(unsigned number) const {
    const unsigned matrix = tiles.batch > 1 ? by_matrix.divide(number) : 0;
    number -= matrix * tiles.rows * tiles.columns;
    const unsigned band = by_band.divide(number), first_row = band * tiles.band;
    const bool whole = tiles.rows - first_row >= tiles.band;
    const unsigned rows_here = whole ? tiles.band : tiles.rows - first_row;
    const unsigned in_band = number - band * tiles.band * tiles.columns;
    const unsigned column = (whole ? by_rows : by_last_rows).divide(in_band);
    return {first_row + in_band - column * rows_here, column, matrix};
  }
  constexpr unsigned run_of(unsigned cluster) const { return clusters - 1 - cluster; }
  // The first step of a run, counted through all shared tiles.
  constexpr unsigned run_begin(unsigned number) const { return number * run + by_clusters.divide(number * rest); }
  constexpr unsigned run_end(unsigned number) const { return run_begin(number + 1); }
};

// One cluster's pieces, in its order.
class PieceWalk {
 public:
  constexpr PieceWalk(const WorkSchedule& work, unsigned cluster)
      : work_(work),
        at_(work.run_begin(work.run_of(cluster))),
        end_(work.run_end(work.run_of(cluster))),
        whole_(work.shared_tiles + cluster) {}

  constexpr bool next(Piece& piece) {
    if (at_ < end_) {
      piece.tile = work_.by_tile_steps.divide(at_);
      piece.first_step = at_ - piece.tile * work_.tile_steps;
      const unsigned rest = work_.tile_steps - piece.first_step;
      piece.steps = rest < end_ - at_ ? rest : end_ - at_;
      at_ += piece.steps;
      return true;
    }
    if (whole_ >= work_.tiles.count()) return false;
    piece = {whole_, 0, work_.tile_steps};
    whole_ += work_.clusters;
    return true;
  }

 private:
  const WorkSchedule& work_;
  unsigned at_, end_, whole_;
};

}  // namespace wm
