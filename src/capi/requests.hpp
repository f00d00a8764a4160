// Requests of C as the library's own.
#pragma once

#include <optional>

#include "capi/boundary.hpp"
#include "warpmill/attention.hpp"
#include "warpmill/gemm.hpp"

namespace wm::capi {

GemmRequest gemm_request(const Device& device, const wm_gemm_request* request);
AttentionRequest attention_request(const Device& device, const wm_attention_request* request);

}  // namespace wm::capi
