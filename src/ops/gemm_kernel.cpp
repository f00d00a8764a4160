// The GEMM kernel's source for a plan: one include and a template argument.
#include "ops/gemm_kernel.hpp"

#include <fmt/format.h>

namespace wm::ops {

std::string expression(const GemmPlan& plan) {
  return fmt::format(
      "wm::gemm_sm90<wm::GemmPlan{{.tile = {{{}, {}, {}}}, .stages = {}, .cluster = {{{}, {}}}, .multiply_groups = {}, "
      ".load_registers = {}, .multiply_registers = {}}}>",
      plan.tile.m, plan.tile.n, plan.tile.k, plan.stages, plan.cluster.m, plan.cluster.n, plan.multiply_groups,
      plan.load_registers, plan.multiply_registers);
}

jit::Program compile_gemm(const GemmPlan& plan, const Architecture& arch, Target target) {
  return jit::compile({"gemm_sm90.cu", "#include \"warpmill/gemm/sm90.cuh\"\n"},
                      {.arch = arch,
                       .name_expressions = {expression(plan)},
                       .line_table = target == Target::virtual_gpu,
                       .shipped = target == Target::chip});
}

}  // namespace wm::ops
