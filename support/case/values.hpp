// Values of a case file: sizes, names, elements, and the buffers that other fields name.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "case.hpp"
#include "document.hpp"
#include "warpmill/error.hpp"

namespace wm::cases {

constexpr std::int64_t largest_integer = std::numeric_limits<std::int64_t>::max();

std::vector<std::int64_t> integers(const Field& field, std::int64_t lowest, std::int64_t highest = largest_integer);

// A name of the file as the value it stands for.
template <class Value>
Value named(const Field& field, Value (*from_name)(std::string_view)) {
  try {
    return from_name(field.string());
  } catch (const Error& error) {
    field.refuse(error.what());
  }
}
inline DType dtype(const Field& field) { return named(field, dtype_from_name); }

struct IntegerRange {
  std::int64_t lowest;
  std::uint64_t highest;
};
IntegerRange range_of(DType type);

// A number of the file as an element: integers must fit, floats are rounded.
std::array<std::byte, 8> element(const Field& field, DType type);

// The buffers read so far.
class BufferList {
 public:
  void add(BufferSpec buffer);
  std::size_t index(const Field& field) const { return index(field, field.string()); }
  std::size_t index(const Field& field, const std::string& name) const;  // refused where there is none of that name
  std::uint64_t offset(const Field& field, std::size_t buffer) const;    // the field's "offset", in bytes
  const Layout& layout(std::size_t buffer) const { return all_[buffer].layout; }
  const std::vector<BufferSpec>& all() const { return all_; }
  std::vector<BufferSpec> take() { return std::move(all_); }

 private:
  std::vector<BufferSpec> all_;
  std::unordered_map<std::string, std::size_t> indices_;  // by name
};

}  // namespace wm::cases
