// Plans that were measured, as a table in plain text, one line an entry:
//
//   NVIDIA H200 | bf16 bf16 bf16 | k k | 4096x4096x4096 | 128x256 s4 c2x1 b8 | 179.1 us
//
// the chip's name, the types of A, B and D, the major-ness of A and B (followed by `threads` where the copy engine
// cannot bring them), the shape, the plan with its band, and its time. Empty lines and lines that begin with # say
// nothing. Of an attention:
//
//   NVIDIA H200 | attention bf16 128 128 right 0 | 4x16/16x4096/4096 | 128x176 s2 o1 | 466.0 us
//
// the type, the dims of heads and values, the mask's limits, `softcap` (or `lowcap`, of 20 to 55) and `sequences` where
// they hold; batch, heads and those of keys and values, queries and keys (of the longest sequence).
//
// The constants of the ranking's arithmetic for operands of so many bits (GemmModel; what is left out is an H200's of
// 16 bits):
//
//   NVIDIA H200 | gemm model 8 bits | start 1.4 cluster_start 0.5 ... | blocks 60.5 -0.021 0.013; ...
//
// and the trees that correct it (GemmTree), where it has any, or nothing where another | follows: behind that one
// those that come behind them for products with promoted sums, of at least so many rows, columns and elements along k:
//
//   NVIDIA H200 | gemm model 8 bits | start 1.4 ... | blocks 60.5 -0.021 0.013; ... | from 1040 4096; waves 2 0.01 0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/attention_shape.hpp"
#include "plan/gemm_ranking.hpp"
#include "warpmill/attention/kind.h"

namespace wm::plan {

// What an entry is for. The epilogue does not count; nor does what D's strides are, as long as its rows are contiguous.
struct TunedKey {
  std::string chip;
  DType a = DType::bf16, b = DType::bf16, d = DType::bf16;
  Major a_major = Major::k, b_major = Major::k;
  bool by_threads = false;
  std::int64_t m = 0, n = 0, k = 0;

  bool operator==(const TunedKey&) const = default;
  GemmKind kind() const;  // one that it is for
};
TunedKey key_of(std::string_view chip, const GemmKind& kind, const GemmShape& shape);

struct TunedPlan {
  TunedKey key;
  std::string plan;  // for plan_from_text
  double us = 0;
};

struct TunedAttentionKey {
  std::string chip;
  AttentionKind kind;  // sinks, ALiBi, expressions, lengths and e4m3's output do not count
  AttentionShape shape;

  bool operator==(const TunedAttentionKey&) const = default;
};
TunedAttentionKey key_of(std::string_view chip, const AttentionKind& kind, const AttentionShape& shape);

struct TunedAttention {
  TunedAttentionKey key;
  std::string plan;  // for attention_plan_from_text
  double us = 0;
};

struct TunedModelKey {
  std::string chip;
  int bits = 16;  // of an operand's element

  bool operator==(const TunedModelKey&) const = default;
};
struct TunedModel {
  TunedModelKey key;
  GemmModel model;
};

class TunedPlans {
 public:
  // Lines that are no entry are left out, each with a problem: "FILE:7: why".
  static TunedPlans from_text(std::string_view text, std::string_view file, std::vector<std::string>& problems);
  // What was read, comments included, with the entries set since.
  std::string text() const;
  // In the place of one with the same key.
  void set(const TunedPlan& entry);
  void set(const TunedAttention& entry);
  void set(const TunedModel& entry);

  // The first entry with this key. Else, for up to 256 rows, one with the same n and k whose m has the same next power
  // of two, the nearest such m first: few rows are a matter of reading B.
  const TunedPlan* find(const TunedKey& key) const;
  const TunedAttention* find(const TunedAttentionKey& key) const;  // the first entry with this key
  const TunedModel* find(const TunedModelKey& key) const;
  std::vector<TunedPlan> entries() const;  // of products
  std::vector<TunedAttention> attentions() const;
  std::vector<TunedModel> models() const;

 private:
  struct Line {
    std::string text;  // as read
    std::variant<std::monostate, TunedPlan, TunedAttention, TunedModel> entry;
  };
  template <class Entry>
  void replace(const Entry& entry);
  template <class Entry>
  std::vector<Entry> all() const;
  template <class Entry, class Key>
  const Entry* first(const Key& key) const;
  std::vector<Line> lines_;
};

std::string_view shipped_plans_text();  // src/plan/tuned/h200.txt, embedded

// The user's own file: WARPMILL_PLANS, else plans.txt in $XDG_CONFIG_HOME/warpmill or ~/.config/warpmill. Empty where
// there is no home.
std::filesystem::path user_plans_file();

// A file that is not there is an empty table; one that cannot be read is a problem.
TunedPlans read_plans(const std::filesystem::path& file, std::vector<std::string>& problems);

// The user's entries, then the shipped ones; read when first asked for. Problems of the user's file are told once, as a
// warning (set_log), and change nothing else.
const TunedPlans& known_plans();

}  // namespace wm::plan
