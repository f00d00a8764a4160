// The product of two buffers of a case, as a result is compared with it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "case.hpp"
#include "steps.hpp"

namespace wm::cases {

// Why a buffer of this layout cannot be the product; empty: it can.
std::string problem_of(const Product& product, const std::vector<BufferSpec>& buffers, const Layout& result);

// The product's elements in float64, dense. `elements`: what each buffer of the case held, dense.
std::vector<std::byte> product_elements(const Product& product, const std::vector<BufferSpec>& buffers,
                                        const std::vector<std::vector<std::byte>>& elements, const Tell& tell = {});

}  // namespace wm::cases
