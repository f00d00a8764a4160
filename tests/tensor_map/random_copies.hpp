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
  // Mostly inside, else somewhere around the tensor.
  for (std::uint32_t i = 0; i < map.rank; ++i) {
    const auto size = static_cast<std::int64_t>(map.dims[i]);
    at[i] =
        static_cast<std::int32_t>(chance(random, 75) ? between(random, 0, size - 1) : between(random, -4, size + 2));
  }
  const bool interleaved = map.interleave != Interleave::none;
  if (!interleaved) {  // the innermost coordinate goes in steps of 16 bytes
    const auto step = static_cast<std::int32_t>(128 / bits_of(map.element));
    at[0] = at[0] / step * step - (at[0] < 0 ? step : 0);
  }
  if (map.mode == MapMode::im2col)
    for (std::uint32_t i = 0; i < map.rank - 2; ++i) {
      const std::uint32_t dim = interleaved ? i : i + 1;
      at[dim] = static_cast<std::int32_t>(
          between(random, map.lower[i], static_cast<std::int64_t>(map.dims[dim]) - 1 + map.upper[i]));
      copy.coordinates.offsets[i] = static_cast<std::uint16_t>(between(random, 0, 3));
    }
  copy.tile = 128 * static_cast<std::uint32_t>(between(random, 0, 8));
  return copy;
}

// Bytes from the start of memory that hold the tensor, and some more.
inline std::size_t memory_bytes(const tensor_map::Fields& map) {
  std::size_t size = map.dims[0] * 32 + 4096;  // an element or interleaved pixel is at most 32 bytes
  for (std::uint32_t i = 1; i < map.rank; ++i) size += map.dims[i] * map.strides[i - 1];
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
