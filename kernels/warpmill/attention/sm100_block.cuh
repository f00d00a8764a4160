// A block of Blackwell's attention: its shared memory, its barriers with who arrives at them, where numbers lie in
// tensor memory, and the steps that each role walks. sm100.cuh has the roles.
#pragma once

#include "warpmill/attention/chosen_steps.cuh"
#include "warpmill/attention/tiles.cuh"
#include "warpmill/pipeline/ring.cuh"
#include "warpmill/pipeline/signal.cuh"
#include "warpmill/tile/tensor_memory.cuh"

namespace wm {

struct AttentionWarps {
  static constexpr u32 correction = 8, multiply = 12, epilogue = 13, load = 14, spare = 15;
};
enum class Sm100Barrier : u32 { block, order };  // named ones

template <AttentionPlan plan>
using Sm100Memory = TensorMemory<plan.tensor_columns, plan.blocks_together()>;

template <AttentionPlan plan>
struct Sm100Shared {
  using E = Element<plan.kind.element>;
  using QTile = OperandTile<E, Major::k, plan.group_rows(), plan.head_columns()>;
  using KTile = OperandTile<E, Major::k, plan.block_keys(), plan.head_columns()>;
  using VTile = OperandTile<E, Major::mn, plan.block_values(), plan.keys>;
  using Strip = SharedTile<Element<plan.kind.out_element()>, plan.group_rows(), plan.strip_columns()>;
  QTile q[plan.groups][plan.q_stages];
  KTile k[plan.stages];
  VTile v[plan.stages];
  Strip out[plan.groups][plan.strips];
  f32 factor[plan.groups][plan.group_rows()];
  RingBarriers<1> q_ring[plan.groups];
  RingBarriers<plan.stages> k_ring, v_ring;
  RingBarriers<plan.strips> out_ring[plan.groups];
  RingBarriers<1> factor_ring[plan.groups][4];
  u64 scores[plan.groups], first_weights[plan.groups], last_weights[plan.groups];
  u64 sums_free[plan.groups], sums_full[plan.groups];
  u64 tail[plan.stages];
  Select<plan.pair, u64[plan.stages], Nothing> tail_of_second;
  TilesShared<plan> tiles;
  Select<plan.kind.expressions.of_steps(), StepsShared<plan>, Nothing> steps;
  u32 tensor_memory;  // the address of its columns
};

// Every barrier by its type: who arrives, and how often.
template <AttentionPlan plan>
struct Sm100Rings {
  using Shared = Sm100Shared<plan>;
  static constexpr Readers tensor_cores{.groups = 1, .threads = 1}, one_warp{.groups = 1, .threads = 32};
  template <class Operand>
  using Courier = Select<plan.pair, PairCourier<sizeof(Operand)>, TmaCourier<sizeof(Operand)>>;
  using Q = Ring<"q", 1, Courier<typename Shared::QTile>, tensor_cores>;
  using K = Ring<"k", plan.stages, Courier<typename Shared::KTile>, tensor_cores>;
  using V = Ring<"v", plan.stages, Courier<typename Shared::VTile>, tensor_cores>;
  using Factor = Ring<"factor", 1, StoringWarps<1>, one_warp>;
  using Out = Ring<"out", plan.strips, StoringWarps<4>, one_warp>;
  using Scores = Signal<"scores", Arrivals{.tensor_cores = 1}>;
  static constexpr u32 blocks = plan.blocks_together();
  using FirstWeights = Signal<"weights.first", Arrivals{.warps = 4, .blocks = blocks}>;
  using LastWeights = Signal<"weights.last", Arrivals{.warps = 4, .blocks = blocks}>;
  using SumsFree = Signal<"sums.free", Arrivals{.warps = 4, .blocks = blocks}>;
  using SumsFull = Signal<"sums.full", Arrivals{.tensor_cores = 1}>;

  // By one thread.
  static WM_DEVICE void init(Shared& shared) {
    K(shared.k_ring).init();
    V(shared.v_ring).init();
    for (int group = 0; group < plan.groups; ++group) {
      Q(shared.q_ring[group]).init();
      Out(shared.out_ring[group]).init();
      for (auto& ring : shared.factor_ring[group]) Factor(ring).init();
      Scores(shared.scores[group]).init();
      FirstWeights(shared.first_weights[group]).init();
      LastWeights(shared.last_weights[group]).init();
      SumsFree(shared.sums_free[group]).init();
      SumsFull(shared.sums_full[group]).init();
    }
    TileRing<plan>(shared.tiles.ring).init();
    if constexpr (plan.claims()) shared.tiles.init();
    if constexpr (plan.kind.expressions.of_steps()) StepRing<plan>(shared.steps.ring).init();
    if constexpr (plan.kind.has_tails()) {
      name_shared<"tail">(shared.tail);
      for (u64& barrier : shared.tail) mbarrier::init(&barrier, 1);
      if constexpr (plan.pair) {
        name_shared<"tail_of_second">(shared.tail_of_second);
        for (u64& barrier : shared.tail_of_second) mbarrier::init(&barrier, 1);
      }
    }
  }
};

// A group of queries as a role sees it: where its numbers lie in tensor memory, and the role's place at its barriers.
template <AttentionPlan plan>
struct Sm100Group {
  using Rings = Sm100Rings<plan>;
  WM_DEVICE Sm100Group(Sm100Shared<plan>& shared, const Sm100Memory<plan>& memory, u32 group)
      : scores{memory.column(plan.scores_column(group))},
        weights{memory.column(plan.scores_column(group))},
        sums{memory.column(plan.sums_column(group))},
        q_ring(shared.q_ring[group]),
        out_ring(shared.out_ring[group]),
        scores_there(shared.scores[group]),
        first_weights(shared.first_weights[group]),
        last_weights(shared.last_weights[group]),
        sums_free(shared.sums_free[group]),
        sums_full(shared.sums_full[group]) {}

  TensorSums<plan.group_rows(), plan.keys> scores;
  TensorOperand<typename Sm100Shared<plan>::E, plan.keys> weights;
  TensorSums<plan.group_rows(), plan.value_columns()> sums;
  typename Rings::Q q_ring;
  typename Rings::Out out_ring;
  typename Rings::Scores scores_there;
  typename Rings::FirstWeights first_weights;
  typename Rings::LastWeights last_weights;
  typename Rings::SumsFree sums_free;
  typename Rings::SumsFull sums_full;
};

// The steps of a tile as each role walks them: all that its queries see, or those that expressions choose, of which the
// load warp tells. Whole warps.
template <AttentionPlan plan>
class TileSteps {
 public:
  WM_DEVICE explicit TileSteps(Sm100Shared<plan>& shared) : chooser_(shared.steps) {}

  // To the first one. False: there is none.
  WM_DEVICE bool begin(const Sight<plan>& sight) {
    begin_ = sight.begin(), number_ = sight.end() - 1;
    if (number_ < begin_) return false;
    if constexpr (!chooses) return true;
    step_ = read();
    return !step_.none();
  }
  WM_DEVICE bool last() const { return chooses ? step_.last() : number_ == begin_; }
  WM_DEVICE void next() {
    if constexpr (chooses)
      step_ = read();
    else
      --number_;
  }
  WM_DEVICE i32 number() const { return chooses ? step_.number() : number_; }
  WM_DEVICE bool whole() const { return step_.whole_to(0); }  // as far as the caller's mask goes

 private:
  static constexpr bool chooses = plan.kind.expressions.of_steps();
  WM_DEVICE ChosenStep read() {
    if constexpr (chooses) return chooser_.next();
    return {};
  }
  Select<chooses, StepReader<plan>, NoSteps> chooser_;
  ChosenStep step_;  // where expressions choose
  i32 begin_ = 0, number_ = 0;
};

}  // namespace wm
