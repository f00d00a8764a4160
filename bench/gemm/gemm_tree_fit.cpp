// Gradient boosting for squares: each tree is grown where a question lowers the sum of squares most, and its answers
// take away a part of what was left.
#include "gemm/gemm_tree_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

constexpr std::size_t traits = std::tuple_size_v<plan::GemmTraits>;
constexpr std::size_t most_limits = 150;  // that are tried for a trait
constexpr double weight_of_far = 0.3;
constexpr double steadiness = 1;  // pairs with nothing left to explain, added to each answer

struct Sum {
  double weight = 0, left = 0;
  void add(double w, double x) { weight += w, left += w * x; }
  double gain() const { return left * left / (weight + steadiness); }
  double answer() const { return left / (weight + steadiness); }
};

struct Question {
  double gain = 0;
  int trait = -1;
  std::size_t bin = 0;  // those below it have less
};

class Learner {
 public:
  Learner(const plan::GemmModel& model, std::span<const MeasuredPlan> pairs, plan::ChipRates rates,
          const TreeOptions& options)
      : options_(options), near_(pairs.size()), bins_(pairs.size()) {
    plan::GemmModel plain = model;
    plain.trees = plain.promoted = nullptr;
    rates.gemm = {plain, plain, plain};
    std::vector<plan::GemmTraits> all;
    for (const MeasuredPlan& pair : pairs) {
      const plan::GemmEstimate e = plan::estimate(pair.plan, pair.shape, rates);
      all.push_back(plan::traits_of(e, pair.shape));
      const double corrected = e.seconds * plan::factor_of(model, pair.plan.kind, pair.shape, all.back());
      left_.push_back(std::log(pair.us / (corrected * 1e6)));
    }
    for (const std::vector<std::size_t>& shape : by_shape(pairs)) {
      double best = INFINITY;
      for (const std::size_t i : shape) best = std::min(best, pairs[i].us);
      for (const std::size_t i : shape) near_[i] = pairs[i].us <= near_best * best;
    }
    for (std::size_t t = 0; t < traits; ++t) {
      limits_[t] = limits(all, t);
      for (std::size_t i = 0; i < all.size(); ++i)
        bins_[i][t] = static_cast<unsigned char>(std::upper_bound(limits_[t].begin(), limits_[t].end(), all[i][t]) -
                                                 limits_[t].begin());
    }
  }

  // One tree more, of what is left.
  plan::GemmTree grow() {
    std::vector<Leaf> leaves;
    Leaf root;
    root.pairs.resize(left_.size());
    std::iota(root.pairs.begin(), root.pairs.end(), std::size_t{0});
    ask(root);
    leaves.push_back(std::move(root));
    std::vector<Split> splits;
    while (static_cast<int>(leaves.size()) < options_.leaves) {
      const auto best = std::max_element(
          leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) { return a.question.gain < b.question.gain; });
      if (best->question.trait < 0) break;
      Leaf less, more;
      const Question question = best->question;
      for (const std::size_t i : best->pairs)
        (bins_[i][static_cast<std::size_t>(question.trait)] < question.bin ? less : more).pairs.push_back(i);
      ask(less), ask(more);
      const std::size_t number = splits.size();
      if (best->parent >= 0)
        (best->is_more ? splits[static_cast<std::size_t>(best->parent)].more
                       : splits[static_cast<std::size_t>(best->parent)].less) = static_cast<int>(number);
      splits.push_back({question});
      less.parent = more.parent = static_cast<int>(number);
      more.is_more = true;
      *best = std::move(less);
      leaves.push_back(std::move(more));
    }
    for (const Leaf& leaf : leaves) {
      Sum sum;
      for (const std::size_t i : leaf.pairs) sum.add(weight(i), left_[i]);
      const double answer = options_.part * sum.answer();
      for (const std::size_t i : leaf.pairs) left_[i] -= answer;
      if (leaf.parent < 0) return plan::GemmTree({{-1, 0, answer}});
      Split& split = splits[static_cast<std::size_t>(leaf.parent)];
      (leaf.is_more ? split.answer_more : split.answer_less) = answer;
    }
    std::vector<plan::GemmTree::Node> nodes;
    write(splits, 0, nodes);
    return plan::GemmTree(std::move(nodes));
  }

 private:
  struct Leaf {
    std::vector<std::size_t> pairs;
    Question question;
    int parent = -1;  // the split that made it
    bool is_more = false;
  };
  struct Split {
    Question question;
    int less = -1, more = -1;  // splits behind it; -1: an answer
    double answer_less = 0, answer_more = 0;
  };

  double weight(std::size_t i) const { return near_[i] ? 1 : weight_of_far; }

  // Between values that occur, evenly over the pairs.
  static std::vector<double> limits(const std::vector<plan::GemmTraits>& all, std::size_t trait) {
    std::vector<double> values;
    for (const plan::GemmTraits& of_pair : all) values.push_back(of_pair[trait]);
    std::sort(values.begin(), values.end());
    std::vector<double> found;
    for (std::size_t i = 1; i <= most_limits; ++i) {
      const std::size_t at = i * values.size() / (most_limits + 1);
      const auto next = std::upper_bound(values.begin(), values.end(), values[at]);
      if (next == values.end()) break;
      const double limit = (values[at] + *next) / 2;
      if (found.empty() || limit > found.back()) found.push_back(limit);
    }
    return found;
  }

  // The question that explains most of a leaf.
  void ask(Leaf& leaf) const {
    Sum all;
    for (const std::size_t i : leaf.pairs) all.add(weight(i), left_[i]);
    for (std::size_t t = 0; t < traits; ++t) {
      std::array<Sum, most_limits + 1> bins{};
      for (const std::size_t i : leaf.pairs) bins[bins_[i][t]].add(weight(i), left_[i]);
      Sum less;
      for (std::size_t bin = 1; bin <= limits_[t].size(); ++bin) {
        less.weight += bins[bin - 1].weight, less.left += bins[bin - 1].left;
        const Sum more{all.weight - less.weight, all.left - less.left};
        if (less.weight < options_.least || more.weight < options_.least) continue;
        const double gain = less.gain() + more.gain() - all.gain();
        if (gain > leaf.question.gain) leaf.question = {gain, static_cast<int>(t), bin};
      }
    }
  }

  void write(const std::vector<Split>& splits, int at, std::vector<plan::GemmTree::Node>& nodes) const {
    const Split& split = splits[static_cast<std::size_t>(at)];
    const auto trait = static_cast<std::size_t>(split.question.trait);
    const std::size_t here = nodes.size();
    nodes.push_back({split.question.trait, 0, limits_[trait][split.question.bin - 1]});
    const auto side = [&](int next, double answer) {
      if (next < 0)
        nodes.push_back({-1, 0, answer});
      else
        write(splits, next, nodes);
    };
    side(split.less, split.answer_less);
    nodes[here].more = nodes.size();
    side(split.more, split.answer_more);
  }

  const TreeOptions& options_;
  std::vector<double> left_;  // of each pair, to be explained
  std::vector<bool> near_;
  std::array<std::vector<double>, traits> limits_;
  std::vector<std::array<unsigned char, traits>> bins_;
};

}  // namespace

plan::GemmTrees fitted_trees(const plan::GemmModel& model, std::span<const MeasuredPlan> pairs,
                             const plan::ChipRates& rates, const TreeOptions& options) {
  if (pairs.empty()) throw Error(ErrorCode::invalid_argument, "there is nothing for trees to learn from");
  const bool promote = pairs[0].plan.kind.promote;
  plan::GemmModel corrected = model;
  auto& learned = plan::GemmModel::learned(corrected, promote);
  plan::GemmTrees trees;
  if (learned) trees = *learned;
  // Promoted sums are for large products: what few rows take is not learned from these.
  if (promote) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    if (!learned) trees.least_side = trees.least_k = most;
    for (const MeasuredPlan& pair : pairs) {
      trees.least_side = std::min({trees.least_side, pair.shape.m, pair.shape.n});
      trees.least_k = std::min(trees.least_k, pair.shape.k);
    }
  }
  learned = std::make_shared<const plan::GemmTrees>(trees);
  Learner learner(corrected, pairs, rates, options);
  for (int i = 0; i < options.trees; ++i) {
    options.step(i);
    trees.trees.push_back(learner.grow());
  }
  return trees;
}

}  // namespace wm::bench
