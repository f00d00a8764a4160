// Values of a case file.
#include "values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace wm::cases {

std::vector<std::int64_t> integers(const Field& field, std::int64_t lowest, std::int64_t highest) {
  std::vector<std::int64_t> values;
  for (const Field& item : field.items()) values.push_back(item.integer(lowest, highest));
  return values;
}

IntegerRange range_of(DType type) {
  const auto bits = static_cast<int>(8 * size_of(type));
  const bool is_signed = type == DType::i8 || type == DType::i16 || type == DType::i32 || type == DType::i64;
  const std::uint64_t all = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  return is_signed ? IntegerRange{-static_cast<std::int64_t>(all / 2) - 1, all / 2} : IntegerRange{0, all};
}

// A number of the file as an element: integers must fit, floats are rounded.
std::array<std::byte, 8> element(const Field& field, DType type) {
  std::array<std::byte, 8> bytes{};
  if (is_floating(type)) {
    store_element(type, bytes.data(), field.number());
    return bytes;
  }
  const auto [lowest, highest] = range_of(type);
  const std::uint64_t value =
      lowest < 0 ? static_cast<std::uint64_t>(field.integer(lowest, static_cast<std::int64_t>(highest)))
                 : field.unsigned_integer(highest);
  std::memcpy(bytes.data(), &value, size_of(type));  // little-endian: the low bytes
  return bytes;
}
static_assert(std::endian::native == std::endian::little);

void BufferList::add(BufferSpec buffer) {
  indices_[buffer.name] = all_.size();
  all_.push_back(std::move(buffer));
}

std::size_t BufferList::index(const Field& field, const std::string& name) const {
  if (const auto found = indices_.find(name); found != indices_.end()) return found->second;
  constexpr std::size_t shown = 20;
  std::string names;
  for (std::size_t i = 0; i < std::min(all_.size(), shown); ++i) names += (i ? ", " : "") + all_[i].name;
  if (all_.size() > shown) names += fmt::format(" and {} more", all_.size() - shown);
  field.refuse(fmt::format("there is no buffer \"{}\"; there {}", name, names.empty() ? "are none" : "are " + names));
}

std::uint64_t BufferList::offset(const Field& field, std::size_t buffer) const {
  const auto offset = field.find("offset");
  return offset ? offset->unsigned_integer(layout(buffer).bytes) : 0;
}

}  // namespace wm::cases
