// What buffers hold: fills computed, elements moved between dense and strided memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "case.hpp"
#include "steps.hpp"

namespace wm::cases {

// The elements of a buffer with this fill, dense, row-major.
std::vector<std::byte> fill_elements(const Fill& fill, const Layout& layout, const Tell& tell = {});

// Dense elements to the buffer's memory; gaps between elements are poison. And back.
std::vector<std::byte> to_memory(const Layout& layout, std::span<const std::byte> elements);
std::vector<std::byte> from_memory(const Layout& layout, std::span<const std::byte> memory);

// The `index`th element in row-major order: its coordinates.
std::vector<std::int64_t> coordinates(const Layout& layout, std::size_t index);

}  // namespace wm::cases
