// Where a swizzle puts a byte of shared memory. It is a function of the address alone, not of the tile: bits of the
// 128-byte line's number are added (exclusive or) to the bits of the chunk within the line.
#pragma once

#include <cstdint>

#include "warpmill/tensor_map.hpp"

namespace wm::vgpu::copy {

// Both ways: applying it twice gives the address back.
constexpr std::uint32_t swizzled(Swizzle swizzle, std::uint32_t address) {
  switch (swizzle) {
    case Swizzle::none: return address;
    case Swizzle::b32: return address ^ (address >> 3 & 0x10);
    case Swizzle::b64: return address ^ (address >> 3 & 0x30);
    case Swizzle::b128: return address ^ (address >> 3 & 0x70);
    case Swizzle::b128_atom32: return address ^ (address >> 2 & 0x60);
    case Swizzle::b128_atom32_flip8: return address ^ (address >> 2 & 0x60) ^ (address >> 4 & 0x08);
    case Swizzle::b128_atom64: return address ^ (address >> 1 & 0x40);
  }
  return address;
}

// Bytes after which the pattern repeats; 0 without swizzle.
constexpr std::uint32_t pattern_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: return 0;
    case Swizzle::b32:
    case Swizzle::b128_atom64: return 256;
    case Swizzle::b64:
    case Swizzle::b128_atom32:
    case Swizzle::b128_atom32_flip8: return 512;
    case Swizzle::b128: return 1024;
  }
  return 0;
}

// Bytes that stay together.
constexpr std::uint32_t atom_of(Swizzle swizzle) { return swizzle == Swizzle::b128_atom32_flip8 ? 8 : 16; }

}  // namespace wm::vgpu::copy
