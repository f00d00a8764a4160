// Which kernels are compiled ahead.
#include "ops/common_kernels.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "jit/ahead.hpp"
#include "ops/attention_kernel.hpp"
#include "plan/attention_choice.hpp"

namespace wm::ops {

// The compiler's time follows the registers that scores, weights and sums take: 0.37 s for 80, 0.45 s for 104, 0.57 s
// for 128, 0.9 s for 196, and up to 0.15 s more with a window, softcap and sequences; a server's core takes 1.3 of
// that.
bool compiles_quickly(const AttentionPlan& plan) { return plan.held_registers() <= 104; }

std::vector<KernelSource> common_kernels() {
  std::vector<KernelSource> kernels;
  const auto take = [&](const AttentionPlan& plan) {
    if (!compiles_quickly(plan)) kernels.push_back(attention_source(plan));
  };
  const MaskFacts none, right{.right = true}, both{.right = true, .left = true};
  for (const bool softcap : {false, true})
    for (const MaskFacts& mask : {none, right, both})
      for (const DType element : {DType::bf16, DType::f16})
        for (const auto& [head_dim, value_dim] : {std::pair{64, 64}, {128, 128}, {192, 128}, {256, 256}}) {
          AttentionKind kind{.element = element,
                             .head_dim = head_dim,
                             .value_dim = value_dim,
                             .mask = mask,
                             .softcap = softcap,
                             .low_cap = softcap};
          for (const bool lengths : {false, true})
            for (const std::int64_t heads_together : {2, 64}) {  // they fill one group's rows, or two groups'
              kind.lengths = lengths;
              if (const auto plan = plan::packed_plan(kind, 2, heads_together)) take(*plan);
            }
          kind.lengths = false;
          for (const bool sequences : {false, true})
            for (const bool few_queries : {false, true}) {
              kind.sequences = sequences;
              for (const AttentionPlan& plan : plan::candidates(kind, few_queries)) take(plan);
            }
        }
  // Of e4m3 the plain ones.
  for (const MaskFacts& mask : {none, right})
    for (const int dim : {64, 128, 256})
      for (const bool few_queries : {false, true}) {
        const AttentionKind kind{.element = DType::e4m3, .head_dim = dim, .value_dim = dim, .mask = mask};
        for (const AttentionPlan& plan : plan::candidates(kind, few_queries)) take(plan);
      }
  return kernels;
}

std::size_t compile_common_kernels(const std::filesystem::path& folder,
                                   const std::function<void(std::size_t done, std::size_t total)>& tell) {
  const std::vector<KernelSource> kernels = common_kernels();
  std::vector<std::filesystem::path> files(kernels.size());
  std::size_t next = 0, done = 0, compiled = 0;
  std::mutex mutex;
  std::exception_ptr problem;
  const auto take = [&](std::size_t& i) {
    const std::lock_guard lock(mutex);
    return (i = next++) < kernels.size();
  };
  const auto work = [&] {
    for (std::size_t i; take(i);) try {
        const jit::Ahead ahead =
            jit::compile_ahead({kernels[i].file, kernels[i].text},
                               options_of(kernels[i], Architecture::parse("sm_90a"), Target::chip), folder);
        const std::lock_guard lock(mutex);
        files[i] = ahead.file;
        compiled += ahead.compiled;
        tell(++done, kernels.size());
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!problem) problem = std::current_exception();
        next = kernels.size();
      }
  };
  {
    std::vector<std::jthread> others(std::max(1u, std::thread::hardware_concurrency()) - 1);
    for (std::jthread& other : others) other = std::jthread(work);
    work();
  }
  if (problem) std::rethrow_exception(problem);
  jit::keep_only(folder, files);
  return compiled;
}

}  // namespace wm::ops
