// NumPy's .npy files, read and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "case.hpp"

namespace wm::cases {

struct NpyArray {
  char kind = 'f';        // f: float, i: signed, u: unsigned (and bool)
  std::size_t width = 4;  // bytes an element
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;  // C order, little-endian
};

// Versions 1 to 3 of the format. Fortran order, big-endian data, and types without a place here are refused in words.
NpyArray read_npy(const std::filesystem::path& file);
// The same from the file's bytes; `name` stands before a refusal.
NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view name);

// The elements as `dtype`, dense. Floats are rounded; unsigned integers of the dtype's own width are raw bits (numpy
// has no bf16 or fp8); other integers are taken by value and must fit an integer dtype.
std::vector<std::byte> convert(const NpyArray& array, DType dtype);

// Dense elements. What numpy cannot name is written as raw bits: bf16 as uint16, e4m3 and e5m2 as uint8; tf32 is
// float32.
void write_npy(const std::filesystem::path& file, DType dtype, const std::vector<std::int64_t>& shape,
               std::span<const std::byte> elements);

}  // namespace wm::cases
