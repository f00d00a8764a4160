// Who has which columns of tensor memory.
#include "vgpu/machine/tensor_memory.hpp"

#include <cstring>

#include "vgpu/machine/block.hpp"

namespace wm::vgpu {

namespace {
constexpr u32 units = TensorMemory::columns / TensorMemory::unit;

u32 units_of(u32 base, u32 count) {
  const u32 bits = count / TensorMemory::unit;
  return (bits == 32 ? ~0u : (1u << bits) - 1) << base / TensorMemory::unit;
}

// The first free run of so many columns.
std::optional<u32> free_run(u32 taken, u32 count) {
  for (u32 base = 0; base + count <= TensorMemory::columns; base += TensorMemory::unit)
    if ((taken & units_of(base, count)) == 0) return base;
  return std::nullopt;
}
}  // namespace

static_assert(units <= 32, "a word has a bit for each unit");

TensorMemory::TensorMemory(std::byte fresh)
    : cells_(std::make_unique_for_overwrite<u32[]>(std::size_t{lanes} * columns)) {
  std::memset(cells_.get(), static_cast<int>(fresh), std::size_t{lanes} * columns * sizeof(u32));
}

std::optional<u32> TensorMemory::take(u32 count) {
  const std::lock_guard lock(mutex_);
  const auto base = free_run(taken_, count);
  if (base) taken_ |= units_of(*base, count);
  return base;
}

std::optional<u32> TensorMemory::take_in_both(TensorMemory& first, TensorMemory& second, u32 count) {
  const std::scoped_lock lock(first.mutex_, second.mutex_);
  const auto base = free_run(first.taken_ | second.taken_, count);
  if (base)
    for (TensorMemory* memory : {&first, &second}) memory->taken_ |= units_of(*base, count);
  return base;
}

bool TensorMemory::has_room(u32 count) const {
  const std::lock_guard lock(mutex_);
  return free_run(taken_, count).has_value();
}

bool TensorMemory::both_have_room(TensorMemory& first, TensorMemory& second, u32 count) {
  const std::scoped_lock lock(first.mutex_, second.mutex_);
  return free_run(first.taken_ | second.taken_, count).has_value();
}

void TensorMemory::give_back(u32 base, u32 count) {
  const std::lock_guard lock(mutex_);
  taken_ &= ~units_of(base, count);
}

bool TensorShare::holds(u32 column, u32 count) const {
  u32 end = column;
  for (bool moved = true; moved && end < column + count;) {
    moved = false;
    for (const Columns& c : columns)
      if (c.base <= end && end < c.base + c.count) {
        end = c.base + c.count;
        moved = true;
      }
  }
  return end >= column + count;
}

Block* peer_of(const Block& block) {
  const auto& blocks = block.cluster->blocks;
  const u32 peer = block.rank ^ 1;
  return peer < blocks.size() ? blocks[peer].get() : nullptr;
}

std::optional<u32> allocate_columns(Block& block, u32 count, bool pair) {
  TensorShare& mine = block.tensor;
  std::optional<u32> base;
  if (!pair) {
    base = mine.memory->take(count);
  } else if (mine.granted) {
    base = std::exchange(mine.granted, std::nullopt);
  } else {
    TensorShare& other = peer_of(block)->tensor;
    if (other.wanted == count) base = TensorMemory::take_in_both(*mine.memory, *other.memory, count);
    if (base) {
      other.granted = base;
      other.wanted = 0;  // this block may ask again before the other has seen it
    }
    mine.wanted = count;
  }
  if (!base) return base;
  mine.wanted = 0;
  mine.columns.push_back({*base, count});
  mine.most = count;
  return base;
}

bool may_allocate_columns(const Block& block, u32 count, bool pair) {
  const TensorShare& mine = block.tensor;
  if (!pair) return mine.memory->has_room(count);
  if (mine.granted) return true;
  const TensorShare& other = peer_of(block)->tensor;
  return other.wanted == count && TensorMemory::both_have_room(*mine.memory, *other.memory, count);
}

}  // namespace wm::vgpu
