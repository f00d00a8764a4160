// What the attention call refuses: in words, and before anything is launched.
#include <limits>

#include "ops/attention_fixture.hpp"
#include "warpmill/attention.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

using enum DType;

namespace {

std::string refusal(const Stream& stream, const AttentionRequest& request) {
  try {
    attention(stream, request);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_F(Attention, RefusesInWordsBeforeAnythingIsLaunched) {
  const Buffer q(device, 1 << 20), k(device, 1 << 20), v(device, 1 << 20), out(device, 1 << 20);
  const std::vector<std::int64_t> shape{2, 4, 64, 128};
  const AttentionRequest good{
      .q = q.view(bf16, shape), .k = k.view(bf16, shape), .v = v.view(bf16, shape), .out = out.view(bf16, shape)};
  const auto expect = [&](const char* words, const auto& change) {
    AttentionRequest bad = good;
    change(bad);
    const std::string said = refusal(stream, bad);
    EXPECT_NE(said.find(words), std::string::npos) << words << ": " << said;
    EXPECT_TRUE(said.starts_with("attention refused: ")) << said;
  };
  using R = AttentionRequest;
  // Types and shapes.
  expect("q holds f32; q, k and v are all bf16, all f16 or all e4m3", [&](R& r) {
    r.q = q.view(f32, {2, 4, 32, 128});
  });
  expect("k holds f16", [&](R& r) { r.k = k.view(f16, shape); });
  expect("v has 3 dimensions; they are batch x heads x length x dim", [&](R& r) { r.v = v.view(bf16, {4, 64, 128}); });
  expect("the shapes do not fit: q is 2 x 4 x 64 x 128, k is 2 x 4 x 64 x 64", [&](R& r) {
    r.k = k.view(bf16, {2, 4, 64, 64});
  });
  expect("the shapes do not fit", [&](R& r) { r.k = k.view(bf16, {1, 4, 64, 128}); });
  expect("the shapes do not fit", [&](R& r) { r.out = out.view(bf16, {2, 4, 63, 128}); });
  expect("4 heads of q cannot share 3 heads of k and v evenly", [&](R& r) {
    r.k = k.view(bf16, {2, 3, 64, 128}), r.v = v.view(bf16, {2, 3, 64, 128});
  });
  expect("a head dim of 100 is not served in bf16; it is a multiple of 8 from 8 to 256", [&](R& r) {
    r.q = q.view(bf16, {2, 4, 64, 100}), r.k = k.view(bf16, {2, 4, 64, 100});
  });
  expect("a value dim of 264", [&](R& r) {
    r.v = v.view(bf16, {2, 4, 64, 264}), r.out = out.view(bf16, {2, 4, 64, 264});
  });
  expect("out holds e4m3; it is bf16, as q, k and v are", [&](R& r) { r.out = out.view(e4m3, shape); });
  // e4m3 and its scales.
  const Buffer scales(device, 64);
  const auto narrow = [&](R& r, std::int64_t dim = 128) {
    for (View* view : {&r.q, &r.k, &r.v}) *view = View(device, view->address, e4m3, {2, 4, 64, dim});
    r.out = out.view(bf16, {2, 4, 64, dim});
  };
  expect("a head dim of 24 is not served in e4m3; it is a multiple of 16 from 16 to 256", [&](R& r) { narrow(r, 24); });
  expect("k holds bf16; q, k and v are", [&](R& r) { narrow(r), r.k = k.view(bf16, shape); });
  expect("out holds f32; that of e4m3 is bf16, f16 or e4m3", [&](R& r) { narrow(r), r.out = out.view(f32, shape); });
  expect("k_descale is for e4m3, and q, k and v are bf16: leave it out",
         [&](R& r) { r.k_descale = scales.view(f32, {1}); });
  expect("v_descale holds f32 of shape 4 x 2; it is f32, one number or 2 x 4, one for each batch and head of k",
         [&](R& r) {
           narrow(r), r.v_descale = scales.view(f32, {4, 2});
         });
  expect("q_descale holds bf16 of shape 1", [&](R& r) { narrow(r), r.q_descale = scales.view(bf16, {1}); });
  expect("out_scale is for an output in e4m3, and out is bf16",
         [&](R& r) { narrow(r), r.out_scale = scales.view(f32, {1}); });
  expect("out_scale holds f32 of shape 2; it is one f32",
         [&](R& r) { narrow(r), r.out = out.view(e4m3, shape), r.out_scale = scales.view(f32, {2}); });
  expect("out overlaps q_descale", [&](R& r) { narrow(r), r.q_descale = out.view(f32, {2, 4}); });
  expect("impossible: a step has a multiple of 32 keys where elements have 8 bits",
         [&](R& r) { narrow(r), r.plan = AttentionPlan{.keys = 48}; });
  expect("impossible: the output does not fit where Q was",
         [&](R& r) { narrow(r), r.plan = AttentionPlan{.keys = 64, .strips = 0}; });
  // What the copy engine cannot address.
  expect("k's last dimension has a stride of 2", [&](R& r) { r.k = k.view(bf16, shape, {1 << 16, 1 << 14, 256, 2}); });
  expect("q begins at", [&](R& r) { r.q = q.view(bf16, shape, {}, 2); });
  expect("v's dimension 2 has a stride of 132 elements (264 bytes)", [&](R& r) {
    r.v = v.view(bf16, shape, {1 << 16, 1 << 14, 132, 1});
  });
  // Overlaps.
  expect("out overlaps q", [&](R& r) { r.out = r.q; });
  expect("out overlaps v", [&](R& r) { r.out = r.v; });
  expect("out's elements overlap", [&](R& r) { r.out = out.view(bf16, shape, {0, 64 * 128, 128, 1}); });
  expect("lse overlaps k", [&](R& r) { r.lse = k.view(f32, {2, 4, 64}); });
  expect("out overlaps lse", [&](R& r) { r.lse = out.view(f32, {2, 4, 64}); });
  expect("lse holds bf16 of shape 2 x 4 x 64; it is f32 of shape 2 x 4 x 64", [&](R& r) {
    r.lse = q.view(bf16, {2, 4, 64});
  });
  // Numbers.
  expect("the scale is -1", [&](R& r) { r.scale = -1.f; });
  expect("the scale is inf", [&](R& r) { r.scale = std::numeric_limits<float>::infinity(); });
  expect("the softcap is nan", [&](R& r) { r.softcap = std::numeric_limits<float>::quiet_NaN(); });
  expect("the mask's left is -3", [&](R& r) { r.mask.left = -3; });
  expect("the mask's right is 4294967296", [&](R& r) { r.mask.right = std::int64_t{1} << 32; });
  // Numbers of heads.
  const Buffer numbers(device, 4 * 16);
  expect("alibi_slopes holds bf16 of shape 4; it is f32, one dimension, side by side, one for each of 4 heads of q",
         [&](R& r) { r.alibi_slopes = numbers.view(bf16, {4}); });
  expect("sinks holds f32 of shape 2 x 4", [&](R& r) { r.sinks = numbers.view(f32, {2, 4}); });
  expect("sinks holds f32 of shape 3", [&](R& r) { r.sinks = numbers.view(f32, {3}); });
  expect("out overlaps sinks", [&](R& r) { r.sinks = out.view(f32, {4}); });
  expect("key_lengths holds i32 of shape 3; it is i32, one dimension, side by side, one for each of 2 batches",
         [&](R& r) { r.key_lengths = numbers.view(i32, {3}); });
  expect("impossible: packed rows have 1, 2, 4, 8, 16 or 32 queries",
         [&](R& r) { r.plan = AttentionPlan{.keys = 64, .packed = 3}; });
  // Sequences.
  const Buffer offsets(device, 4 * 16);
  const auto sequences = [&](View queries, View keys, std::int64_t longest = 64) {
    return AttentionSequences{queries, keys, longest, longest};
  };
  expect("q has 4 dimensions; with sequences they are heads x positions x dim",
         [&](R& r) { r.sequences = sequences(offsets.view(i32, {3}), offsets.view(i32, {3})); });
  const auto packed = [&](R& r) {
    for (View* view : {&r.q, &r.k, &r.v, &r.out}) *view = View(device, view->address, bf16, {4, 128, 128});
  };
  expect("query_offsets holds f32",
         [&](R& r) { packed(r), r.sequences = sequences(offsets.view(f32, {3}), offsets.view(i32, {3})); });
  expect("there are 3 query offsets and 4 key offsets",
         [&](R& r) { packed(r), r.sequences = sequences(offsets.view(i32, {3}), offsets.view(i32, {4})); });
  expect("negative length",
         [&](R& r) { packed(r), r.sequences = sequences(offsets.view(i32, {3}), offsets.view(i32, {3}), -1); });
  expect("out overlaps query_offsets", [&](R& r) {
    packed(r), r.sequences = sequences(View(device, r.out.address, i32, {3}), offsets.view(i32, {3}));
  });
  // Plans.
  expect("the plan given is impossible: a step has 16 to 256 keys", [&](R& r) { r.plan = AttentionPlan{.keys = 24}; });
  expect("impossible: scores and sums leave a multiply thread too few registers",
         [&](R& r) { r.plan = AttentionPlan{.keys = 128, .groups = 3}; });
  expect("impossible: there are 1 to 3 multiply groups", [&](R& r) { r.plan = AttentionPlan{.groups = 0}; });
  expect("impossible: K and V have 2 to 8 stages each",
         [&](R& r) { r.plan = AttentionPlan{.stages = std::numeric_limits<int>::min()}; });
  expect("impossible: Q, K, V and the output take more than 232448 bytes",
         [&](R& r) { r.plan = AttentionPlan{.keys = 128, .stages = 8}; });
  EXPECT_EQ(refusal(stream, good), "accepted");
}

TEST_F(Attention, RefusesWhatIsNotHopperAndMemoryOfAnotherDevice) {
  const Device ampere = Device::open("virtual:sm_80");
  const Stream other(ampere);
  const std::vector<std::int64_t> shape{1, 1, 64, 64};
  const Buffer memory(ampere, 1 << 16);
  const View view = memory.view(bf16, shape);
  EXPECT_NE(
      refusal(other, {.q = view, .k = view, .v = view, .out = view}).find("the kernels are for sm_90a and sm_100a"),
      std::string::npos);
  EXPECT_NE(refusal(stream, {.q = view, .k = view, .v = view, .out = view}).find("q lies on virtual:sm_80"),
            std::string::npos);
}

TEST_F(Attention, HasNothingToDoWithoutQueries) {
  const Buffer memory(device, 1 << 16);
  const View none = memory.view(bf16, {1, 2, 0, 64}), keys = memory.view(bf16, {1, 2, 10, 64});
  EXPECT_EQ(attention(stream, {.q = none, .k = keys, .v = keys, .out = none}).blocks, 0u);
  const View no_batch = memory.view(bf16, {0, 2, 10, 64}), lse = memory.view<float>({0, 2, 10});
  EXPECT_EQ(attention(stream, {.q = no_batch, .k = no_batch, .v = no_batch, .out = no_batch, .lse = lse}).blocks, 0u);
}

}  // namespace wm::test
