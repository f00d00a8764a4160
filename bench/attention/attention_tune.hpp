// The fastest plan for an attention, found by measuring all that are shipped against each other.
#pragma once

#include <optional>

#include "attention/random_attention.hpp"
#include "gemm/gemm_tune.hpp"

namespace wm::bench {

// Needs a GPU. Every candidate's result is checked on samples; a wrong one is left out. Nothing where all were.
std::optional<plan::TunedAttention> tune_attention(const Device& device, const AttentionCase& attention,
                                                   const TuneOptions& options);

}  // namespace wm::bench
