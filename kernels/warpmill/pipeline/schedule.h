// Which tiles a block computes, and in which order. Plain C++, shared by host and device.
#pragma once

namespace wm {

// A persistent schedule: the grid is as large as the chip, and cluster c takes tiles c, c + clusters, c + 2 clusters...
// Tiles are numbered in bands of `band` rows, down a band's columns first, so that the tiles in flight share few rows
// of A and few columns of B, and both stay in L2.
struct TileSchedule {
  unsigned rows, columns;  // of cluster tiles
  unsigned band;           // rows a band

  struct Tile {
    unsigned row, column;
  };
  constexpr unsigned count() const { return rows * columns; }
  constexpr Tile tile(unsigned number) const {
    const unsigned band_tiles = band * columns;
    const unsigned first_row = number / band_tiles * band;
    const unsigned rows_here = rows - first_row < band ? rows - first_row : band;
    const unsigned in_band = number % band_tiles;
    return {first_row + in_band % rows_here, in_band / rows_here};
  }
};

}  // namespace wm
