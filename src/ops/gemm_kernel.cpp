// The GEMM kernel's source for a plan: includes, a template argument, and the caller's own activation.
#include "ops/gemm_kernel.hpp"

#include <fmt/format.h>

#include "warpmill/dtype.hpp"

namespace wm::ops {
namespace {

// tf32 is how the tensor cores read f32.
DType operand_type(DType dtype) { return dtype == DType::f32 ? DType::tf32 : dtype; }

std::string text_of(const EpilogueFacts& e) {
  return fmt::format(
      "{{.alpha = {}, .residual = {}, .row_scale = {}, .column_scale = {}, .row_bias = {}, .column_bias = {}, .amax = "
      "{}, "
      ".d_scale = {}, .activation = wm::Activation({}), .c = wm::DType::{}, .bias = wm::DType::{}}}",
      e.alpha, e.residual, e.row_scale, e.column_scale, e.row_bias, e.column_bias, e.amax, e.d_scale,
      static_cast<int>(e.activation), name_of(e.c), name_of(e.bias));
}

std::string text_of(const GemmKind& k) {
  return fmt::format(
      "{{.a = wm::DType::{}, .b = wm::DType::{}, .d = wm::DType::{}, .a_major = wm::Major({}), .b_major = "
      "wm::Major({}), "
      ".d_columns = {}, .a_producer = wm::Producer({}), .b_producer = wm::Producer({}), .d_scattered = {}, "
      ".promote = {}, .listed = {}, .epilogue = {}}}",
      name_of(operand_type(k.a)), name_of(operand_type(k.b)), name_of(k.d), static_cast<int>(k.a_major),
      static_cast<int>(k.b_major), k.d_columns, static_cast<int>(k.a_producer), static_cast<int>(k.b_producer),
      k.d_scattered, k.promote, k.listed, text_of(k.epilogue));
}

std::string_view function_of(Activation activation) {
  switch (activation) {
    case Activation::none: return "wm::activation::None";
    case Activation::relu: return "wm::activation::Relu";
    case Activation::gelu_tanh: return "wm::activation::GeluTanh";
    case Activation::gelu_erf: return "wm::activation::GeluErf";
    case Activation::silu: return "wm::activation::Silu";
    case Activation::expression: return "wm::activation::CallersOwn";
  }
  return "";
}

// The kernel's file in kernels/warpmill/gemm/, and its name after "gemm_".
std::string_view kernel_file_of(const GemmPlan& plan) {
  if (!plan.wgmma()) return "sm80";
  return plan.pipelining == Pipelining::multistage ? "sm90_multistage" : "sm90";
}

}  // namespace

GemmSource gemm_source(const GemmPlan& plan, const std::string& activation) {
  const auto a = name_of(operand_type(plan.kind.a)), b = name_of(operand_type(plan.kind.b));
  const std::string_view kernel = kernel_file_of(plan);
  std::string text;
  if (plan.wgmma())
    text =
        fmt::format("#include \"warpmill/ptx/wgmma_{}.cuh\"\n", a == b ? std::string(a) : fmt::format("{}_{}", a, b));
  text += fmt::format("#include \"warpmill/gemm/{}.cuh\"\n", kernel);
  if (plan.kind.epilogue.activation == Activation::expression)
    text += fmt::format(
        "namespace wm::activation {{\nstruct CallersOwn {{\n  static WM_DEVICE f32 of(f32 x) {{\n"
        "#line 1 \"activation\"\n    return {};\n  }}\n}};\n}}\n",
        activation);
  return {std::move(text),
          fmt::format("wm::gemm_{}<wm::GemmPlan{{.kind = {}, .instruction = wm::TensorInstruction({}), "
                      ".pipelining = wm::Pipelining({}), .tile = {{{}, {}}}, "
                      ".stages = {}, .cluster = {{{}, {}, {}}}, .multiply_groups = {}, .split = {}}}, {}>",
                      kernel, text_of(plan.kind), static_cast<int>(plan.instruction), static_cast<int>(plan.pipelining),
                      plan.tile.m, plan.tile.n, plan.stages, plan.cluster.m, plan.cluster.n, plan.cluster.k,
                      plan.multiply_groups, plan.split, function_of(plan.kind.epilogue.activation))};
}

jit::Program compile_gemm(const GemmSource& source, const Architecture& arch, Target target) {
  return jit::compile(
      {"gemm.cu", source.text},
      {.arch = arch, .name_expressions = {source.expression}, .line_table = target == Target::virtual_gpu});
}

}  // namespace wm::ops
