// Attention with its scores in tensor memory (sm_100a): candidates, and the clocks of a step from a data sheet.
#pragma once

#include <string_view>
#include <vector>

#include "warpmill/attention/plan.h"

namespace wm::plan {

// What a step of keys takes of each part of a multiprocessor, for both groups of queries, in clocks. All of them run
// side by side; the slowest sets the pace.
struct AttentionClocks {
  double products = 0;      // tensor cores
  double exponentials = 0;  // special-function units, without those that the FMA units make
  double instructions = 0;  // of the threads that take softmax, as the schedulers issue them
  double shared = 0;        // what products read of shared memory
  double copies = 0;        // K and V, from L2 to shared memory
  double chain = 0;         // one group's way round: its scores, its exponentials, its values, and hand-overs
  double correction = 0;    // where every row's base moves; no part of the pace, as it seldom does

  double step() const;
  std::string_view binds() const;
};
AttentionClocks clocks_of(const AttentionPlan& plan);

// The plans that are shipped for a kind. Empty where none fits shared memory and tensor memory.
std::vector<AttentionPlan> tensor_memory_candidates(const AttentionKind& kind);

}  // namespace wm::plan
