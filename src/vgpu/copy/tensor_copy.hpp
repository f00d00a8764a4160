// The virtual GPU's tensor-copy engine: executes cp.async.bulk.tensor and cp.reduce.async.bulk.tensor on decoded maps.
// Who waits, when it happens, and multicast (one load a block) are the machine's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vgpu/copy/reduce.hpp"
#include "vgpu/copy/swizzle.hpp"
#include "vgpu/copy/walk.hpp"

namespace wm::vgpu::copy {

// Global memory as the machine lets the engine see it. Both give the host's place of bytes that lie together in one
// allocation, and throw where they do not.
class GlobalMemory {
 public:
  virtual const std::byte* readable(std::uint64_t address, std::size_t bytes) = 0;
  virtual std::byte* writable(std::uint64_t address, std::size_t bytes) = 0;

 protected:
  ~GlobalMemory() = default;
};

// A block's shared memory: `bytes`, the first of which has the shared address `first` (without the block's rank).
struct SharedMemory {
  std::span<std::byte> bytes;
  std::uint32_t first = 0;
};

// Copies between the tensor and the tile at shared address `tile`, a multiple of 128. A load gives the bytes that its
// mbarrier counts. Accesses outside shared memory throw execution.
std::uint32_t load(const Fields& map, const Coordinates& coordinates, GlobalMemory& global, const SharedMemory& shared,
                   std::uint32_t tile);
void store(const Fields& map, const Coordinates& coordinates, GlobalMemory& global, const SharedMemory& shared,
           std::uint32_t tile);
// Each element with an atomic operation of its own, as on the chip.
void reduce(const Fields& map, const Coordinates& coordinates, Reduction reduction, GlobalMemory& global,
            const SharedMemory& shared, std::uint32_t tile);

// A run cut where the swizzle parts it.
struct Chunk {
  std::uint64_t global = 0;
  std::uint32_t shared = 0;  // swizzled shared address
  std::uint32_t bytes = 0;   // at most 16
  bool inside = false;
};

namespace detail {
template <class Visit>
void cut_run(Swizzle swizzle, std::uint32_t tile, const Run& run, Visit& visit) {
  const std::uint32_t atom = atom_of(swizzle);
  for (std::uint32_t done = 0; done < run.bytes;) {
    const std::uint32_t address = tile + run.tile + done;
    const std::uint32_t bytes = std::min(run.bytes - done, atom - address % atom);
    visit(Chunk{run.inside ? run.global + done : 0, swizzled(swizzle, address), bytes, run.inside});
    done += bytes;
  }
}
}  // namespace detail

// Calls visit(const Chunk&) for every chunk that a load writes, in the order of the tile: what a checker needs to know.
template <class Visit>
void for_each_loaded_chunk(const Fields& map, const Coordinates& coordinates, std::uint32_t tile, Visit&& visit) {
  for_each_run(map, coordinates, [&](const Run& run) { detail::cut_run(map.swizzle, tile, run, visit); });
}
// The same for every chunk that a store or a reduction moves.
template <class Visit>
void for_each_stored_chunk(const Fields& map, const Coordinates& coordinates, std::uint32_t tile, Visit&& visit) {
  for_each_stored_run(map, coordinates, [&](const Run& run) { detail::cut_run(map.swizzle, tile, run, visit); });
}

}  // namespace wm::vgpu::copy
