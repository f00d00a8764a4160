// Encoding through the CUDA driver, given its two functions.
#pragma once

#include <cuda.h>

#include "warpmill/tensor_map.hpp"

namespace wm::tensor_map {

struct DriverFunctions {
  decltype(&cuTensorMapEncodeTiled) encode_tiled = nullptr;
  decltype(&cuTensorMapEncodeIm2col) encode_im2col = nullptr;
  decltype(&cuTensorMapEncodeIm2colWide) encode_im2col_wide = nullptr;  // of drivers for CUDA 12.8 and later
};

// The driver's answer, nothing checked but that lists have the lengths the rank says.
CUresult ask_driver(const DriverFunctions& driver, const TensorMapSpec& spec, TensorMap& map);

// For specs that passed check(): a refusal by the driver is then a disagreement with our rules, and says so.
TensorMap encode_with_driver(const DriverFunctions& driver, const TensorMapSpec& spec);

}  // namespace wm::tensor_map
