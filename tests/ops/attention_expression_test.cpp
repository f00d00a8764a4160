// Expressions of the caller's own: compared with float64, and what is said of those that are wrong.
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "attention/random_attention.hpp"
#include "ops/attention_fixture.hpp"
#include "plan/attention_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

using bench::AttentionCase;
using bench::RandomAttention;

namespace {

double error_of(const Stream& stream, const AttentionCase& problem) {
  const RandomAttention attention(stream, problem, 1);
  wm::attention(stream, attention.request());
  stream.synchronize();
  return attention.error();
}

std::string refusal(const Stream& stream, const AttentionCase& problem) {
  try {
    error_of(stream, problem);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

AttentionCase ordinary() {
  return {.batch = 2, .heads = 2, .kv_heads = 1, .queries = 230, .keys = 230, .head_dim = 64, .value_dim = 64};
}

}  // namespace

TEST_F(Attention, SkipsWhatADocumentDoesNotSee) {
  for (const int documents : {1, 2, 4, 40})  // of two, steps are whole to one group of a tile
    for (const bool causal : {false, true}) {
      AttentionCase c = ordinary();
      c.keys = c.queries = 600, c.head_dim = 72, c.sinks = causal;
      if (causal) c.mask = AttentionMask::causal();
      c.set_documents(documents);
      EXPECT_LT(error_of(stream, c), 1) << documents << (causal ? ", causal" : "");
    }
}

TEST_F(Attention, ChangesScoresByAnExpression) {
  AttentionCase c = ordinary();
  c.score = "score + slope[head] * (k - q)";
  c.numbers = {{"slope", {0.05f, 0.01f}}};
  c.score_of = [&](double score, std::int64_t q, std::int64_t k, std::int64_t head, std::int64_t) {
    return score + c.numbers[0].second[static_cast<std::size_t>(head)] * static_cast<double>(k - q);
  };
  c.softcap = 10;
  EXPECT_LT(error_of(stream, c), 1);
}

// Batches have numbers, and so have sequences; the mask's limits hold beside the expression.
TEST_F(Attention, AsksTheMaskAboutEachSequence) {
  for (const bool sequences : {false, true}) {
    AttentionCase c = ordinary();
    c.mask = {.left = 90, .right = 0};
    c.mask_expression = "(q + k) % 3 != batch || head == 1 && k < keys - queries + 20";
    c.sees = [&](std::int64_t q, std::int64_t k, std::int64_t head, std::int64_t batch) {
      const std::int64_t difference = !sequences ? 0 : batch == 1 ? 30 : 0;
      return (q + k) % 3 != batch || (head == 1 && k < difference + 20);
    };
    if (sequences) c.sequences = {{70, 70}, {100, 130}, {5, 5}};
    EXPECT_LT(error_of(stream, c), 1) << sequences;
  }
}

// Arrays end where the longest sequence does: on the virtual GPU a read behind it is an error.
TEST_F(Attention, ReadsArraysNoFurtherThanSequencesGo) {
  const auto numbers = [](std::int32_t count) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  };
  for (const bool sequences : {false, true}) {
    AttentionCase c = ordinary();
    if (sequences)
      c.sequences = {{70, 70}, {100, 130}, {5, 5}};
    else
      c.key_lengths = {150, 40};
    c.mask_expression = "(of_query[q] + of_key[k]) % 3 != 0";
    c.integers = {{"of_query", numbers(sequences ? 100 : 230)}, {"of_key", numbers(sequences ? 130 : 150)}};
    c.sees = [](std::int64_t q, std::int64_t k, std::int64_t, std::int64_t) { return (q + k) % 3 != 0; };
    EXPECT_LT(error_of(stream, c), 1) << sequences;
  }
}

// Each batch has documents of its own, and the second head sees all: tiles differ in which steps they take by batch and
// head, rows of a tile in which keys they see, and some see all or none of a step's.
TEST_F(Attention, AsksAboutTilesAndRowsOfEachBatchAndHead) {
  for (const int head_dim : {64, 128}) {  // three groups, and two
    AttentionCase c = ordinary();
    c.keys = c.queries = 700, c.head_dim = c.value_dim = head_dim;
    std::vector<std::int32_t> documents;
    for (const std::vector<int>& ends : {std::vector{30, 500, 700}, {250, 260, 270, 700}})
      for (int position = 0, document = 0; position < 700; ++position) {
        if (position == ends[static_cast<std::size_t>(document)]) ++document;
        documents.push_back(document);
      }
    c.integers = {{"of", documents}};
    const std::string q = "of[batch * queries + q", k = "of[batch * keys + k";
    c.mask_expression = "head == 1 || " + q + "] == " + k + "]";
    c.skip = "head == 0 && (" + k + "_last] < " + q + "_first] || " + k + "_first] > " + q + "_last])";
    c.whole = "head == 1 || (" + k + "_first] == " + q + "_last] && " + k + "_last] == " + q + "_first])";
    c.sees = [&](std::int64_t query, std::int64_t key, std::int64_t head, std::int64_t batch) {
      const auto of = [&](std::int64_t position) {
        return documents[static_cast<std::size_t>(batch * 700 + position)];
      };
      return head == 1 || of(query) == of(key);
    };
    EXPECT_LT(error_of(stream, c), 1) << head_dim;
  }
}

// Steps in any order of kinds: whole ones by themselves and side by side, holes, steps that hide some keys, steps that
// are whole to the lower groups alone; and more than the 32 that are asked about at a time.
TEST_F(Attention, TakesWholeStepsAndHolesInAnyOrder) {
  enum Block : std::int32_t { unseen, whole, masked, lower };  // of 32 keys: to the queries
  std::vector<std::int32_t> blocks;
  const auto add = [&](int count, Block block) { blocks.insert(blocks.end(), static_cast<std::size_t>(count), block); };
  for (const Block between : {unseen, masked, lower})
    for (const int count : {3, 1, 2, 5}) add(count, whole), add(1, between);
  add(38, whole), add(4, unseen), add(2, masked), add(7, whole);
  const bool hopper = device.info().arch.number() == 90;
  for (const char* const plan :
       hopper ? std::vector{"192x32 s2 o1", "128x32 s2 o1", "64x32 s2 o1"} : std::vector{"256x32 s2 o1 tcgen05"}) {
    AttentionCase c = ordinary();
    c.batch = c.heads = 1, c.keys = 32 * static_cast<std::int64_t>(blocks.size());
    c.integers = {{"block", blocks}};
    c.mask_expression = "block[k / 32] == 1 || block[k / 32] == 2 && (q + k) % 3 || block[k / 32] == 3 && q >= 64";
    c.skip = "block[k_first / 32] == 0 || block[k_first / 32] == 3 && q_last < 64";
    c.whole = "block[k_first / 32] == 1 || block[k_first / 32] == 3 && q_first >= 64";
    c.sees = [&](std::int64_t q, std::int64_t k, std::int64_t, std::int64_t) {
      const std::int32_t block = blocks[static_cast<std::size_t>(k / 32)];
      return block == whole || (block == masked && (q + k) % 3 != 0) || (block == lower && q >= 64);
    };
    const RandomAttention attention(stream, c, 1);
    AttentionRequest request = attention.request();
    request.plan = plan::attention_plan_from_text(plan);
    wm::attention(stream, request);
    stream.synchronize();
    EXPECT_LT(attention.error(), 1) << plan;
  }
}

// Where keys end inside a step one warp clears what follows them, while another asks which steps are whole.
TEST_F(Attention, AsksWhichStepsAreWholeWhereKeysEndInside) {
  for (const bool sequences : {false, true}) {
    AttentionCase c = ordinary();
    c.keys = c.queries = 400;
    if (sequences)
      c.sequences = {{170, 170}, {400, 330}, {0, 5}, {5, 0}};
    else
      c.key_lengths = {333, 0};
    c.mask_expression = "k < 150 || q % 2 == 0", c.whole = "k_last < 150";
    c.sees = [](std::int64_t q, std::int64_t k, std::int64_t, std::int64_t) { return k < 150 || q % 2 == 0; };
    EXPECT_LT(error_of(stream, c), 1) << sequences;
  }
}

TEST_F(Attention, WritesZerosWhereEveryStepIsSkipped) {
  AttentionCase c = ordinary();
  c.mask_expression = "q >= 128", c.skip = "q_last < 128", c.whole = "q_first >= 128";
  c.sees = [](std::int64_t q, std::int64_t, std::int64_t, std::int64_t) { return q >= 128; };
  EXPECT_LT(error_of(stream, c), 1);
}

TEST_F(Attention, SaysWhatIsWrongWithAnExpressionInTheCallersWords) {
  const auto expect = [&](const char* words, const auto& change) {
    AttentionCase bad = ordinary();
    bad.numbers = {{"slope", {1.f, 2.f}}};
    change(bad);
    const std::string said = refusal(stream, bad);
    EXPECT_NE(said.find(words), std::string::npos) << words << ": " << said;
    EXPECT_TRUE(said.starts_with("attention refused: ")) << said;
  };
  using C = AttentionCase;
  expect("the score 'score + slop[head]' does not compile, column 9: identifier \"slop\" is undefined",
         [](C& c) { c.score = "score + slop[head]"; });
  expect("the mask 'k < q + * 2' does not compile, column 11:", [](C& c) { c.mask_expression = "k < q + * 2"; });
  expect("the score 'slope[head] = score' has a side effect, column 13: it assigns",
         [](C& c) { c.score = "slope[head] = score"; });
  expect("column 9: 'atomicAdd' does more than compute a value",
         [](C& c) { c.score = "score + atomicAdd(&slope[0], 1)"; });
  expect("column 3: '++' changes", [](C& c) { c.mask_expression = "k ++ < q"; });
  expect("it casts to a pointer", [](C& c) { c.score = "*(float*)slope"; });
  expect("is no expression: a bracket is not closed", [](C& c) { c.score = "(score"; });
  expect("skip and whole tell where the mask need not be asked, and there is no mask", [](C& c) { c.skip = "true"; });
  expect("there is no skip with sequences", [](C& c) {
    c.mask_expression = c.skip = "true", c.sequences = {{10, 10}};
  });
  expect("alibi_slopes and an expression of the score exclude each other",
         [](C& c) { c.score = "score", c.alibi = true; });
  expect("'2x' is no name of an array", [](C& c) { c.score = "score", c.numbers[0].first = "2x"; });
}

}  // namespace wm::test
