// Causes and consequences: one wrong count makes a dozen findings, of which the reader wants the first.
#pragma once

#include <vector>

#include "warpmill/check.hpp"

namespace wm::vgpu::check {

// Causes first, with the findings that follow from them folded in; each in the order they were found.
std::vector<Finding> fold(std::vector<Finding> findings);
// All of them side by side again.
std::vector<Finding> unfold(const std::vector<Finding>& findings);

}  // namespace wm::vgpu::check
