// The attention kernel's source: includes, a template argument, and the caller's own expressions.
#include "ops/attention_kernel.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "ops/expression.hpp"
#include "ops/plan_text.hpp"
#include "warpmill/dtype.hpp"

namespace wm::ops {
namespace {

struct Named {
  const char* name;  // of the function, and what lines of the expression are called by the compiler
  const std::string& text;
  const char *type, *parameters;
};
std::array<Named, 4> expressions_of(const AttentionText& text) {
  constexpr const char* of_step = "const i32 q_first, const i32 q_last, const i32 k_first, const i32 k_last";
  return {{{"score", text.score, "f32", "const f32 score, const i32 q, const i32 k"},
           {"mask", text.mask, "bool", "const i32 q, const i32 k"},
           {"skip", text.skip, "bool", of_step},
           {"whole", text.whole, "bool", of_step}}};
}

std::string functions_of(const AttentionText& text) {
  std::string names =
      "    [[maybe_unused]] const i32 head = tile.head, batch = tile.sequence.number, queries = "
      "tile.sequence.queries,\n"
      "                               keys = tile.sequence.keys;\n";
  for (std::size_t i = 0; i < text.arrays.size(); ++i)
    names += fmt::format("    [[maybe_unused]] const auto* const {} = reinterpret_cast<const {}*>(args.arrays[{}]);\n",
                         text.arrays[i].name, name_of(text.arrays[i].dtype), i);
  std::string functions;
  for (const Named& each : expressions_of(text))
    if (!each.text.empty())
      functions += fmt::format(
          "  static WM_DEVICE {} {}(const AttentionArguments& args, {}, const Tile<plan>& tile) {{\n{}    return (\n{}"
          "#line 1 \"attention.cu\"\n    );\n  }}\n",
          each.type, each.name, each.parameters, names, by_columns(each.text, each.name));
  if (functions.empty()) return "";
  return fmt::format("namespace wm {{\ntemplate <AttentionPlan plan>\nstruct CallersOwn {{\n{}}};\n}}\n", functions);
}

}  // namespace

KernelSource attention_source(const AttentionPlan& plan, const AttentionText& text) {
  const auto include = [](std::string_view header) { return fmt::format("#include \"warpmill/{}.cuh\"\n", header); };
  std::string includes =
      include(plan.tensor_memory() ? "ptx/tcgen05_access" : fmt::format("ptx/wgmma_{}", name_of(plan.kind.element)));
  if (plan.bias_by_product() && plan.kind.element != DType::bf16) includes += include("ptx/wgmma_bf16");
  const std::string_view kernel = plan.tensor_memory() ? "sm100" : "sm90";
  return {"attention.cu", includes + include(fmt::format("attention/{}", kernel)) + functions_of(text),
          fmt::format("wm::attention_{}<wm::AttentionPlan{}>", kernel, cpp_text(plan.compiled()))};
}

std::string expression_error(const AttentionText& text, std::string_view log) {
  for (const Named& each : expressions_of(text))
    if (!each.text.empty())
      if (const std::string words = error_by_column(log, each.name); !words.empty())
        return fmt::format("the {} '{}' does not compile, {}", each.name, each.text, words);
  return "";
}

}  // namespace wm::ops
