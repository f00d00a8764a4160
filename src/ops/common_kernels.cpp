// Which kernels are compiled ahead.
#include "ops/common_kernels.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "jit/ahead.hpp"
#include "ops/attention_kernel.hpp"
#include "plan/attention_choice.hpp"

namespace wm::ops {

std::vector<KernelSource> common_kernels() {
  constexpr std::int64_t tokens = 16384;
  // Not the builder's own measurements: what the library takes wherever it is used.
  std::vector<std::string> problems;
  const auto tuned = plan::TunedPlans::from_text(plan::shipped_plans_text(), "", problems);
  std::vector<KernelSource> kernels;
  std::vector<std::string> seen;
  for (const DType element : {DType::bf16, DType::f16})
    for (const auto& [head_dim, value_dim] : {std::pair{64, 64}, {128, 128}, {192, 128}, {256, 256}})
      for (const bool causal : {false, true})
        for (std::int64_t length = 512; length <= tokens; length *= 2) {
          const AttentionKind kind{
              .element = element, .head_dim = head_dim, .value_dim = value_dim, .mask = {.right = causal}};
          const std::int64_t heads = 2048 / head_dim;
          const plan::AttentionShape shape{
              .batch = tokens / length, .heads = heads, .kv_heads = heads, .queries = length, .keys = length};
          const auto choice = plan::choose(kind, shape, {}, "NVIDIA H200", tuned);
          if (!choice) continue;
          KernelSource source = attention_source(choice->plan);
          if (std::find(seen.begin(), seen.end(), source.expression) != seen.end()) continue;
          seen.push_back(source.expression);
          kernels.push_back(std::move(source));
        }
  return kernels;
}

std::size_t compile_common_kernels(const std::filesystem::path& folder) {
  const std::vector<KernelSource> kernels = common_kernels();
  std::vector<std::filesystem::path> files(kernels.size());
  std::atomic<std::size_t> next = 0, compiled = 0;
  std::mutex mutex;
  std::exception_ptr problem;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < kernels.size();) try {
        const jit::Ahead ahead =
            jit::compile_ahead({kernels[i].file, kernels[i].text},
                               options_of(kernels[i], Architecture::parse("sm_90a"), Target::chip), folder);
        compiled += ahead.compiled;
        files[i] = ahead.file;
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
