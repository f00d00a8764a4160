// Random copies: a legal map over a small tensor, and coordinates in and around it.
#pragma once

#include <vector>

#include "tensor_map/random_maps.hpp"
#include "tensor_map/virtual_form.hpp"
#include "vgpu/copy/tensor_copy.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

struct RandomCopy {
  TensorMapSpec spec;
  tensor_map::Fields map;
  vgpu::copy::Coordinates coordinates;
  std::uint32_t tile = 0;  // shared address
};

// Where the tile goes, from a multiple of 1024: any multiple of 128.
inline RandomCopy random_copy(Random& random, const TensorMapSpec& spec, std::uint64_t memory) {
  RandomCopy copy{spec, {}, {}, 0};
  copy.spec.address = memory + 32 * static_cast<std::uint64_t>(between(random, 0, 8));
  copy.map = tensor_map::decode_virtual(bytes_of(tensor_map::encode_virtual(copy.spec)));
  const tensor_map::Fields& map = copy.map;
  auto& at = copy.coordinates.at;
  for (std::uint32_t i = 0; i < map.rank; ++i)
    at[i] = static_cast<std::int32_t>(between(random, -4, static_cast<std::int64_t>(map.dims[i]) + 2));
  if (map.interleave != Interleave::none) {
    const auto slice =
        static_cast<std::int32_t>((map.interleave == Interleave::b16 ? 128 : 256) / bits_of(map.element));
    at[0] = static_cast<std::int32_t>(between(random, -1, 3)) * slice;
  }
  if (map.mode == MapMode::im2col)
    for (std::uint32_t i = 0; i < map.rank - 2; ++i) {
      at[i + 1] = static_cast<std::int32_t>(
          between(random, map.lower[i], static_cast<std::int64_t>(map.dims[i + 1]) - 1 + map.upper[i]));
      copy.coordinates.offsets[i] = static_cast<std::uint16_t>(between(random, 0, 3));
    }
  copy.tile = 128 * static_cast<std::uint32_t>(between(random, 0, 8));
  return copy;
}

// Bytes from the start of memory that hold the tensor, and some more.
inline std::size_t memory_bytes(const tensor_map::Fields& map) {
  std::size_t size = map.dims[0] * 8 + 4096;
  for (std::uint32_t i = 1; i < map.rank; ++i) size += map.dims[i] * map.strides[i - 1];
  if (map.interleave != Interleave::none) size += map.dims[0] * map.strides[0];
  return size;
}

// A host copy of device memory that starts at an address.
struct HostMemory final : vgpu::copy::GlobalMemory {
  std::uint64_t first = 0;
  std::vector<std::byte> bytes;
  HostMemory(std::uint64_t first, std::size_t size) : first(first), bytes(size) {}
  std::byte* writable(std::uint64_t address, std::size_t count) override {
    if (address < first || address - first > bytes.size() || count > bytes.size() - (address - first))
      throw Error(ErrorCode::execution, "outside the allocation");
    return bytes.data() + (address - first);
  }
  const std::byte* readable(std::uint64_t address, std::size_t count) override { return writable(address, count); }
};

inline void fill_randomly(Random& random, std::vector<std::byte>& bytes) {
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
}

}  // namespace wm::test
