// Every plan that the ranking or the shipped table may choose compiles without lost speed: no C75xx line, no spill, no stack frame.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "ops/gemm_kernel.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_ranking.hpp"
#include "plan/tuned_plans.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

using namespace wm;

TEST(ShippedPlans, CompileWithoutLostSpeed) {
  auto plans = plan::candidate_plans(GemmKind{});
  std::vector<std::string> problems;
  for (const plan::TunedPlan& tuned : plan::TunedPlans::from_text(plan::shipped_plans_text(), "", problems).entries())
    plans.push_back(plan::plan_from_text(tuned.plan, tuned.key.kind()));
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
