// Shapes and variants of products as the command line gives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gemm/random_product.hpp"

namespace wm::cli {

struct GemmCommand;

// "4096x4096x4096"; without a type of D, the one that goes with the operands.
bench::Shape shape_from(std::string_view text, std::string_view dtype, std::string_view out_dtype = "");
// Without any shape, the project's table.
std::vector<bench::Shape> shapes_to_measure(const std::vector<std::string>& texts, std::string_view dtype);
// Before anything else is done, these refuse products that the library does not serve, or that have no elements, and
// what is no plan of theirs.
void check_shapes(const std::vector<bench::Shape>& shapes, const bench::Variant& variant = {});
void check_plans(const std::vector<std::string>& texts, const std::vector<bench::Shape>& shapes = {},
                 const bench::Variant& variant = {});

Major major_from(std::string_view text);  // k or mn
// "bias,row-scale,residual": the parts of an epilogue, and an activation's name or a C++ expression of x.
EpilogueFacts epilogue_from(const std::vector<std::string>& parts, std::string_view activation, bool expression);

// A product's kind as the library would find it on this device with dense operands, without any memory of their size.
GemmKind kind_of(const Device& device, const bench::Shape& shape, const bench::Variant& variant = {});

// A command's product: what is multiplied, how it lies, and the request with its plan.
bench::Shape shape_of(const GemmCommand& command);
bench::Variant variant_of(const GemmCommand& command);
GemmRequest request_of(const Stream& stream, const bench::RandomProduct& product, std::string_view plan);

std::string text_of(const bench::Shape& shape);  // "4096 x 4096 x 4096, e4m3 to bf16"

inline constexpr std::string_view nothing_to_do = "nothing to do: D has no elements";
constexpr std::string_view origin_of(bool tuned) { return tuned ? "measured before" : "by the model"; }  // of a plan

}  // namespace wm::cli
