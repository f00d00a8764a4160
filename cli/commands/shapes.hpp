// Shapes and variants of products as the command line gives them.
#pragma once

#include <string>
#include <vector>

#include "gemm/random_product.hpp"

namespace wm::cli {

// "4096x4096x4096"; without a type of D, the one that goes with the operands.
bench::Shape shape_from(std::string_view text, std::string_view dtype, std::string_view out_dtype = "");
// Of each type; without any shape, the project's table.
std::vector<bench::Shape> shapes_from(const std::vector<std::string>& texts, std::string_view dtype);

Major major_from(std::string_view text);  // k or mn
// "bias,row-scale,residual": the parts of an epilogue, and an activation's name or a C++ expression of x.
EpilogueFacts epilogue_from(const std::vector<std::string>& parts, std::string_view activation, bool expression);

std::string text_of(const bench::Shape& shape);  // "4096 x 4096 x 4096, e4m3 to bf16"

}  // namespace wm::cli
