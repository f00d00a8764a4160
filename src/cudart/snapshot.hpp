// All memory that a kernel may write, as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wm::cudart {

class Snapshot {
 public:
  Snapshot();  // now
  void restore() const;

 private:
  struct Piece {
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Piece> pieces_;
};

}  // namespace wm::cudart
