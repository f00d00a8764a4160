// In which order tiles of queries are begun. Plain C++, shared by host and device.
#pragma once

namespace wm {

// A tile of queries of one head of one sequence.
struct QueryTile {
  unsigned batch, head, tile;
};

// Sections of heads, as many as keep their K and V in L2; in a section the last tiles of all heads first, which under a
// causal mask have the most keys. Where sequences have lengths of their own, these say how many tiles there are, and
// one sequence follows the other.
struct QuerySchedule {
  unsigned batches, heads, tiles;  // tiles of a sequence
  unsigned section;                // heads, of all batches

  constexpr unsigned count() const { return batches * heads * tiles; }
  constexpr QueryTile at(unsigned index) const {
    const unsigned all = batches * heads, of_section = section * tiles;
    const unsigned first = index / of_section * section, within = index % of_section;
    const unsigned size = all - first < section ? all - first : section;
    const unsigned head = first + within % size;
    return {head / heads, head % heads, tiles - 1 - within / size};
  }
};

// What blocks share while they run, in the workspace; zero before and after.
struct TileCounter {
  unsigned taken;  // tiles, besides the first of each block
  unsigned done;   // blocks that have found no more
};

}  // namespace wm
