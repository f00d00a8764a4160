// Attention with five kinds of warps under the judge: silent as it is, in every order of events; and with a wait, a
// commit, a fence, an arrival or a hand-over left out noticed, by an error, a deadlock, a warning or a wrong result.
#include <gtest/gtest.h>

#include "ops/attention_fixture.hpp"
#include "ops/attention_judged.hpp"

namespace wm::test {

using bench::AttentionCase;
using bench::HeadLayout;

namespace {

constexpr auto tcgen05 = TensorInstruction::tcgen05;

AttentionPlan in_pairs(AttentionPlan plan, TileSource tiles = TileSource::share) {
  plan.instruction = tcgen05, plan.pair = true, plan.tiles = tiles;
  return plan;
}

// Small plans of every kind: the order of events is what differs.
std::vector<JudgedAttention> judged() {
  AttentionCase plain{.heads = 2, .kv_heads = 1, .queries = 270, .keys = 170, .head_dim = 64, .value_dim = 64};
  plain.spread = 20;  // bases move, so that sums are scaled
  AttentionCase causal = plain, window = plain, biased = plain, packed = plain, lengths = plain, uneven = plain,
                documents = plain, sequences = plain, narrow = plain;
  causal.mask = AttentionMask::causal(), causal.head_dim = causal.value_dim = 128;
  window.mask = {.left = 40, .right = 10}, window.softcap = 20;
  biased.alibi = biased.sinks = true;
  packed.heads = 6, packed.queries = 3, packed.sinks = true, packed.mask = AttentionMask::causal();
  lengths.batch = 3, lengths.key_lengths = {40, 170, 0}, lengths.value_dim = 72;
  uneven.head_dim = 192, uneven.value_dim = 72, uneven.dtype = DType::f16, uneven.lse = false;
  AttentionCase uneven_lengths = uneven;
  uneven_lengths.batch = lengths.batch, uneven_lengths.key_lengths = lengths.key_lengths;
  documents.keys = documents.queries;
  documents.set_documents(3);
  sequences.layout = HeadLayout::positions_first, sequences.mask = AttentionMask::causal();
  sequences.sequences = {{1, 1}, {300, 150}, {0, 0}, {64, 128}, {5, 0}, {129, 77}};
  narrow.dtype = DType::e4m3, narrow.scales = bench::Scales::heads;
  AttentionCase narrow_sequences = sequences;
  narrow_sequences.dtype = narrow_sequences.out_dtype = DType::e4m3, narrow_sequences.head_dim = 48;
  return {{"plain", plain, {.keys = 64, .instruction = tcgen05, .fma_pairs = 3}},
          {"causal, two strips", causal, {.keys = 96, .stages = 1, .strips = 2, .instruction = tcgen05}},
          {"window, softcap, in shares",
           window,
           {.keys = 32, .stages = 3, .instruction = tcgen05, .fma_pairs = 2, .tiles = TileSource::share}},
          {"ALiBi and sinks, claimed", biased, {.keys = 128, .instruction = tcgen05, .tiles = TileSource::claims}},
          {"packed heads", packed, {.keys = 64, .packed = 4, .instruction = tcgen05}},
          {"lengths on the device", lengths, {.keys = 64, .instruction = tcgen05}},
          {"unequal dims", uneven, {.keys = 64, .stages = 1, .instruction = tcgen05}},
          {"expressions that choose steps, claimed",
           documents,
           {.keys = 64, .instruction = tcgen05, .tiles = TileSource::claims}},
          {"sequences", sequences, {.keys = 64, .instruction = tcgen05}},
          {"pairs", plain, in_pairs({.keys = 64, .fma_pairs = 3})},
          {"pairs, causal, claimed", causal, in_pairs({.keys = 96, .stages = 1, .strips = 2}, TileSource::claims)},
          {"pairs, sequences", sequences, in_pairs({.keys = 64})},
          {"pairs, packed heads, claimed", packed, in_pairs({.keys = 32, .packed = 4}, TileSource::claims)},
          {"pairs, lengths on the device, unequal dims", uneven_lengths, in_pairs({.keys = 64, .stages = 1})},
          {"pairs, expressions that choose steps", documents, in_pairs({.keys = 64})},
          {"e4m3, scaled, in shares",
           narrow,
           {.keys = 96, .instruction = tcgen05, .fma_pairs = 6, .tiles = TileSource::share}},
          {"e4m3, sequences", narrow_sequences, {.keys = 64, .instruction = tcgen05}},
          {"pairs, e4m3, scaled", narrow, in_pairs({.keys = 96, .fma_pairs = 6})},
          {"pairs, e4m3, sequences", narrow_sequences, in_pairs({.keys = 64})}};
}

class AttentionSm100Judge : public testing::Test {
 protected:
  const Device device = Device::open("virtual:sm_100a:sms=2");
  const Stream stream{device};
};

}  // namespace

TEST_F(AttentionSm100Judge, IsSilentInEveryOrder) { expect_silence(stream, judged(), 1); }

// Every fourth, or all (ATTENTION_CHANGES_EVERY=1).
TEST_F(AttentionSm100Judge, NoticesWhatIsLeftOut) {
  const auto all = judged();
  const JudgedAttention &plain = all[0], &causal = all[1], &varying = all[8], &pairs = all[9],
                        &pairs_that_claim = all[10], &pairs_of_sequences = all[11], &narrow = all[15];
  struct Change {
    const char* what;
    const JudgedAttention& in;
    const char *from, *to;
  };
  const Change changes[] = {
      {"scores are read before they are there", plain, "      of.scores_there.wait();\n", ""},
      {"weights come over scores that are still being read", plain,
       "tcgen05::wait_load();  // the weights come over them", ""},
      {"weights are announced before they are stored", plain,
       "          tcgen05::wait_store();\n          tcgen05::fence_before_thread_sync();\n",
       "          tcgen05::fence_before_thread_sync();\n"},
      {"the first weights are multiplied before they are there", plain, "        of.first_weights.wait();\n", ""},
      {"the last weights are multiplied before they are there", plain, "          of.last_weights.wait();\n", ""},
      {"three warps' weights count as all", plain,
       "using FirstWeights = Signal<\"weights.first\", Arrivals{.warps = 4, .blocks = blocks}>;",
       "using FirstWeights = Signal<\"weights.first\", Arrivals{.warps = 3, .blocks = blocks}>;"},
      {"products are added to sums that are being scaled", plain, "        of.sums_free.wait();\n", ""},
      {"three warps' sums count as all", plain,
       "using SumsFree = Signal<\"sums.free\", Arrivals{.warps = 4, .blocks = blocks}>;",
       "using SumsFree = Signal<\"sums.free\", Arrivals{.warps = 3, .blocks = blocks}>;"},
      {"sums are said to be scaled before they are stored", plain, "    tcgen05::wait_store();\n  };", "  };"},
      {"sums are never said to be free for the next tile", plain,
       "        groups[group].sums_free.arrive();  // for the next tile\n", ""},
      {"sums are taken before the last product is done", plain, "        groups[group].sums_full.wait();\n", ""},
      {"sums are said to be taken before they are loaded", plain,
       "        tcgen05::wait_load();  // here, so that no thread holds more than this piece\n", ""},
      {"a factor is read before it is told", plain, "const Stage stage = factor_rings[group].wait();",
       "const Stage stage = factor_rings[group].next(); factor_rings[group].skip(1);"},
      {"a factor is told over one that nobody has read", plain, "const Stage stage = factor_ring.acquire();",
       "const Stage stage = factor_ring.next(); factor_ring.skip(1);"},
      {"a factor that moved is not passed on", plain, "if (started) tell_correction(factor);",
       "if (started) tell_correction(1.f);"},
      {"one lane says that all have stored", plain,
       "static WM_DEVICE void sent(SharedAddress full) {\n    barrier::sync_warp();",
       "static WM_DEVICE void sent(SharedAddress full) {"},
      {"keys are multiplied before they have come", plain, "            k_stage = k_ring.wait();\n",
       "            k_stage = k_ring.next(); k_ring.skip(1);\n"},
      {"values are multiplied before they have come", plain, "const Stage v_stage = v_ring.wait();",
       "const Stage v_stage = v_ring.next(); v_ring.skip(1);"},
      {"queries are multiplied before they have come", plain, "        groups[group].q_ring.wait();\n",
       "        groups[group].q_ring.skip(1);\n"},
      {"keys may go when the first group's scores are made", causal,
       "if (group == 1) commit_products<blocks>(k_stage.empty);",
       "if (group == 0) commit_products<blocks>(k_stage.empty);"},
      {"values may go when the first group's sums are made", causal,
       "if (group == 1) commit_products<blocks>(v_stage.empty);",
       "if (group == 0) commit_products<blocks>(v_stage.empty);"},
      {"values are never let go", plain, "if (group == 1) commit_products<blocks>(v_stage.empty);", ""},
      {"queries may go before the last scores are made", plain,
       "if (steps.last()) commit_products<blocks>(q_stage[group].empty);",
       "commit_products<blocks>(q_stage[group].empty);"},
      {"nobody is told of scores", plain, "commit_products<blocks>(groups[group].scores_there.committed());", ""},
      {"nobody is told that sums are whole", plain, "commit_products<blocks>(of.sums_full.committed());", ""},
      {"a strip is stored before it is written", plain, "const Stage stage = out_rings[group].wait();",
       "const Stage stage = out_rings[group].next(); out_rings[group].skip(1);"},
      {"a strip is stored without a fence between the proxies", plain,
       "      fence::proxy_async_shared();\n      groups[group].out_ring.commit(stage);",
       "      groups[group].out_ring.commit(stage);"},
      {"a strip is given back while its store may still read it", plain,
       "          bulk::commit_group();\n          bulk::wait_group_read<0>();", "          bulk::commit_group();"},
      {"another sequence's values are cleared without a fence between the proxies", varying,
       "      fence::proxy_async_shared();\n      barrier::sync_warp();\n      if (threadIdx.x % 32 == 0) {",
       "      barrier::sync_warp();\n      if (threadIdx.x % 32 == 0) {"},
      {"an answer to a claim is read before it is there", all[3],
       "    mbarrier::wait_parity(&shared_.arrived, phase_);\n    phase_ ^= 1;\n", ""},
      {"tensor memory is given back while others use it", plain,
       "  barrier::sync_unaligned(u32(Sm100Barrier::block), plan.threads());\n", ""},
      {"tensor memory is never given back", plain, "  if (warp == Warps::spare) memory.free();\n", ""},
      {"no fence stands behind the wait for scores", plain,
       "      of.scores_there.wait();\n      tcgen05::fence_after_thread_sync();", "      of.scores_there.wait();"},
      {"no fence stands before weights are announced", plain,
       "          tcgen05::wait_store();\n          tcgen05::fence_before_thread_sync();",
       "          tcgen05::wait_store();"},
      {"e4m3's weights are relative to the largest score itself", narrow, "narrow ? ceilf(now) - 5.f : now", "now"},
      {"e4m3's weights grow beyond what it holds", narrow, "now - base_ <= (narrow ? 7.f : 8.f)",
       "now - base_ <= 16.f"},
      {"e4m3's weights are stored as far apart as bf16's", narrow, "cell_elements = 4 / sizeof(Element)",
       "cell_elements = 2"},
      {"the scales of values are left out", narrow, "told_by_softmax(group) * scale;", "told_by_softmax(group);"},
      {"of two blocks, the first multiplies when half of the bytes have come", pairs,
       "mbarrier::arrive_expect_tx(full, 2 * bytes);", "mbarrier::arrive_expect_tx(full, bytes);"},
      {"of two blocks, the second's bytes are counted by itself", pairs, "matrix, cluster::map(full, 0), {});",
       "matrix, cluster::map(full, cluster::rank()), {});"},
      {"of two blocks, both bring the same keys", pairs, "cluster::rank() * plan.block_keys()", "0"},
      {"of two blocks, one is not told that products are done", pairs, "tcgen05::commit_multicast<2>(barrier, u16(3));",
       "tcgen05::commit_multicast<2>(barrier, u16(1));"},
      {"of two blocks, one's warps count as both's", pairs, "return tensor_cores + warps * blocks;",
       "return tensor_cores + warps;"},
      {"of two blocks, no fence stands before weights are announced", pairs,
       "          tcgen05::wait_store();\n          tcgen05::fence_before_thread_sync();",
       "          tcgen05::wait_store();"},
      {"of two blocks, each one's warps arrive at its own barrier", pairs,
       "mbarrier::arrive_remote_relaxed(cluster::map(barrier_, 0));", "mbarrier::arrive(barrier_);"},
      {"of two blocks, both ask for products", pairs, "elect_one() && (!plan.pair || cluster::rank() == 0)",
       "elect_one()"},
      {"of two blocks, one begins before the other's barriers are there", pairs, "    cluster::sync();  // the other's",
       "    barrier::sync();  // the other's"},
      {"of two blocks, one gives tensor memory back while the other uses it", pairs,
       "    cluster::arrive_unaligned();\n    cluster::wait_unaligned();\n",
       "    barrier::sync_unaligned(u32(Sm100Barrier::block), plan.threads());\n"},
      {"of two blocks, each takes a share of tiles as if it were alone", pairs, "number_ += gridDim.x / blocks;",
       "number_ += gridDim.x;"},
      {"of two blocks, the second has the first one's queries", pairs, "cluster::rank() * plan.groups", "0"},
      {"of two blocks, a tile is claimed by the number of its first block", pairs_that_claim,
       "claim_.take(number_) ? number_ / blocks", "claim_.take(number_) ? number_"},
      {"of two blocks, the first does not wait until the second has cleared its values", pairs_of_sequences,
       "            mbarrier::wait_parity<Scope::cluster>(second, phase);", "            ;"},
      {"of two blocks, the second has not read an answer when the next one comes", pairs_that_claim,
       "      mbarrier::wait_parity<Scope::cluster>(&shared_.read, phase_ ^ 1);  // at once before the first answer\n",
       ""},
  };
  const auto every = static_cast<std::size_t>(asked("ATTENTION_CHANGES_EVERY", 4));
  for (std::size_t i = 0; i < std::size(changes); i += every) {
    const Change& change = changes[i];
    SCOPED_TRACE(change.what);
    bool noticed = false;
    for (const vgpu::Mode mode : {vgpu::Mode::friendly, vgpu::Mode::random, vgpu::Mode::adversarial})
      if (!noticed) {
        vgpu::set_run_options(device, {.mode = mode, .seed = 1, .max_instructions = 3'000'000, .check = true});
        noticed = run_changed(stream, change.in, change.from, change.to).anything();
      }
    EXPECT_TRUE(noticed);
  }
  vgpu::set_run_options(device, {.check = true});
  for (const JudgedAttention* p : {&plain, &causal, &varying, &pairs, &pairs_that_claim, &pairs_of_sequences,
                                   &narrow})  // the same way, with nothing left out
    EXPECT_FALSE(run_changed(stream, *p, "struct AttentionPlan {", "struct AttentionPlan {").anything());
  vgpu::set_run_options(device, {});
}

}  // namespace wm::test
