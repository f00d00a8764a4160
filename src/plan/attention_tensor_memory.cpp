// The model of a B200's attention. Every figure is of published microbenchmarks or of a data sheet (docs/blackwell.md),
// but for two that are guesses.
#include "plan/attention_tensor_memory.hpp"

#include <algorithm>
#include <utility>

namespace wm::plan {
namespace {

// A product of 32 bytes along k, 128 rows of each block by n columns: with A in shared memory, where it takes as long
// as its operands are read at least, of two blocks half of B; and in tensor memory.
double product_clocks(double n, int blocks) { return std::max(n / 2, 32 + n / 4 / blocks); }
double product_clocks_from_tensor_memory(double n) { return n / 2; }
// Besides, until the last one is done. Of two blocks with A in tensor memory nobody has measured it.
constexpr double product_latency = 136, latency_from_tensor_memory = 104, more_latency_of_two = 34;
constexpr double exponentials_in_clock = 16, shared_bytes_in_clock = 128, copied_bytes_in_clock = 64,
                 threads_in_clock = 128;
// Guesses: a barrier's arrival, its wait, and an access of tensor memory; what more the arrival takes at the other
// block's barrier; and a copy's way before its first byte.
constexpr double hand_over = 100, to_other_block = 100, copy_latency = 600;

std::pair<double, std::string_view> slowest(const AttentionClocks& c) {
  return std::max({std::pair<double, std::string_view>{c.products, "products"},
                   {c.exponentials, "exponentials"},
                   {c.instructions, "instructions"},
                   {c.shared, "shared"},
                   {c.copies, "copies"},
                   {c.chain, "chain"}},
                  [](const auto& a, const auto& b) { return a.first < b.first; });
}

}  // namespace

double AttentionClocks::step() const { return slowest(*this).first; }
std::string_view AttentionClocks::binds() const { return slowest(*this).second; }

AttentionClocks clocks_of(const AttentionPlan& plan) {
  const double groups = plan.groups, rows = plan.group_rows(), keys = plan.keys, scores = rows * keys;
  const double each = plan.product_columns();
  const double of_keys = plan.head_columns() / each * product_clocks(keys, plan.blocks_together());
  const double of_values = keys / each * product_clocks_from_tensor_memory(plan.value_columns());
  const double by_fma = plan.fma_pairs / 16.;
  const double exponentials = scores * (1 - by_fma) / exponentials_in_clock;
  // A score: half a maximum of three, half a packed FMA, half a conversion, half a packed sum; then its power, of one
  // instruction, or of five for six packed ones and four of integers that serve two. In e4m3 the polynomial has two
  // packed ones more, and two conversions are joined.
  const bool narrow = plan.kind.narrow();
  const double look = scores * 0.5 / threads_in_clock,
               weigh =
                   scores * (1.5 + (narrow ? 0.25 : 0) + (1 - by_fma) + (narrow ? 6 : 5) * by_fma) / threads_in_clock;
  AttentionClocks clocks;
  clocks.products = groups * (of_keys + of_values);
  clocks.exponentials = groups * exponentials;
  clocks.instructions = groups * (look + weigh);
  // Elements, of a group.
  const double read = (rows + plan.block_keys()) * plan.head_columns() + keys * plan.block_values();
  clocks.shared = groups * read * plan.element_bytes() / shared_bytes_in_clock;
  clocks.copies = (plan.k_bytes() + plan.v_bytes()) / copied_bytes_in_clock;
  // Values are multiplied once the first weights are there.
  const double first = static_cast<double>(plan.first_weights()) / plan.keys;
  clocks.chain = of_keys + product_latency + hand_over + look + first * std::max(exponentials, weigh) + hand_over +
                 of_values + latency_from_tensor_memory;
  if (plan.pair) clocks.chain += 2 * more_latency_of_two + to_other_block;
  // With one stage, keys are asked for when the last product has read the ones before, and values behind them.
  if (plan.stages == 1) clocks.chain += copy_latency + clocks.copies;
  // A load, a packed product for two, a store: of each sum.
  clocks.correction = groups * rows * plan.value_columns() * 0.5 / threads_in_clock + hand_over;
  return clocks;
}

std::vector<AttentionPlan> tensor_memory_candidates(const AttentionKind& kind) {
  // Exponentials that the FMA units make, as FlashAttention-4 found them best: fewer where masks take instructions. In
  // e4m3 products take half the time, and twice as many keep the special-function units and the schedulers equally
  // busy.
  const int fma_pairs = (kind.mask.right ? 2 : 3) * (kind.narrow() ? 2 : 1);
  std::vector<AttentionPlan> plans;
  for (const bool pair : {false, true}) {
    const int most = AttentionPlan{.kind = kind, .pair = pair}.most_keys();
    for (const int keys : most > 64 ? std::vector{most, 64} : std::vector{most})
      for (const int stages : {4, 3, 2, 1}) {
        const AttentionPlan plan{.kind = kind,
                                 .keys = keys,
                                 .stages = stages,
                                 .instruction = TensorInstruction::tcgen05,
                                 .fma_pairs = fma_pairs,
                                 .tiles = pair ? TileSource::share : TileSource::counter,
                                 .pair = pair};
        if (!plan.valid()) continue;
        plans.push_back(plan);
        break;
      }
  }
  return plans;
}

}  // namespace wm::plan
