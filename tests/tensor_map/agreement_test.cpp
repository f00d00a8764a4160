// The study itself, on a driver that is known: our own rules, with differences planted.
#include <gtest/gtest.h>

#include "tensor_map/agreement_study.hpp"
#include "tensor_map/rules.hpp"

using namespace wm;
using namespace wm::test;

namespace {
const Architecture hopper{9, 0, true};
bool ours(const TensorMapSpec& spec) { return !tensor_map::first_refusal(spec, hopper); }
}  // namespace

TEST(AgreementStudy, FindsNothingWhereThereIsNothing) {
  const Study result = study(ours, hopper, 20000, 1, 1 << 20);
  EXPECT_EQ(result.maps, 20000);
  EXPECT_EQ(result.we_refuse + result.driver_refuses, 0);
  EXPECT_TRUE(result.disagreements.empty());
  EXPECT_GT(result.both_accept, 8000);
  EXPECT_GT(result.both_refuse, 4000);
}

TEST(AgreementStudy, BreaksEveryEnforcedRuleByItself) {
  const Study result = study(ours, hopper, 20000, 2, 1 << 20);
  for (const auto& rule : tensor_map::rules()) {
    // The shape of the lists is ours alone; on Hopper no packed type gets as far as the rules about them, and no map of
    // pixels along W is asked for, which its driver has no answer to.
    const bool unreachable = rule.id == "architecture" || rule.id == "rank" || rule.id == "lengths" ||
                             rule.id.starts_with("packed-") || rule.id == "blackwell-mode" ||
                             rule.id == "wide-layout" || rule.standing == tensor_map::Standing::noted;
    if (unreachable) continue;
    const auto count = result.rules.find(std::string(rule.id));
    ASSERT_NE(count, result.rules.end()) << rule.id;
    EXPECT_GT(count->second.alone, 0) << rule.id;
  }
}

TEST(AgreementStudy, ShrinksADisagreementToItsCause) {
  const Oracle stricter = [](const TensorMapSpec& spec) {
    return ours(spec) && !(spec.swizzle == Swizzle::b64 && spec.l2_promotion == L2Promotion::b256);
  };
  const Study result = study(stricter, hopper, 3000, 3, 1 << 20);
  ASSERT_GT(result.driver_refuses, 0);
  EXPECT_EQ(result.we_refuse, 0);
  for (const Disagreement& d : result.disagreements) {
    EXPECT_EQ(d.rule, "");
    EXPECT_NE(d.fields.find("swizzle 64B, L2 promotion"), std::string::npos) << d.fields;
    EXPECT_EQ(d.fields.find("element strides"), std::string::npos) << d.fields;
  }
  const Oracle laxer = [](const TensorMapSpec& spec) {
    return ours(spec) || tensor_map::first_refusal(spec, hopper)->rule->id == "pixel-range";
  };
  const Study other = study(laxer, hopper, 3000, 3, 1 << 20);
  ASSERT_EQ(other.disagreements.size(), 1u);
  EXPECT_EQ(other.disagreements[0].rule, "pixel-range");
  EXPECT_EQ(other.disagreements[0].fields, "im2col, pixels");
}

TEST(AgreementStudy, ProbesStartFromLegalMaps) {
  int accepted = 0, asked = 0;
  for (const Probe& probe : probes(1 << 20)) {
    ++asked;
    accepted += ours(probe.spec);
    EXPECT_FALSE(tensor_map::rule("lengths").check(probe.spec, hopper)) << probe.question;
  }
  EXPECT_GT(asked, 300);
  EXPECT_GT(accepted, asked / 3);
}
