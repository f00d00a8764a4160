// A plan's list of fields is complete, and its text is the plan: a field that was forgotten would be compiled as its
// default.
#include "ops/plan_text.hpp"

#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "ops/gemm_kernel.hpp"
#include "warpmill/error.hpp"

namespace wm::ops {
namespace {

// Stands for a member of any type.
struct Anything {
  template <class T>
  constexpr operator T() const;
};

// How many members an aggregate has: as many as it can be made from, each in braces of its own or not.
template <class T, class... Members>
constexpr int members() {
  if constexpr (requires { T{Members{}..., Anything{}}; })
    return members<T, Members..., Anything>();
  else
    return sizeof...(Members);
}

template <class T>
int listed() {
  std::set<std::string_view> names;
  int count = 0;
  const auto visit = [&](std::string_view name, const auto&) { names.insert(name), ++count; };
  const T value{};
  T::each_field(value, visit);
  if constexpr (requires { T::each_host_field(value, visit); }) T::each_host_field(value, visit);
  EXPECT_EQ(names.size(), static_cast<std::size_t>(count)) << "a name comes twice";
  return count;
}

// Another value than `field` has.
void change(bool& field) { field = !field; }
void change(int& field) { ++field; }
template <class T>
requires std::is_enum_v<T>
void change(T& field) { field = static_cast<T>(static_cast<int>(field) + 1); }

// Each field of `plan` and of the structs in it, changed one after the other.
template <class Plan, class Part, class Check>
void change_each(Plan& plan, Part& part, const Check& check) {
  Part::each_field(part, [&](std::string_view name, auto& field) {
    if constexpr (requires { field.each_field(field, [](auto...) {}); }) {
      change_each(plan, field, check);
    } else {
      const auto before = field;
      change(field);
      check(name);
      field = before;
    }
  });
}

}  // namespace

TEST(PlanText, ListsEveryFieldOfEveryStruct) {
  EXPECT_EQ(listed<GemmPlan>(), members<GemmPlan>());
  EXPECT_EQ(listed<GemmKind>(), members<GemmKind>());
  EXPECT_EQ(listed<EpilogueFacts>(), members<EpilogueFacts>());
  EXPECT_EQ(listed<TileShape>(), members<TileShape>());
  EXPECT_EQ(listed<ClusterShape>(), members<ClusterShape>());
  EXPECT_EQ(listed<AttentionPlan>(), members<AttentionPlan>());
  EXPECT_EQ(listed<AttentionKind>(), members<AttentionKind>());
  EXPECT_EQ(listed<MaskFacts>(), members<MaskFacts>());
}

TEST(PlanText, IsTheDesignatedInitialiser) {
  GemmPlan plan{.tile = {128, 96}, .stages = 5};
  plan.kind.b_major = Major::mn;
  const std::string text = cpp_text(plan);
  EXPECT_NE(text.find(".tile = {.m = 128, .n = 96}, .stages = 5,"), std::string::npos) << text;
  EXPECT_NE(text.find(".b_major = wm::Major(1)"), std::string::npos) << text;
  EXPECT_EQ(text.find("band"), std::string::npos) << text;
}

TEST(PlanText, ChangesWithEveryFieldThatIsCompiledAndWithNoOther) {
  GemmPlan plan;
  const std::string plain = cpp_text(plan);
  change_each(plan, plan, [&](std::string_view name) { EXPECT_NE(cpp_text(plan), plain) << name; });
  AttentionPlan attention;
  const std::string plain_attention = cpp_text(attention);
  change_each(attention, attention,
              [&](std::string_view name) { EXPECT_NE(cpp_text(attention), plain_attention) << name; });
  GemmPlan::each_host_field(plan, [](std::string_view, auto& field) { change(field); });
  EXPECT_EQ(cpp_text(plan), plain);
}

}  // namespace wm::ops
