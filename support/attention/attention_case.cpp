// An attention's case: who sees whom, documents, and how much it computes and moves.
#include <algorithm>
#include <random>

#include "attention/random_attention.hpp"
#include "warpmill/dtype.hpp"

namespace wm::bench {
namespace {

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

std::pair<std::int64_t, std::int64_t> seen(const AttentionMask& mask, std::int64_t queries, std::int64_t keys,
                                           std::int64_t i) {
  const std::int64_t opposite = i + (mask.alignment == Alignment::ends ? keys - queries : 0);
  const std::int64_t from = mask.left ? std::max<std::int64_t>(0, opposite - *mask.left) : 0;
  const std::int64_t to = mask.right ? std::min(keys, opposite + *mask.right + 1) : keys;
  return {from, std::max(from, to)};
}

void AttentionCase::set_documents(int documents) {
  const std::int64_t longest = std::max(queries, keys);
  std::mt19937_64 dice(static_cast<std::uint64_t>(documents));
  std::vector<std::int64_t> begins(static_cast<std::size_t>(documents));
  for (std::int64_t& begin : begins)
    begin = static_cast<std::int64_t>(dice() % static_cast<std::uint64_t>(std::max<std::int64_t>(longest, 1)));
  std::sort(begins.begin(), begins.end());
  std::vector<std::int32_t> document;
  for (std::int64_t i = 0; i < longest; ++i)
    document.push_back(static_cast<std::int32_t>(std::upper_bound(begins.begin(), begins.end(), i) - begins.begin()));
  mask_expression = "document[q] == document[k]";
  skip = "document[k_last] < document[q_first] || document[k_first] > document[q_last]";
  whole = "document[k_first] == document[q_last] && document[k_last] == document[q_first]";
  integers = {{"document", document}};
  sees = [document](std::int64_t q, std::int64_t k, std::int64_t, std::int64_t) {
    return document[size(q)] == document[size(k)];
  };
}

double AttentionCase::flops() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> lengths = sequences;
  if (lengths.empty()) lengths.assign(size(batch), {queries, keys});
  double pairs = 0;
  for (const auto& [of_queries, of_keys] : lengths)
    for (std::int64_t i = 0; i < of_queries; ++i) {
      const auto [from, to] = seen(mask, of_queries, of_keys, i);
      pairs += static_cast<double>(to - from);
    }
  return 2 * pairs * static_cast<double>(heads) * (head_dim + value_dim);
}

double AttentionCase::bytes() const {
  double of_queries = static_cast<double>(batch * queries), of_keys = static_cast<double>(batch * keys);
  if (!sequences.empty()) of_queries = of_keys = 0;
  for (const auto& [own_queries, own_keys] : sequences)
    of_queries += static_cast<double>(own_queries), of_keys += static_cast<double>(own_keys);
  const auto of_operands = static_cast<double>(size_of(dtype)), of_out = static_cast<double>(size_of(out_type()));
  return static_cast<double>(heads) * of_queries * (of_operands * head_dim + of_out * value_dim + sizeof(float)) +
         static_cast<double>(kv_heads) * of_keys * of_operands * (head_dim + value_dim);
}

}  // namespace wm::bench
