// Matrices of 8 bits and fewer between shared memory and the registers of a warp, and copies to a block's own shared
// memory: what sm_120a has too.
#pragma once

#include "common.cuh"

// A tile of a map of two dimensions, from its first element on.
WM_DEVICE void load_tile(void* tile, const TensorMap& map, u64* full) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {0, 0}], [%2];" ::"r"(
          SharedAddress(tile).value),
      "l"(&map), "r"(SharedAddress(full).value)
      : "memory");
}

// Four rows of a map of two dimensions, one behind the other.
WM_DEVICE void gather_rows(void* tile, const TensorMap& map, const u32 (&rows)[4], u64* full) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%0], [%1, {0, %3, %4, "
      "%5, "
      "%6}], [%2];" ::"r"(SharedAddress(tile).value),
      "l"(&map), "r"(SharedAddress(full).value), "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3])
      : "memory");
}

// One matrix of 16 x 16 bytes, transposed; lanes 0 to 15 give its rows.
WM_DEVICE void load_bytes(u32 (&into)[2], const u8* row) {
  asm volatile("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%0, %1}, [%2];"
               : "=r"(into[0]), "=r"(into[1])
               : "r"(SharedAddress(row).value)
               : "memory");
}

// One matrix of 8 x 16 elements of 4 or of 6 bits, a byte for each; lanes 0 to 7 give its rows.
WM_DEVICE u32 load_fours(const u8* row) {
  u32 elements;
  asm volatile("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%0}, [%1];"
               : "=r"(elements)
               : "r"(SharedAddress(row).value)
               : "memory");
  return elements;
}
WM_DEVICE u32 load_sixes(const u8* row) {
  u32 elements;
  asm volatile("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%0}, [%1];"
               : "=r"(elements)
               : "r"(SharedAddress(row).value)
               : "memory");
  return elements;
}

// One matrix of 16 x 8 bytes, as eight rows of 16, which lanes 0 to 7 give.
WM_DEVICE void store_bytes(u8* row, u32 from) {
  asm volatile("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%0], {%1};" ::"r"(SharedAddress(row).value), "r"(from)
               : "memory");
}
