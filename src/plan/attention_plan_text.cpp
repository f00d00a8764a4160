// Plans of attention as text.
#include "plan/attention_plan_text.hpp"

#include <fmt/format.h>

#include "plan/words.hpp"
#include "warpmill/error.hpp"

namespace wm::plan {

std::string text_of(const AttentionPlan& p) {
  return fmt::format("{}x{} s{}{} o{}{}", p.rows(), p.keys, p.stages,
                     p.q_stages > 1 ? fmt::format(" q{}", p.q_stages) : "", p.strips, p.turns ? "" : " noturns") +
         (p.early ? " early" : "") + (p.packed > 0 ? fmt::format(" packed{}", p.packed) : "") +
         (p.tensor_memory() ? " tcgen05" : "") + (p.pair ? " pair" : "") +
         (p.tensor_memory() ? fmt::format(" fma{}", p.fma_pairs) : "") +
         (p.tiles == TileSource::claims  ? " claim"
          : p.tiles == TileSource::share ? " share"
                                         : "");
}

AttentionPlan attention_plan_from_text(std::string_view text, const AttentionKind& kind) {
  AttentionPlan plan{.kind = kind, .keys = 0};
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}; write a plan like '128x176 s2 o1' or '192x128 s2 q2 o2', packed4, noturns, "
                            "early, pair or tcgen05 (with fma3, claim or share) "
                            "after it or not (in '{}')",
                            why, text));
  };
  int queries = 0;
  for (const std::string_view word : words_of(text)) {
    const auto count = natural(word.substr(1));
    if (const auto tile = pair(word)) {
      queries = tile->first;
      plan.keys = tile->second;
    } else if (word[0] == 's' && count) {
      plan.stages = *count;
    } else if (word[0] == 'q' && count) {
      plan.q_stages = *count;
    } else if (word[0] == 'o' && (count || word == "o0")) {
      plan.strips = count.value_or(0);
    } else if (const auto packed = word.starts_with("packed") ? natural(word.substr(6)) : std::nullopt) {
      plan.packed = *packed;
    } else if (const auto pairs = word.starts_with("fma") ? natural(word.substr(3)) : std::nullopt;
               pairs || word == "fma0") {
      plan.fma_pairs = pairs.value_or(0);
    } else if (word == "claim") {
      plan.tiles = TileSource::claims;
    } else if (word == "share") {
      plan.tiles = TileSource::share;
    } else if (word == "pair") {
      plan.pair = true;
    } else if (word == "tcgen05") {
      plan.instruction = TensorInstruction::tcgen05;
    } else if (word == "early") {
      plan.early = true;
    } else if (word == "noturns") {
      plan.turns = false;
    } else {
      refuse(fmt::format("'{}' is no part of a plan", word));
    }
  }
  if (plan.keys == 0) refuse("a plan has a tile");
  const int of_each = plan.group_rows() * plan.blocks_together();
  if (queries % of_each) refuse(fmt::format("a tile has a multiple of {} queries", of_each));
  plan.groups = queries / of_each;
  return plan;
}

}  // namespace wm::plan
