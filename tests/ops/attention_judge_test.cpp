// Attention under the judge: silent as it is, in every order of events; and not silent about it with a wait, a fence,
// an arrival or a turn left out.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "attention/random_attention.hpp"
#include "ops/attention_judged.hpp"
#include "warpmill/error.hpp"
#include "warpmill/virtual.hpp"

namespace wm::test {

using bench::AttentionCase;
using bench::HeadLayout;
using bench::RandomAttention;

namespace {

using Problem = JudgedAttention;

AttentionCase sequences() {
  AttentionCase c{.heads = 2,
                  .kv_heads = 1,
                  .head_dim = 64,
                  .value_dim = 64,
                  .mask = AttentionMask::causal(),
                  .layout = HeadLayout::positions_first};
  c.sequences = {{1, 1}, {150, 150}, {0, 0}, {64, 128}, {5, 0}, {129, 77}};
  return c;
}

// Every kind of plan: groups, stages, strips, masks, sequences, head dims.
std::vector<Problem> problems() {
  const AttentionCase plain{.heads = 2, .kv_heads = 1, .queries = 200, .keys = 230, .head_dim = 64, .value_dim = 64};
  AttentionCase causal = plain, window = plain, wide = plain, uneven = plain, long_sequences = sequences();
  causal.mask = AttentionMask::causal();
  window.mask = {.left = 40, .right = 10};
  wide.head_dim = wide.value_dim = 256;
  long_sequences.head_dim = long_sequences.value_dim = 128;
  // Tails behind whole tiles: their rows are copied by threads, those of the tiles before by the copy engine.
  AttentionCase tails = long_sequences;
  tails.sequences = {{128, 64}, {140, 64}, {128, 64}, {70, 64}, {150, 64}, {9, 64}};
  uneven.head_dim = 192, uneven.value_dim = 128, uneven.dtype = DType::f16, uneven.softcap = 20, uneven.lse = false;
  AttentionCase biased = plain, padded = sequences();
  biased.alibi = biased.sinks = true;
  padded.head_dim = 72, padded.value_dim = 40, padded.sinks = true;
  AttentionCase packed = plain, lengths = plain;
  packed.heads = 6, packed.queries = 3, packed.sinks = true, packed.mask = AttentionMask::causal();
  lengths.batch = 3, lengths.key_lengths = {40, 230, 0};
  AttentionCase documents = plain;
  documents.keys = documents.queries;
  documents.set_documents(3);
  documents.score = "score + 0.1f * slope[head]", documents.numbers = {{"slope", {1.f, -1.f}}};
  documents.score_of = [](double score, std::int64_t, std::int64_t, std::int64_t head, std::int64_t) {
    return score + (head == 0 ? 0.1 : -0.1);
  };
  // Of the last tile the second group has no queries; and the first tile, without a key, is blank.
  AttentionCase ends = plain, blank = plain, document_ends = documents;
  ends.queries = 150, ends.keys = 100;
  blank.queries = 150, blank.keys = 20, blank.mask = AttentionMask::causal();
  document_ends.queries = document_ends.keys = 140;
  document_ends.set_documents(3);
  AttentionCase capped = causal;
  capped.softcap = 30, capped.sinks = true;
  AttentionCase narrow = plain, narrow_sequences = sequences(), narrow_documents = documents;
  narrow.dtype = narrow_sequences.dtype = narrow_documents.dtype = DType::e4m3;
  narrow.out_dtype = DType::e4m3, narrow.scales = narrow_sequences.scales = bench::Scales::heads;
  // The second group leaves out every other tile; those between have the same one of two strips.
  AttentionCase every_other = sequences();
  every_other.mask = {}, every_other.sequences = {{150, 64}, {150, 64}, {150, 64}, {150, 64}};
  // Several tiles for each pair; of the last one the second block has no queries, and the first are blank.
  AttentionCase pairs = plain, paired_ends = causal, paired_narrow = narrow, left_out = plain, left_out_narrow = narrow;
  pairs.heads = 3, pairs.kv_heads = 3, pairs.queries = 400;
  paired_ends.heads = 3, paired_ends.kv_heads = 3, paired_ends.queries = 350, paired_ends.keys = 60;
  paired_narrow.queries = 300;
  // Many tiles one after the other of which the second block has no queries.
  for (AttentionCase* const c : {&left_out, &left_out_narrow})
    c->heads = c->kv_heads = 9, c->queries = 100, c->keys = 40;
  return {{"two groups", plain, {.keys = 64}},
          {"three groups, causal", causal, {.keys = 64, .groups = 3}},
          {"one group, window", window, {.keys = 48, .groups = 1, .stages = 3, .strips = 2}},
          {"the output leaves from where Q was", wide, {.keys = 80, .strips = 0}},
          {"sequences", sequences(), {.keys = 64}},
          {"sequences, two strips", tails, {.keys = 64, .strips = 2}},
          {"sequences, three groups, two strips", sequences(), {.keys = 64, .groups = 3, .strips = 2}},
          {"sequences, the output leaves from where Q was", long_sequences, {.keys = 64, .strips = 0}},
          {"unequal dims, softcap, f16, no logarithms", uneven, {.keys = 64, .strips = 2}},
          {"ALiBi and sinks", biased, {.keys = 64}},
          {"ALiBi and sinks, one group", biased, {.keys = 64, .groups = 1}},
          {"expressions that choose steps", documents, {.keys = 48}},
          {"packed heads", packed, {.keys = 64, .groups = 1, .packed = 4}},
          {"lengths on the device", lengths, {.keys = 64}},
          {"padded heads, sequences, sinks", padded, {.keys = 64}},
          {"e4m3", narrow, {.keys = 64}},
          {"e4m3, weighed early", narrow, {.keys = 64, .early = true}},
          {"e4m3, weighed early, without turns", narrow, {.keys = 64, .turns = false, .early = true}},
          {"e4m3, sequences, three groups", narrow_sequences, {.keys = 64, .groups = 3}},
          {"e4m3, expressions that choose steps", narrow_documents, {.keys = 64}},
          {"a group without queries", ends, {.keys = 64}},
          {"a group without queries, without turns", ends, {.keys = 64, .turns = false}},
          {"and a blank tile, where Q was", blank, {.keys = 64, .strips = 0, .turns = false}},
          {"a group without queries of documents", document_ends, {.keys = 48}},
          {"a low softcap, without turns", capped, {.keys = 64, .turns = false}},
          {"a low softcap, three groups, two stages of Q", capped, {.keys = 64, .groups = 3, .q_stages = 2}},
          {"pairs", pairs, {.keys = 64, .pair = true}},
          {"pairs, causal, the output leaves from where Q was", paired_ends, {.keys = 48, .strips = 0, .pair = true}},
          {"pairs, e4m3", paired_narrow, {.keys = 64, .pair = true}},
          {"pairs, the second block left out", left_out, {.keys = 64, .pair = true}},
          {"pairs, the second block left out, e4m3", left_out_narrow, {.keys = 64, .pair = true}},
          {"a low softcap, joined tiles", capped, {.keys = 64}},
          {"a low softcap, the output leaves from where Q was", capped, {.keys = 64, .strips = 0}},
          {"every other tile left out, two strips", every_other, {.keys = 64, .strips = 2}}};
}

class AttentionJudge : public testing::Test {
 protected:
  const Device device = Device::open("virtual:sm_90a:sms=2");
  const Stream stream{device};

  // How many errors and warnings the judge finds in a run of the kernel with `from` replaced by `to`.
  std::size_t found_with(const Problem& p, std::string_view from, std::string_view to) {
    const Noticed noticed = run_changed(stream, p, from, to);
    return noticed.errors + noticed.warnings;
  }
};

}  // namespace

TEST_F(AttentionJudge, IsSilentInEveryOrder) { expect_silence(stream, problems(), ATTENTION_JUDGE_SEEDS); }

// wgmma keeps 13 bits of sums of 8-bit floats. Values of one sign lose the most: every step cuts in the same direction.
TEST_F(AttentionJudge, IsWithinItsBoundInE4m3WhereSumsAreTheChips) {
  vgpu::set_run_options(device, {.chip_sums = true});
  for (const bool one_sign : {false, true}) {
    AttentionCase c{.heads = 1, .kv_heads = 1, .queries = 32, .keys = 700, .head_dim = 64, .value_dim = 64};
    c.dtype = DType::e4m3, c.scales = bench::Scales::tensor;
    RandomAttention attention(stream, c, 1);
    if (one_sign)
      for (float& value : attention.v) value = std::fabs(value);
    attention.upload(stream);
    wm::attention(stream, attention.request());
    stream.synchronize();
    EXPECT_LT(attention.error(), 1) << one_sign;
  }
  vgpu::set_run_options(device, {});
}

// Tiles are taken from a counter that each launch sets back: one that does not come to its end cannot.
TEST_F(AttentionJudge, IsRightAfterALaunchThatWasStopped) {
  const Problem p = problems().front();
  const RandomAttention attention(stream, p.problem, 1);
  vgpu::RunOptions options;
  options.max_instructions = 2000;
  vgpu::set_run_options(device, options);
  EXPECT_THROW(
      {
        wm::attention(stream, attention.request(p.plan));
        stream.synchronize();
      },
      Error);
  vgpu::set_run_options(device, {});
  attention.poison(stream);
  wm::attention(stream, attention.request(p.plan));
  stream.synchronize();
  EXPECT_LT(attention.error(), 1);
}

TEST_F(AttentionJudge, FindsWhatIsLeftOut) {
  const auto all = problems();
  const auto named = [&](std::string_view name) -> const Problem& {
    return *std::find_if(all.begin(), all.end(), [&](const Problem& p) { return p.name == name; });
  };
  const Problem &plain = named("two groups"), &idle = named("three groups, causal"),
                &in_place = named("the output leaves from where Q was"), &varying = named("sequences"),
                &biased = named("ALiBi and sinks, one group"), &narrow = named("e4m3"),
                &early = named("e4m3, weighed early"), &blank = named("and a blank tile, where Q was"),
                &pairs = named("pairs"), &paired_ends = named("pairs, causal, the output leaves from where Q was"),
                &paired_narrow = named("pairs, e4m3"), &left_out = named("pairs, the second block left out"),
                &capped = named("a low softcap, joined tiles"),
                &every_other = named("every other tile left out, two strips");
  struct Mutation {
    const char* what;
    const Problem& in;
    const char *from, *to;
  };
  const Mutation mutations[] = {
      {"a stage is filled without a wait for its readers", plain,
       "mbarrier::wait_parity<readers.scope>(stage.empty, phase_ ^ 1);\n    Courier::announce(stage.full);",
       "Courier::announce(stage.full);"},
      {"values are read before they have come", plain, "const Stage v_stage = v_ring.wait();  // of this one",
       "const Stage v_stage = v_ring.next();"},
      {"a byte too few is announced", plain, "mbarrier::arrive_expect_tx(full, bytes);",
       "mbarrier::arrive_expect_tx(full, bytes - 16);"},
      {"keys are never released", plain, "            release_keys(taken - 1);\n            v_ring.release(v_stage);",
       "            v_ring.release(v_stage);"},
      {"values are released before the products that read them are done", plain,
       "            wgmma::wait<0>(scores.value);\n            wgmma::pin(sums.value);\n",
       "            v_ring.release(v_stage);\n            wgmma::wait<0>(scores.value);\n            "
       "wgmma::pin(sums.value);\n"},
      {"weights are made anew while a product may still read them", early,
       "            wgmma::wait<0>(sums.value);\n            v_ring.release(v_stage);",
       "            v_ring.release(v_stage);"},
      {"registers are given to wgmma without its fence", plain,
       "          wgmma::fence();\n          if constexpr (plan.early) {", "          if constexpr (plan.early) {"},
      {"the output leaves before the tile's last products are done", plain,
       "      wgmma::wait<1>(sums.value);\n      v_ring_at(taken - 1).release(v_stage);\n      write_tile();",
       "      v_ring_at(taken - 1).release(v_stage);\n      write_tile();"},
      {"keys are let go of before a tile's first scores are there", plain,
       "      wgmma::wait<0>(scores.value);\n      release_keys(taken++);",
       "      release_keys(taken++);\n      wgmma::wait<0>(scores.value);"},
      {"a tile is let go of before it is read for the last time", plain,
       "    const Tile<plan> tile = read(reader.here());\n    const u32 first_query = tile.group_query(group);",
       "    reader.let_go();\n    const Tile<plan> tile = read(reader.here());\n    const u32 first_query = "
       "tile.group_query(group);"},
      {"the output is stored without a fence between the proxies", plain,
       "if constexpr (by == StripStore::engine) fence::proxy_async_shared();", ""},
      {"a strip is written again while its store may still read it", plain,
       "if (together_.first()) bulk::wait_group_read<buffers - 1>();", ""},
      {"a turn is not handed over", plain, "          turns.hand_over();\n          read_ahead();",
       "          read_ahead();"},
      {"a turn of a tile that has no queries of the group is not handed over", idle,
       "      turns.take();\n      turns.hand_over();\n      k_ring_at(taken).pass();",
       "      turns.take();\n      k_ring_at(taken).pass();"},
      {"stages of a tile that has no queries of the group are let go of before they are filled", idle,
       "if (lets_go()) release(wait());", "if (lets_go()) release(next());"},
      {"a thread of a pair waits for stages that are filled again without it", left_out,
       "if (lets_go()) release(wait());",
       "if (thread_of_group() == 1) for (volatile int i = 0; i < 300; ++i) {}\n"
       "if (thread_of_group() < 2) release(wait());"},
      {"a slope is read before it is written", biased,
       "fill(alibi.slope());\n      barrier::sync(u32(AttentionBarrier::group) + group, warpgroup_threads);",
       "fill(alibi.slope());"},
      {"a slope is written without a fence between the proxies", biased,
       "half - first - second, 0.f), 0, 0};\n    }\n    fence::proxy_async_shared();",
       "half - first - second, 0.f), 0, 0};\n    }"},
      {"a tile is read before it was told", plain, "return shared_.tile[ring.wait().index];",
       "return shared_.tile[ring.next().index];"},
      {"who clears tails reads a tile before it was told", varying,
       "const Stage stage = ring.wait();\n    tile = shared_.tile[stage.index];",
       "const Stage stage = ring.next();\n    tile = shared_.tile[stage.index];"},
      {"Q is let go of before the last scores are there", plain, "if (joins && !more()) release_q();",
       "if (joins) release_q();"},
      {"the next tile's scores are made before its Q has come", plain, "q_ring_at(reader.taken()).wait();\n", ""},
      {"some of a group go on to the next tile before one of it has passed this", blank,
       "    barrier::sync(u32(AttentionBarrier::group) + group, warpgroup_threads);\n    reader.let_go();",
       "    reader.let_go();"},
      {"Q is let go of while the output still leaves from there", in_place,
       "      writer.drain();\n      release_q();\n    }\n", "      release_q();\n    }\n"},
      {"another sequence's values are cleared without a fence between the proxies", varying,
       "      fence::proxy_async_shared();\n      barrier::sync_warp();\n      if (threadIdx.x % 32 == 0) {",
       "      barrier::sync_warp();\n      if (threadIdx.x % 32 == 0) {"},
      {"one lane says that all have cleared theirs", varying,
       "      barrier::sync_warp();\n      if (threadIdx.x % 32 == 0) {", "      if (threadIdx.x % 32 == 0) {"},
      {"transposed values reach the products without a fence between the proxies", narrow,
       "    fence::proxy_async_shared();\n    barrier::sync_warp();\n    if (threadIdx.x % 32 == 0) "
       "mbarrier::arrive(full);",
       "    barrier::sync_warp();\n    if (threadIdx.x % 32 == 0) mbarrier::arrive(full);"},
      {"one lane says that all of its warp have transposed theirs", narrow,
       "    barrier::sync_warp();\n    if (threadIdx.x % 32 == 0) mbarrier::arrive(full);",
       "    if (threadIdx.x % 32 == 0) mbarrier::arrive(full);"},
      {"products do not wait for all warps that transpose", narrow, "static constexpr u32 arrivals = warps;",
       "static constexpr u32 arrivals = warps - 1;"},
      {"nobody says that values have been transposed", narrow, "      v_ring.commit(to);\n", ""},
      {"the copy engine is never told that values have been taken", narrow, "      arriving_ring.release(from);\n", ""},
      {"values are let go of before they are taken", narrow, "      const Transposer transposer",
       "      arriving_ring.release(from);\n      const Transposer transposer"},
      {"a pair's blocks do not wait for each other's barriers to be there", pairs,
       "cluster::sync();  // the other's barriers", "barrier::sync();  // the other's barriers"},
      {"a block of a pair leaves while the other may still arrive there", pairs,
       "    cluster::arrive_unaligned();\n    cluster::wait_unaligned();", ""},
      {"a block of a pair fills a stage that the other still reads", pairs,
       "mbarrier::init(empty_ + 8 * i, readers.groups * reached);", "mbarrier::init(empty_ + 8 * i, readers.groups);"},
      {"a group of a pair lets go of keys at its own block only", pairs,
       "if (thread_of_warpgroup() >= plan.blocks_together()) return;", "if (thread_of_warpgroup() >= 1) return;"},
      {"both blocks of a pair bring the same half", pairs, ".number = cluster::rank(), .blocks = 0b11",
       ".number = 0, .blocks = 0b11"},
      {"the first block of a pair tells a number before the one before was heard", paired_ends,
       "      mbarrier::wait_parity<Scope::cluster>(&shared_.heard, phase_ ^ 1);  // at once before the first\n", ""},
      {"the second block of a pair takes a number before it was told", pairs,
       "      mbarrier::wait_parity<Scope::cluster>(&shared_.told, phase_);\n", ""},
      {"it never says that it has heard", pairs,
       "      mbarrier::arrive_remote(cluster::map(SharedAddress(&shared_.heard), 0));\n", ""},
      {"values that both blocks transpose are let go of at one", paired_narrow,
       "                                  .blocks = u32(plan.blocks_together()),\n"
       "                                  .cluster = u32(plan.blocks_together()),\n"
       "                                  .scope = plan.pair ? Scope::cluster : Scope::block}>;",
       "                                  .blocks = 1}>;"},
      {"a strip that is left out is not counted", every_other,
       "    for (int i = 0; i < plan.strips_of_tile(); ++i) strips_.left_out();", ""},
      {"multiplied queries reach the products without a fence between the proxies", capped,
       "  fence::proxy_async_shared();\n  barrier::sync(barrier, warpgroup_threads);",
       "  barrier::sync(barrier, warpgroup_threads);"},
  };
  for (const Mutation& m : mutations) {
    SCOPED_TRACE(m.what);
    std::size_t found = 0;
    for (const vgpu::Mode mode : {vgpu::Mode::friendly, vgpu::Mode::random, vgpu::Mode::adversarial})
      if (found == 0) {
        vgpu::set_run_options(device, {.mode = mode, .seed = 1, .max_instructions = 3'000'000, .check = true});
        found = found_with(m.in, m.from, m.to);
      }
    EXPECT_GT(found, 0u);
  }
  vgpu::set_run_options(device, {.check = true});
  for (const Problem* p : {&plain, &idle, &in_place, &varying, &biased, &narrow, &early, &blank, &pairs, &paired_ends,
                           &paired_narrow, &left_out, &capped, &every_other})  // the same way, with nothing left out
    EXPECT_EQ(found_with(*p, "struct AttentionPlan {", "struct AttentionPlan {"), 0u);
  vgpu::set_run_options(device, {});
}

// In which expression and column.
TEST_F(AttentionJudge, FindsAnExpressionThatReadsBeyondAnArray) {
  AttentionCase c{.heads = 2, .kv_heads = 1, .queries = 100, .keys = 100, .head_dim = 64, .value_dim = 64};
  c.score = "score + slope[head + 4000000]";
  c.numbers = {{"slope", {1.f, 2.f}}};
  const RandomAttention attention(stream, c, 1);
  try {
    wm::attention(stream, attention.request());
    stream.synchronize();
    FAIL() << "nothing was found";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("score:9"), std::string_view::npos) << error.what();
  }
}

}  // namespace wm::test
