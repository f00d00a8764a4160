// The GEMM kernel's source for a plan: includes, a template argument, and the caller's own activation.
#include "ops/gemm_kernel.hpp"

#include <utility>

#include <fmt/format.h>

#include "ops/plan_text.hpp"
#include "warpmill/dtype.hpp"

namespace wm::ops {
namespace {

// tf32 is how the tensor cores read f32.
DType operand_type(DType dtype) { return dtype == DType::f32 ? DType::tf32 : dtype; }

// As the kernel's kind names them.
GemmPlan compiled(GemmPlan plan) {
  plan.kind.a = operand_type(plan.kind.a);
  plan.kind.b = operand_type(plan.kind.b);
  return plan;
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
  switch (plan.instruction) {
    case TensorInstruction::mma: return "sm80";
    case TensorInstruction::tcgen05: return "sm100";
    case TensorInstruction::mma_tma: return "sm120";
    case TensorInstruction::wgmma: return plan.pipelining == Pipelining::multistage ? "sm90_multistage" : "sm90";
  }
  return "";
}

}  // namespace

KernelSource gemm_source(const GemmPlan& plan, const std::string& activation) {
  const auto a = name_of(operand_type(plan.kind.a)), b = name_of(operand_type(plan.kind.b));
  const std::string_view kernel = kernel_file_of(plan);
  std::string text;
  if (plan.instruction == TensorInstruction::wgmma)
    text =
        fmt::format("#include \"warpmill/ptx/wgmma_{}.cuh\"\n", a == b ? std::string(a) : fmt::format("{}_{}", a, b));
  if (plan.instruction == TensorInstruction::tcgen05) text = "#include \"warpmill/ptx/tcgen05_access.cuh\"\n";
  text += fmt::format("#include \"warpmill/gemm/{}.cuh\"\n", kernel);
  if (plan.kind.epilogue.activation == Activation::expression)
    text += fmt::format(
        "namespace wm::activation {{\nstruct CallersOwn {{\n  static WM_DEVICE f32 of(f32 x) {{\n    return (\n"
        "#line 1 \"activation\"\n{}\n    );\n  }}\n}};\n}}\n",
        activation);
  return {"gemm.cu", std::move(text),
          fmt::format("wm::gemm_{}<wm::GemmPlan{}, {}>", kernel, cpp_text(compiled(plan)),
                      function_of(plan.kind.epilogue.activation))};
}

}  // namespace wm::ops
