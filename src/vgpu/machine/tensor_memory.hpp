// Tensor memory: 128 lanes by 512 columns of 32 bits on each multiprocessor, shared by the blocks that run there, and
// what each block has of it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "vgpu/machine/op.hpp"

namespace wm::vgpu {

struct Block;
class TensorProduct;

// An address: lane in the upper half, column in the lower.
struct TensorAddress {
  u32 lane = 0, column = 0;
  static constexpr TensorAddress of(u32 bits) { return {bits >> 16, bits & 0xffff}; }
  bool operator==(const TensorAddress&) const = default;
};

class TensorMemory {
 public:
  static constexpr u32 lanes = 128, columns = 512;
  static constexpr u32 unit = 32;  // columns are given out in multiples of it

  explicit TensorMemory(std::byte fresh);  // what it is filled with

  // Cells are kept in tiles of 16 lanes by 8 columns, and a tile as the accumulator registers of a warp hold it (four
  // rows of 32 words): so products work in place.
  static constexpr u32 tile_lanes = 16, tile_columns = 8, tile_row = 32;
  static constexpr std::size_t place(u32 lane, u32 column) {
    const std::size_t tile = lane / tile_lanes * (columns / tile_columns) + column / tile_columns;
    return (tile * 4 + lane / 8 % 2 * 2 + column % 2) * tile_row + lane % 8 * 4 + column % 8 / 2;
  }
  u32& at(u32 lane, u32 column) { return cells_[place(lane, column)]; }
  u32* tile(u32 lane, u32 column) { return &cells_[place(lane, column)]; }  // of multiples of a tile's sizes

  // Blocks on other host threads may ask meanwhile.
  std::optional<u32> take(u32 count);
  // The same columns of both.
  static std::optional<u32> take_in_both(TensorMemory& first, TensorMemory& second, u32 count);
  bool has_room(u32 count) const;
  static bool both_have_room(TensorMemory& first, TensorMemory& second, u32 count);
  void give_back(u32 base, u32 count);

 private:
  std::unique_ptr<u32[]> cells_;
  mutable std::mutex mutex_;  // of `taken_`
  u32 taken_ = 0;             // a bit for each unit
};

// What a block has of its multiprocessor's tensor memory.
struct TensorShare {
  struct Columns {
    u32 base = 0, count = 0;
  };
  u32 multiprocessor = 0;
  TensorMemory* memory = nullptr;
  std::vector<Columns> columns;
  u32 most = TensorMemory::columns;  // that it may still ask for at a time: not more than the last time
  bool relinquished = false;
  u32 cta_group = 0;              // of all its instructions; 0: none yet
  u32 wanted = 0;                 // of a pair: columns that this block waits for
  std::optional<u32> granted;     // and those that came when the other block asked
  TensorProduct* open = nullptr;  // the last product, while it has not begun and may take in another step

  bool holds(u32 column, u32 count) const;
};

// The other block of its pair: ranks that differ in the last bit. Null where the cluster has none.
Block* peer_of(const Block& block);

// For alloc: the first column; nothing while there are not enough free ones, or while the other block has not asked.
std::optional<u32> allocate_columns(Block& block, u32 count, bool pair);
// Whether to try again.
bool may_allocate_columns(const Block& block, u32 count, bool pair);

}  // namespace wm::vgpu
