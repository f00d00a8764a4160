// Words of the command line to shapes, types and epilogues.
#include "commands/shapes.hpp"

#include <array>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "gemm/gemm_bench.hpp"
#include "ops/gemm_aligned.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

// The value that stands beside `name`; refused with all names where there is none.
template <class T, std::size_t count>
T named(const std::array<std::pair<std::string_view, T>, count>& table, std::string_view what, std::string_view name) {
  std::string names;
  for (const auto& [known, value] : table) {
    if (known == name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known);
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("'{}' is no {}; there are {}", name, what, names));
}

}  // namespace

bench::Shape shape_from(std::string_view text, std::string_view dtype, std::string_view out_dtype) {
  const plan::GemmShape sizes = plan::shape_from_text(text);
  const DType operands = dtype_from_name(dtype);
  return {sizes.m, sizes.n, sizes.k, operands,
          out_dtype.empty() ? bench::usual_output(operands) : dtype_from_name(out_dtype)};
}

std::vector<bench::Shape> shapes_to_measure(const std::vector<std::string>& texts, std::string_view dtype) {
  std::vector<bench::Shape> shapes;
  for (const std::string& text : texts) shapes.push_back(shape_from(text, dtype));
  if (texts.empty()) {
    shapes = bench::gemm_shapes();
    for (bench::Shape& shape : shapes) shape.d = bench::usual_output(shape.operands = dtype_from_name(dtype));
  }
  return shapes;
}

void check_shapes(const std::vector<bench::Shape>& shapes, const bench::Variant& variant) {
  const Device device = Device::open("virtual");  // serves what any chip does
  for (const bench::Shape& shape : shapes) {
    kind_of(device, shape, variant);
    if (shape.empty())
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: nothing to measure, D is empty", text_of(shape)));
  }
}

void check_plans(const std::vector<std::string>& texts, const std::vector<bench::Shape>& shapes,
                 const bench::Variant& variant) {
  for (const std::string& text : texts) {
    plan::plan_from_text(text);
    for (const bench::Shape& shape : shapes)
      if (const char* problem =
              plan::plan_from_text(text,
                                   {.a = shape.operands, .b = shape.operands, .d = shape.d, .promote = variant.promote})
                  .problem())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the plan '{}' is impossible for {}: {}", text, text_of(shape), problem));
  }
}

Major major_from(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, Major>, 2> majors{{{"k", Major::k}, {"mn", Major::mn}}};
  return named(majors, "major-ness", text);
}

EpilogueFacts epilogue_from(const std::vector<std::string>& parts, std::string_view activation, bool expression) {
  static constexpr std::array<std::pair<std::string_view, bool EpilogueFacts::*>, 9> facts{
      {{"alpha", &EpilogueFacts::alpha},
       {"residual", &EpilogueFacts::residual},
       {"row-scale", &EpilogueFacts::row_scale},
       {"column-scale", &EpilogueFacts::column_scale},
       {"row-bias", &EpilogueFacts::row_bias},
       {"column-bias", &EpilogueFacts::column_bias},
       {"bias", &EpilogueFacts::column_bias},
       {"amax", &EpilogueFacts::amax},
       {"d-scale", &EpilogueFacts::d_scale}}};
  static constexpr std::array<std::pair<std::string_view, Activation>, 5> activations{
      {{"none", Activation::none},
       {"relu", Activation::relu},
       {"gelu", Activation::gelu_tanh},
       {"gelu-erf", Activation::gelu_erf},
       {"silu", Activation::silu}}};
  EpilogueFacts epilogue;
  for (const std::string& part : parts) epilogue.*named(facts, "part of an epilogue", part) = true;
  epilogue.activation = named(activations, "activation", activation);
  if (expression && epilogue.activation != Activation::none)
    throw Error(ErrorCode::invalid_argument, "give an activation or an expression, not both");
  if (expression) epilogue.activation = Activation::expression;
  return epilogue;
}

GemmKind kind_of(const Device& device, const bench::Shape& shape, const bench::Variant& variant) {
  const auto request = bench::imagined_request(device, shape, variant);
  return ops::kind_to_run(ops::understand(Stream(device), request, plan::instruction_of(device.info().arch)));
}

bench::Shape shape_of(const GemmCommand& command) {
  bench::Shape shape = shape_from(command.shape, command.dtype, command.out_dtype);
  shape.batch = command.batch;
  return shape;
}

bench::Variant variant_of(const GemmCommand& command) {
  return {.a_major = major_from(command.a_major),
          .b_major = major_from(command.b_major),
          .epilogue = epilogue_from(command.epilogue, command.activation, !command.expression.empty()),
          .expression = command.expression,
          .promote = command.promote};
}

GemmRequest request_of(const Stream& stream, const bench::RandomProduct& product, std::string_view plan) {
  GemmRequest request = product.request();
  if (!plan.empty())
    request.plan = plan::plan_from_text(
        plan, ops::understand(stream, request, plan::instruction_of(stream.device().info().arch)).kind);
  return request;
}

std::string text_of(const bench::Shape& shape) {
  return fmt::format("{}{} x {} x {}, {}{}", shape.batch == 1 ? "" : fmt::format("{} times ", shape.batch), shape.m,
                     shape.n, shape.k, name_of(shape.operands),
                     shape.operands == shape.d ? "" : fmt::format(" to {}", name_of(shape.d)));
}

}  // namespace wm::cli
