// Saving memory between the runs of one launch.
#include "cudart/snapshot.hpp"

#include "cudart/platform.hpp"

namespace wm::cudart {

Snapshot::Snapshot() {
  const vgpu::Machine& machine = Platform::get().machine;
  for (const auto& [address, bytes] : machine.allocations()) {
    Piece& piece = pieces_.emplace_back(Piece{address, std::vector<std::byte>(bytes)});
    machine.read(piece.bytes, address);
  }
}

void Snapshot::restore() const {
  for (const Piece& piece : pieces_) Platform::get().machine.write(piece.address, piece.bytes);
}

}  // namespace wm::cudart
