// What a GEMM's plan is cut into: tiles, clusters of blocks, roles of warps.
#pragma once

namespace wm {

struct TileShape {
  int m, n;  // elements of D

  template <class Shape, class Visit>
  static constexpr void each_field(Shape& shape, Visit&& visit) {
    visit("m", shape.m);
    visit("n", shape.n);
  }
  constexpr bool operator==(const TileShape&) const = default;
};
struct ClusterShape {
  int m, n;   // blocks
  int k = 1;  // blocks that share each tile along k

  template <class Shape, class Visit>
  static constexpr void each_field(Shape& shape, Visit&& visit) {
    visit("m", shape.m);
    visit("n", shape.n);
    visit("k", shape.k);
  }
  constexpr bool operator==(const ClusterShape&) const = default;
};

// Who loads and who multiplies.
enum class Pipelining : unsigned char {
  multistage,   // every warp does both: loads are issued a few stages ahead of the products
  cooperative,  // one warpgroup loads, the others share each tile by rows
  pingpong,     // one warpgroup loads, two take turns at whole tiles: one stores while the other multiplies
};

}  // namespace wm
