// Which queries of which head a block takes next, and which blocks of keys they see. Plain C++, shared by host and
// device.
#pragma once

namespace wm {

// A tile of queries of one head of one sequence.
struct QueryTile {
  unsigned batch, head, tile;
};

// Tiles in the order in which they are begun: sections of heads, as many as keep their K and V in L2; in a section the
// last tiles of all heads first, which under a causal mask have the most keys.
struct QuerySchedule {
  unsigned batches, heads, tiles;  // tiles of the longest sequence
  unsigned section;                // heads of all batches

  constexpr unsigned count() const { return batches * heads * tiles; }
  constexpr QueryTile at(unsigned index) const {
    const unsigned all = batches * heads, of_section = section * tiles;
    const unsigned first = index / of_section * section, within = index % of_section;
    const unsigned size = all - first < section ? all - first : section;
    const unsigned head = first + within % size;
    return {head / heads, head % heads, tiles - 1 - within / size};
  }
  // What block `number` of `blocks` takes in its `round`: back and forth, so that who had the longest of a round has
  // the shortest of the next. count() or more: nothing.
  constexpr unsigned turn(unsigned number, unsigned blocks, unsigned round) const {
    return round * blocks + (round % 2 ? blocks - 1 - number : number);
  }
};

}  // namespace wm
