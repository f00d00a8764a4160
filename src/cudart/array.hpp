// CUDA arrays. Only textures could tell how a chip lays them out; here they are rows of elements.
#pragma once

#include <driver_types.h>

#include "cudart/operation.hpp"

namespace wm::cudart {

struct Array {
  cudaChannelFormatDesc format{};
  cudaExtent extent{};  // in elements; 0 where it has no such dimension
  unsigned flags = 0;
  std::uint64_t address = 0;
  std::size_t pitch = 0;

  std::size_t element_bytes() const;
  std::size_t rows() const { return extent.height > 0 ? extent.height : 1; }
  std::size_t slices() const { return extent.depth > 0 ? extent.depth : 1; }
  // From a place on: bytes along x, elements along the others. Fails where so much is not there.
  Rows at(std::size_t x_bytes, std::size_t y, std::size_t z, const Extent& needed) const;
};

Array* create_array(const cudaChannelFormatDesc& format, const cudaExtent& extent, unsigned flags);
void destroy_array(const void* handle);
Array& known_array(const void* handle);  // fails with cudaErrorInvalidResourceHandle

}  // namespace wm::cudart
