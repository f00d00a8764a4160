// A decoded instruction: a handler, the rows it reads and writes, and what its modifiers say. Handlers live in isa/.
#pragma once

#include "vgpu/memory/integers.hpp"

namespace wm::vgpu {

inline constexpr u32 lanes_per_warp = 32;
inline constexpr u32 all_lanes = ~0u;

class Warp;
struct Op;

// What the warp does after an instruction: go on with the next one, or look at its parts again because some lanes
// went elsewhere, wait or have ended.
enum class Step : u8 { go, regroup };

// `active` are the lanes of the running part whose guard holds; never none.
using Handler = Step (*)(Warp& warp, const Op& op, u32 active);

// A row of 32 lanes: a register of the running frame, or a constant of the program spread over all lanes.
struct Operand {
  u32 code = 0;  // row << 1 | constant
  static constexpr Operand reg(u32 row) { return {row << 1}; }
  static constexpr Operand constant(u32 row) { return {row << 1 | 1}; }
  bool is_constant() const { return code & 1; }
  u32 row() const { return code >> 1; }
};

// A predicate operand: a row of one bit a lane, read through an exclusive or so that !p costs nothing.
struct Predicate {
  u32 row = 0;
  u32 flip = 0;
};

// What an address is relative to: nothing, a row, the block's shared memory, its dynamic part, the frame of the call.
enum class AddressBase : u8 { absolute, row32, row64, shared, dynamic_shared, frame };

struct Address {
  AddressBase base = AddressBase::absolute;
  Operand row;
  i64 offset = 0;
};

// Rows that every frame has: what nobody reads is written to the first row of each bank (`_`), and predicate row 0
// holds for all lanes.
inline constexpr u32 sink_row = 0;
inline constexpr u32 true_predicate = 0;
inline constexpr u32 sink_predicate = 1;
inline constexpr u32 carry_predicate = 2;  // of add.cc and its kin

struct Op {
  Handler run = nullptr;
  Predicate guard;  // {true_predicate, 0}: none
  Operand d, a, b, c;
  i64 immediate = 0;
  const void* detail = nullptr;  // what does not fit here; the handler knows its type, the function owns it

  template <class Detail>
  const Detail& as() const {
    return *static_cast<const Detail*>(detail);
  }
};

}  // namespace wm::vgpu
