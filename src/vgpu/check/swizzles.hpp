// How ordinary instructions swizzle: by the rows of the address, as copies and products do, or by those of their tile.
// Seen where the number of a row goes into an address of shared memory through an exclusive or.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/check/sites.hpp"

namespace wm::vgpu {
class Warp;
}

namespace wm::vgpu::check {

class Swizzles {
 public:
  // A warp's access to shared memory by an instruction: what its exclusive ors hold now.
  void see(u32 number, const Site& site, const Warp& warp, const u64* addresses, u32 active);
  // Instructions, and where the tile begins that each was seen to touch. Whether all of them go by the rows of the
  // address, or all by those of their tiles, with the 128-byte swizzle: both may seem to hold, or neither.
  using Touches = std::vector<std::pair<u32, u64>>;
  bool by_address(const Touches& touches) const { return hold(touches, false); }
  bool by_tile(const Touches& touches) const { return hold(touches, true); }

 private:
  static constexpr u32 rows = 8;  // of 128 bytes, in a pattern
  static constexpr u32 row_of(u64 address) { return static_cast<u32>(address >> 7) % rows; }

  // An operand of an exclusive or: shifted to where it stands in the address, and what of it gets there.
  struct Term {
    Operand operand;
    bool wide = false;
    i32 shift = 0;  // to the left
    u64 mask = ~u64{0};
  };
  // Some terms together, or none (a row that the compiler knows to be 0), taken for the number of a row, times 16.
  struct Guess {
    bool possible = true;
    u32 behind = 0;  // the row of the address by so many, always
    u32 seen = 0;    // numbers, as bits
  };
  struct Use {
    u32 seen = 0;
    std::vector<Term> terms;
    std::vector<Guess> guesses;  // by the terms, as bits
  };
  // Registers and the instructions that write them, by register.
  using Definitions = std::vector<std::pair<u32, u32>>;
  class Search;

  bool hold(const Touches& touches, bool of_tiles) const;
  const Definitions& definitions_of(const Function& function);
  std::unordered_map<u32, Use> uses_;  // by site
  std::unordered_map<const Function*, Definitions> definitions_;
};

}  // namespace wm::vgpu::check
