// In which order tiles of queries are begun. Plain C++, shared by host and device.
#pragma once

namespace wm {

// A tile of queries of one head of one sequence.
struct QueryTile {
  unsigned batch, head, tile;
};

// The last tiles first, which under a causal mask have the most keys: `rows` of them of a group of heads, then of the
// next group, then the rows before. So what is begun at the same time shares K and V in L2, and the shortest come last.
// Where sequences have lengths of their own, these say how many tiles there are, and one sequence follows the other,
// the longest first (tiles.cuh).
struct QuerySchedule {
  unsigned batches, heads, tiles;  // tiles of a sequence
  unsigned group;                  // heads, of all batches
  unsigned rows;                   // tiles of a head

  constexpr unsigned count() const { return batches * heads * tiles; }
  constexpr QueryTile at(unsigned index) const {
    const unsigned all = batches * heads, of_rows = rows * all;
    const unsigned above = index / of_rows * rows;  // tiles that have gone before, of each head
    const unsigned rows_here = tiles - above < rows ? tiles - above : rows;
    const unsigned within = index % of_rows, of_group = rows_here * group;
    const unsigned first = within / of_group * group;
    const unsigned heads_here = all - first < group ? all - first : group;
    const unsigned head = first + within % of_group % heads_here;
    return {head / heads, head % heads, tiles - 1 - above - within % of_group / heads_here};
  }
};

// What blocks share while they run, in the workspace; zero before and after.
struct TileCounter {
  unsigned taken;  // tiles, besides the first of each block
  unsigned done;   // blocks that have found no more
};

}  // namespace wm
