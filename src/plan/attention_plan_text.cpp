// Plans of attention as text.
#include "plan/attention_plan_text.hpp"

#include <fmt/format.h>

#include "plan/words.hpp"
#include "warpmill/error.hpp"

namespace wm::plan {

std::string text_of(const AttentionPlan& p) {
  return fmt::format("{}x{} s{} o{}{}", p.rows(), p.keys, p.stages, p.strips, p.turns ? "" : " noturns") +
         (p.packed > 0 ? fmt::format(" packed{}", p.packed) : "");
}

AttentionPlan attention_plan_from_text(std::string_view text, const AttentionKind& kind) {
  AttentionPlan plan{.kind = kind, .keys = 0};
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}; write a plan like '128x176 s2 o1', packed4 or noturns after it or "
                            "not (in '{}')",
                            why, text));
  };
  for (const std::string_view word : words_of(text)) {
    const auto count = natural(word.substr(1));
    if (const auto tile = pair(word)) {
      if (tile->first % AttentionPlan::wgmma_rows)
        refuse(fmt::format("a tile has a multiple of {} queries", AttentionPlan::wgmma_rows));
      plan.groups = tile->first / AttentionPlan::wgmma_rows;
      plan.keys = tile->second;
    } else if (word[0] == 's' && count) {
      plan.stages = *count;
    } else if (word[0] == 'o' && (count || word == "o0")) {
      plan.strips = count.value_or(0);
    } else if (const auto packed = word.starts_with("packed") ? natural(word.substr(6)) : std::nullopt) {
      plan.packed = *packed;
    } else if (word == "noturns") {
      plan.turns = false;
    } else {
      refuse(fmt::format("'{}' is no part of a plan", word));
    }
  }
  if (plan.keys == 0) refuse("a plan has a tile");
  return plan;
}

}  // namespace wm::plan
