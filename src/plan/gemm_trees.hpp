// What the arithmetic of the GEMM ranking leaves unexplained, learned from measured pairs of shapes and plans: small
// trees of questions about a plan for a shape, whose answers add up to the logarithm of measured over estimated time
// (docs/gemm.md, `warpmill calibrate gemm`).
//
// As text, a question is followed by what holds where the trait is less and where it is not: a question or a number.
//
//   blocks 60.5 -0.021 tile_columns 88 0.013 0.034
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wm::plan {

// What may be asked about.
inline constexpr std::string_view gemm_trait_names[] = {
    "estimate",      // microseconds, by the arithmetic
    "memory",        // of that, what the least traffic of device memory takes
    "blocks",        // at once
    "waves",         //
    "last_wave",     // the part of the clusters that have a tile in it
    "steps",         // of a tile, a block
    "tile_rows",     //
    "tile_columns",  //
    "group_rows",    //
    "turns",         // 1: groups take turns
    "cluster_rows",  // blocks above each other
    "cluster_columns",
    "cluster_parts",  // blocks that share a tile along k
    "pieces",         // of a tile that clusters share through the workspace, or 0
    "stages",         //
    "rows_filled",    // of the tiles' rows, those that D has
    "columns_filled",
    "strips",        // that a group stores of a tile
    "row_tiles",     // of clusters
    "column_tiles",  //
    "megabytes",     // of both operands
    "k",
    "k_filled",       // of the steps' elements along k, those that the operands have
    "row_alignment",  // of the operands' rows in device memory: bytes, a power of two up to 128
    "exchanged",      // 1: the rows of a tile are B's
    "d_megabytes",
    "d_alignment",  // of D's rows, likewise
    "spread",       // pieces of a tile that all its blocks finish, or 0
};
using GemmTraits = std::array<double, std::size(gemm_trait_names)>;

class GemmTree {
 public:
  // A question, or an answer; in the text's order, so that the next one is for those that have less.
  struct Node {
    int trait = -1;        // what is asked about; -1: `value` is the answer
    std::size_t more = 0;  // for the others
    double value = 0;      // the limit, or the answer
  };
  explicit GemmTree(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}
  static GemmTree from_text(std::string_view text);  // throws wm::Error
  std::string text() const;

  double answer(const GemmTraits& traits) const;

 private:
  std::vector<Node> nodes_;
};

struct GemmTrees {
  std::vector<GemmTree> trees;
  // Products that have less than these are not what the trees learned from: they say nothing of them.
  std::int64_t least_side = 0, least_k = 0;  // of m and n, and k

  double factor(const GemmTraits& traits) const;  // of the estimate
};

}  // namespace wm::plan
