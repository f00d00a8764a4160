// Finding the name of an address.
#include "vgpu/check/names.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>
#include <fmt/format.h>

#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu::check {
namespace {

// A static variable of a kernel as its author wrote it: `_ZZ6kernelE4tile` is tile.
std::string plain_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  const std::string name = status == 0 ? demangled.get() : symbol;
  const auto colons = name.rfind("::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

std::string bytes_from(const std::string& name, u64 offset, u64 bytes) {
  return bytes == 1 ? fmt::format("{} byte {}", name, offset)
                    : fmt::format("{} bytes {} to {}", name, offset, offset + bytes - 1);
}

}  // namespace

Names::Names(const Run& run) : run_(run) {
  for (const auto& [variable, offset] : run.program.shared_variables(run.entry))
    arrays_.push_back({plain_name(variable->name), offset, variable->bytes, 0});
}

void Names::name_shared(const std::string& name, u32 offset, u32 element_bytes, u32 count) {
  const Array given{name, offset, u64{element_bytes} * count, element_bytes};
  const auto replaced = [&](const Array& old) {
    const bool apart = old.end() <= given.offset || given.end() <= old.offset;
    const bool holds = old.offset <= given.offset && given.end() <= old.end() && old.bytes > given.bytes;
    return !apart && !holds;
  };
  std::erase_if(arrays_, replaced);
  arrays_.push_back(given);
}

const Names::Array* Names::find(u64 offset) const {
  const Array* found = nullptr;
  for (const Array& array : arrays_)
    if (offset - array.offset < array.bytes && (found == nullptr || array.bytes < found->bytes)) found = &array;
  return found;
}

// `full[2]`; with its address where others have the same name.
std::string Names::name_of(const Array& array, std::optional<u64> index) const {
  const std::string name = index ? fmt::format("`{}[{}]`", array.name, *index) : fmt::format("`{}`", array.name);
  const auto same = std::count_if(arrays_.begin(), arrays_.end(), [&](const Array& a) { return a.name == array.name; });
  return same == 1 ? name : fmt::format("{} (of {:#x})", name, array.offset);
}

std::string Names::memory(u64 generic, u64 bytes) const {
  if (is_tensor(generic)) {
    const u64 cell = (generic - tensor_window) / 4, lane = cell / 512 % 128, column = cell % 512;
    return bytes <= 4
               ? fmt::format("column {} of lane {} of tensor memory", column, lane)
               : fmt::format("columns {} to {} of lane {} of tensor memory", column, column + bytes / 4 - 1, lane);
  }
  if (!is_shared(generic)) {
    const auto [name, offset] = run_.memory.named(generic);
    if (!name.empty()) return bytes_from(fmt::format("global `{}`", name), offset, bytes);
    return bytes == 1 ? fmt::format("global byte {:#x}", generic)
                      : fmt::format("global bytes {:#x} to {:#x}", generic, generic + bytes - 1);
  }
  const u64 offset = generic & shared_offset_mask;
  const Array* const array = find(offset);
  if (array == nullptr)
    return bytes == 1 ? fmt::format("shared byte {:#x}", offset)
                      : fmt::format("shared bytes {:#x} to {:#x}", offset, offset + bytes - 1);
  const u64 within = offset - array->offset;
  if (array->element_bytes == 0 || array->element_bytes == array->bytes)
    return bytes_from("shared " + name_of(*array, {}), within, bytes);
  return bytes_from("shared " + name_of(*array, within / array->element_bytes), within % array->element_bytes, bytes);
}

std::string Names::mbarrier(u64 shared_address) const {
  constexpr u64 size = 8;
  const u64 offset = shared_address & shared_offset_mask;
  const Array* const array = find(offset);
  if (array == nullptr) return fmt::format("the mbarrier at {:#x}", offset);
  if (array->bytes == size) return "the mbarrier " + name_of(*array, {});
  return "the mbarrier " + name_of(*array, (offset - array->offset) / size);
}

}  // namespace wm::vgpu::check
