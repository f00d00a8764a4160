// Every plan that the ranking may choose compiles without lost speed: no C75xx line, no spill, no stack frame.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "ops/gemm_kernel.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_ranking.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

using namespace wm;

TEST(ShippedPlans, CompileWithoutLostSpeed) {
  const auto plans = plan::candidate_plans(GemmKind{});
  std::atomic<std::size_t> next = 0;
  std::vector<std::string> failures(plans.size());
  const auto work = [&] {
    for (std::size_t i; (i = next++) < plans.size();) try {
        const jit::Program program = ops::compile_gemm(ops::gemm_source(plans[i]), Architecture::parse("sm_90a"), ops::Target::chip);
        if (program.resources.size() != 1) failures[i] = "the compiler said nothing of the kernel's resources";
      } catch (const Error& error) {
        failures[i] = error.what();
      }
  };
  std::thread second(work);
  work();
  second.join();
  for (std::size_t i = 0; i < plans.size(); ++i) EXPECT_EQ(failures[i], "") << plan::text_of(plans[i]);
}
