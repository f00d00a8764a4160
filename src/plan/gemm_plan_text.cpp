// Plans as text.
#include "plan/gemm_plan_text.hpp"

#include <optional>

#include <fmt/format.h>

#include "plan/words.hpp"
#include "warpmill/error.hpp"

namespace wm::plan {
namespace {

// "2x1", or with a third number "1x1x2".
std::optional<ClusterShape> cluster_from(std::string_view text) {
  const std::size_t x = text.find('x'), second_x = text.find('x', x + 1);
  const auto sizes = pair(text.substr(0, second_x));
  const auto k = second_x == std::string_view::npos ? std::optional(1) : natural(text.substr(second_x + 1));
  return sizes && k ? std::optional(ClusterShape{sizes->first, sizes->second, *k}) : std::nullopt;
}

}  // namespace

std::string text_of(const GemmPlan& p) {
  std::string text = fmt::format("{}x{} s{} c{}x{}", p.tile.m, p.tile.n, p.stages, p.cluster.m, p.cluster.n);
  if (p.cluster.k > 1) text += fmt::format("x{}", p.cluster.k);
  if (p.multiply_groups != 2) text += fmt::format(" g{}", p.multiply_groups);
  if (p.pipelining == Pipelining::pingpong) text += " pingpong";
  if (p.instruction == TensorInstruction::tcgen05) text += p.pair ? " pair" : " tcgen05";
  if (p.instruction == TensorInstruction::mma_tma) text += " mma-tma";
  if (p.pipelining == Pipelining::multistage) text += p.instruction == TensorInstruction::mma ? " mma" : " multistage";
  if (p.claim) text += " claim";
  if (p.split) text += p.pieces > 0 ? fmt::format(" split{}", p.pieces) : " split";
  if (p.spread) text += " spread";
  if (p.exchange) text += " exchange";
  if (p.band > 0) text += fmt::format(" b{}", p.band);
  return text;
}

GemmPlan plan_from_text(std::string_view text, const GemmKind& kind) {
  GemmPlan plan{.tile = {0, 0}, .stages = 0, .cluster = {1, 1}};
  for (const std::string_view word : words_of(text)) {
    const auto tile = pair(word);
    const auto cluster = word[0] == 'c' ? cluster_from(word.substr(1)) : std::nullopt;
    const auto count = natural(word.substr(1));
    if (tile) {
      plan.tile = {tile->first, tile->second};
    } else if (cluster) {
      plan.cluster = *cluster;
    } else if (word[0] == 's' && count) {
      plan.stages = *count;
    } else if (word[0] == 'b' && count) {
      plan.band = *count;
    } else if (word[0] == 'g' && count) {
      plan.multiply_groups = *count;
    } else if (word == "pingpong") {
      plan.pipelining = Pipelining::pingpong;
    } else if (word == "multistage") {
      plan.pipelining = Pipelining::multistage;
    } else if (word == "mma") {
      plan.pipelining = Pipelining::multistage;
      plan.instruction = TensorInstruction::mma;
    } else if (word == "mma-tma") {
      plan.instruction = TensorInstruction::mma_tma;
    } else if (word == "tcgen05" || word == "pair") {
      plan.instruction = TensorInstruction::tcgen05;
      plan.pair = word == "pair";
    } else if (word == "claim") {
      plan.claim = true;
    } else if (word == "split") {
      plan.split = true;
    } else if (word.starts_with("split") && natural(word.substr(5))) {
      plan.split = true;
      plan.pieces = *natural(word.substr(5));
    } else if (word == "spread") {
      plan.spread = true;
    } else if (word == "exchange") {
      plan.exchange = true;
    } else {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format(
              "'{}' is no part of a plan; write it like '128x256 s4 c2x1', with g1, pingpong, "
              "multistage, mma, mma-tma, tcgen05, pair, claim, split (or split2, split3, ...), spread, exchange or b8 "
              "(a band) after it (in "
              "'{}')",
              word, text));
    }
  }
  if (plan.tile.m == 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the plan '{}' has no tile; write it like '128x256 s4 c2x1'", text));
  plan.kind = plan.exchange ? kind.transposed() : kind;
  if (!plan.facts().copy_engine) plan.kind = plan.kind.without_tma();
  return plan.stages == 0 ? plan.with_most_stages() : plan;
}

GemmShape shape_from_text(std::string_view text) {
  const auto sizes = sizes_from<3>(text);
  if (!sizes)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is no shape; write it as MxNxK, for example 4096x4096x4096", text));
  return {(*sizes)[0], (*sizes)[1], (*sizes)[2]};
}

}  // namespace wm::plan
