// PTX of the kernels that make one tensor copy and show what it moved.
#pragma once

#include <string>

namespace wm::test {

// Entries load_tile_1 .. load_tile_5, load_im2col_3 .. 5, and the same of store, reduce_add, reduce_min, ... All take
//     map (128 bytes), out (u64), bytes (u32: of the tile), tile (u32: its offset), words (u32: of shared memory),
//     c0 .. c4 (s32), o0 .. o2 (u32)
// and run as one thread. `out` is an array of 32-bit words that fills shared memory from a multiple of 1024 on before
// the copy; a load writes shared memory back to it, and behind it 1 where the mbarrier completed, else 0.
std::string movement_ptx();

}  // namespace wm::test
