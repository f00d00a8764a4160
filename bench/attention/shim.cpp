// The attention call behind a C interface with raw pointers, for the measurement beside PyTorch (bench_attention.py).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include "plan/attention_plan_text.hpp"
#include "warpmill/attention.hpp"
#include "warpmill/error.hpp"

// Everything in elements and counts; addresses are the caller's. Mirrored in bench_attention.py.
struct BenchAttention {
  std::uint64_t q, k, v, out, lse;  // lse 0: none
  std::int64_t batch, heads, kv_heads, queries, keys, head_dim, value_dim;
  std::int64_t q_strides[3], k_strides[3], v_strides[3], out_strides[3];  // batch, head, position
  std::uint64_t query_offsets, key_offsets;                               // 0: no sequences
  std::int64_t sequences, total_queries, total_keys;
  std::uint64_t alibi_slopes, sinks, documents, key_lengths;  // 0: none; documents: i32, of each position, rising
  std::int32_t dtype, left, right, align_ends;                // bf16, f16 or e4m3 to bf16; left, right: -1 is no limit
  float softcap;                                              // 0: none
  char plan[48];                                              // "128x176 s2 o1"; empty: the library's own choice
};

namespace {

wm::View tensor(const wm::Device& device, wm::DType dtype, std::uint64_t address, const BenchAttention& a,
                std::int64_t heads, std::int64_t positions, std::int64_t dim, const std::int64_t (&strides)[3]) {
  if (a.query_offsets) return {device, address, dtype, {heads, positions, dim}, {strides[1], strides[2], 1}};
  return {device, address, dtype, {a.batch, heads, positions, dim}, {strides[0], strides[1], strides[2], 1}};
}

wm::AttentionRequest request_of(const wm::Device& device, const BenchAttention& a) {
  const std::int64_t queries = a.query_offsets ? a.total_queries : a.queries,
                     keys = a.key_offsets ? a.total_keys : a.keys;
  constexpr wm::DType dtypes[] = {wm::DType::bf16, wm::DType::f16, wm::DType::e4m3};
  const wm::DType dtype = dtypes[a.dtype], out = dtype == wm::DType::e4m3 ? wm::DType::bf16 : dtype;
  wm::AttentionRequest request{.q = tensor(device, dtype, a.q, a, a.heads, queries, a.head_dim, a.q_strides),
                               .k = tensor(device, dtype, a.k, a, a.kv_heads, keys, a.head_dim, a.k_strides),
                               .v = tensor(device, dtype, a.v, a, a.kv_heads, keys, a.value_dim, a.v_strides),
                               .out = tensor(device, out, a.out, a, a.heads, queries, a.value_dim, a.out_strides)};
  if (a.lse)
    request.lse = a.query_offsets ? wm::View(device, a.lse, wm::DType::f32, {a.heads, queries})
                                  : wm::View(device, a.lse, wm::DType::f32, {a.batch, a.heads, queries});
  if (a.left >= 0) request.mask.left = a.left;
  if (a.right >= 0) request.mask.right = a.right;
  request.mask.alignment = a.align_ends ? wm::Alignment::ends : wm::Alignment::beginnings;
  if (a.query_offsets)
    request.sequences = wm::AttentionSequences{{device, a.query_offsets, wm::DType::i32, {a.sequences + 1}},
                                               {device, a.key_offsets, wm::DType::i32, {a.sequences + 1}},
                                               a.queries,
                                               a.keys};
  request.softcap = a.softcap;
  if (a.alibi_slopes) request.alibi_slopes = wm::View(device, a.alibi_slopes, wm::DType::f32, {a.heads});
  if (a.sinks) request.sinks = wm::View(device, a.sinks, wm::DType::f32, {a.heads});
  if (a.key_lengths) request.key_lengths = wm::View(device, a.key_lengths, wm::DType::i32, {a.batch});
  if (a.documents)
    request.expressions = {
        .score = "",
        .mask = "document[q] == document[k]",
        .skip = "document[k_last] < document[q_first] || document[k_first] > document[q_last]",
        .whole = "document[k_first] == document[q_last] && document[k_last] == document[q_first]",
        .arrays = {{"document", wm::View(device, a.documents, wm::DType::i32, {std::max(a.queries, a.keys)})}}};
  if (a.plan[0] != 0) request.plan = wm::plan::attention_plan_from_text(a.plan);
  return request;
}

template <class Do>
int guarded(char* words, std::size_t size, const Do& act) {
  try {
    act();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(words, size, "%s", error.what());
    return 1;
  }
}

}  // namespace

extern "C" {

// On the caller's stream. `words` gets the refusal, or the plan that ran.
[[gnu::visibility("default")]] int bench_attention(void* stream, const BenchAttention* a, char* words,
                                                   std::size_t size) {
  return guarded(words, size, [&] {
    static const wm::Device device = wm::Device::open("cuda:0");
    const wm::AttentionResult result = wm::attention(wm::Stream::wrap(device, stream), request_of(device, *a));
    std::snprintf(words, size, "%s", wm::plan::text_of(result.plan).c_str());
  });
}

// A timeline of one launch, as JSON into a file.
[[gnu::visibility("default")]] int bench_attention_trace(void* stream, const BenchAttention* a, const char* file,
                                                         char* words, std::size_t size) {
  return guarded(words, size, [&] {
    static const wm::Device device = wm::Device::open("cuda:0");
    wm::AttentionRequest request = request_of(device, *a);
    wm::Trace trace;
    request.trace = &trace;
    wm::attention(wm::Stream::wrap(device, stream), request);
    const std::string json = trace.to_json();
    if (std::FILE* out = std::fopen(file, "w")) {
      std::fwrite(json.data(), 1, json.size(), out);
      std::fclose(out);
    }
  });
}
}
