// How many instructions a product takes on the virtual GPU, told before it runs.
#pragma once

#include <cstdint>

#include "gemm/random_product.hpp"

namespace wm::bench {

// Warp instructions of the product, about: those of two small parts of it, one tile each, scaled up. The parts are run,
// so D is poisoned anew.
std::uint64_t expected_instructions(const Stream& stream, const RandomProduct& problem,
                                    const std::optional<GemmPlan>& by_hand);

}  // namespace wm::bench
