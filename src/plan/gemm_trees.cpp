// Trees to text and back, and their answers.
#include "plan/gemm_trees.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "common/numbers.hpp"
#include "warpmill/error.hpp"

namespace wm::plan {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, why); }

double finite_number(std::string_view word) {
  const auto value = number_from<double>(word);
  if (!value || !std::isfinite(*value)) refuse(fmt::format("a tree has '{}' where a number is wanted", word));
  return *value;
}

}  // namespace

GemmTree GemmTree::from_text(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::vector<Node> nodes;
  std::vector<std::size_t> open;  // questions whose first side is read or being read
  bool whole = false;
  for (std::string word; words >> word;) {
    if (whole) refuse(fmt::format("a tree ends before '{}'", word));
    const auto* const trait = std::find(std::begin(gemm_trait_names), std::end(gemm_trait_names), word);
    if (trait != std::end(gemm_trait_names)) {
      std::string limit;
      words >> limit;
      open.push_back(nodes.size());
      nodes.push_back({static_cast<int>(trait - std::begin(gemm_trait_names)), 0, finite_number(limit)});
      continue;
    }
    nodes.push_back({-1, 0, finite_number(word)});
    while (!open.empty() && nodes[open.back()].more != 0) open.pop_back();  // both sides are read
    whole = open.empty();
    if (!whole) nodes[open.back()].more = nodes.size();
  }
  if (!whole) refuse("a tree ends before its last answer");
  return GemmTree(std::move(nodes));
}

std::string GemmTree::text() const {
  std::string text;
  for (const Node& node : nodes_) {
    if (!text.empty()) text += ' ';
    if (node.trait >= 0) text.append(gemm_trait_names[node.trait]) += ' ';
    text += node.trait < 0 ? fmt::format("{:.3g}", node.value) : fmt::format("{:.6g}", node.value);
  }
  return text;
}

double GemmTree::answer(const GemmTraits& traits) const {
  std::size_t at = 0;
  while (nodes_[at].trait >= 0)
    at = traits[static_cast<std::size_t>(nodes_[at].trait)] < nodes_[at].value ? at + 1 : nodes_[at].more;
  return nodes_[at].value;
}

double GemmTrees::factor(const GemmTraits& traits) const {
  double sum = 0;
  for (const GemmTree& tree : trees) sum += tree.answer(traits);
  return std::exp(sum);
}

}  // namespace wm::plan
