// The attention kernel's source: includes, and a template argument.
#include "ops/attention_kernel.hpp"

#include <fmt/format.h>

#include "ops/plan_text.hpp"
#include "warpmill/dtype.hpp"

namespace wm::ops {

KernelSource attention_source(const AttentionPlan& plan) {
  return {"attention.cu",
          fmt::format("#include \"warpmill/ptx/wgmma_{}.cuh\"\n#include \"warpmill/attention/sm90.cuh\"\n",
                      name_of(plan.kind.element)),
          fmt::format("wm::attention_sm90<wm::AttentionPlan{}>", cpp_text(plan))};
}

}  // namespace wm::ops
