// Products and attention for C.
#include <array>
#include <span>

#include <fmt/format.h>

#include "capi/requests.hpp"
#include "plan/attention_plan_text.hpp"
#include "plan/gemm_plan_text.hpp"

namespace wm::capi {
namespace {

std::optional<View> maybe_view(const Device& device, const wm_view* view, std::string_view name) {
  if (!view) return std::nullopt;
  return view_of(device, view, name);
}

Activation activation_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Activation>, 5> names{{{"none", Activation::none},
                                                                          {"relu", Activation::relu},
                                                                          {"gelu_tanh", Activation::gelu_tanh},
                                                                          {"gelu_erf", Activation::gelu_erf},
                                                                          {"silu", Activation::silu}}};
  std::string known;
  for (const auto& [word, activation] : names) {
    if (word == name) return activation;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}' is no activation; there are {}, or an expression of x of your own", name, known));
}

}  // namespace

GemmRequest gemm_request(const Device& device, const wm_gemm_request* request) {
  const wm_gemm_request given = read(request, "request");
  GemmRequest own{
      .a = view_of(device, given.a, "a"), .b = view_of(device, given.b, "b"), .d = view_of(device, given.d, "d")};
  GemmEpilogue& epilogue = own.epilogue;
  if (given.alpha) epilogue.alpha = *given.alpha;
  if (given.beta) epilogue.beta = *given.beta;
  epilogue.c = maybe_view(device, given.c, "c");
  epilogue.row_scale = maybe_view(device, given.row_scale, "row_scale");
  epilogue.column_scale = maybe_view(device, given.column_scale, "column_scale");
  epilogue.row_bias = maybe_view(device, given.row_bias, "row_bias");
  epilogue.column_bias = maybe_view(device, given.column_bias, "column_bias");
  epilogue.amax = maybe_view(device, given.amax, "amax");
  epilogue.d_scale = maybe_view(device, given.d_scale, "d_scale");
  if (given.activation) epilogue.activation = activation_of(given.activation);
  if (given.expression) {
    if (epilogue.activation != Activation::none)
      throw Error(ErrorCode::invalid_argument, "an activation and an expression were given; it is one or the other");
    epilogue.activation = Activation::expression;
    epilogue.expression = given.expression;
  }
  if (given.batch_d) {
    const auto list = [&](const std::uint64_t* addresses) { return std::span(addresses, addresses ? given.batch : 0); };
    own.batch = GemmBatch{list(given.batch_a), list(given.batch_b), list(given.batch_c), list(given.batch_d)};
  }
  own.promote = given.promote != 0;
  own.align = given.no_align == 0;
  if (given.plan) own.plan = plan::plan_from_text(given.plan, {.a = own.a.dtype, .b = own.b.dtype, .d = own.d.dtype});
  return own;
}

AttentionRequest attention_request(const Device& device, const wm_attention_request* request) {
  const wm_attention_request given = read(request, "request");
  AttentionRequest own{.q = view_of(device, given.q, "q"),
                       .k = view_of(device, given.k, "k"),
                       .v = view_of(device, given.v, "v"),
                       .out = view_of(device, given.out, "out")};
  own.lse = maybe_view(device, given.lse, "lse");
  if (given.scale) own.scale = *given.scale;
  if (given.left) own.mask.left = *given.left;
  if (given.right) own.mask.right = *given.right;
  own.mask.alignment = given.from_beginnings ? Alignment::beginnings : Alignment::ends;
  own.softcap = given.softcap;
  if (given.query_offsets || given.key_offsets)
    own.sequences = AttentionSequences{view_of(device, given.query_offsets, "query_offsets"),
                                       view_of(device, given.key_offsets, "key_offsets"), given.longest_queries,
                                       given.longest_keys};
  own.alibi_slopes = maybe_view(device, given.alibi_slopes, "alibi_slopes");
  own.sinks = maybe_view(device, given.sinks, "sinks");
  own.key_lengths = maybe_view(device, given.key_lengths, "key_lengths");
  own.q_descale = maybe_view(device, given.q_descale, "q_descale");
  own.k_descale = maybe_view(device, given.k_descale, "k_descale");
  own.v_descale = maybe_view(device, given.v_descale, "v_descale");
  own.out_scale = maybe_view(device, given.out_scale, "out_scale");
  const auto text = [](const char* words) { return std::string(words ? words : ""); };
  own.expressions = {text(given.score), text(given.mask), text(given.skip), text(given.whole), {}};
  for (std::size_t i = 0; i < given.array_count; ++i)
    own.expressions.arrays.push_back(
        {text(given.array_names[i]), view_of(device, given.arrays[i], given.array_names[i])});
  if (given.plan) own.plan = plan::attention_plan_from_text(given.plan);
  return own;
}

}  // namespace wm::capi

using namespace wm;
using namespace wm::capi;

wm_status wm_gemm(const wm_stream* stream, const wm_gemm_request* request, wm_launched* launched) {
  return guarded([&] {
    const Stream& own = at(stream, "stream").stream;
    if (launched) size_of(launched, "launched");  // refused before anything is in the stream
    const GemmResult result = gemm(own, gemm_request(own.device(), request));
    if (launched)
      write(launched,
            {0, thread_text(plan::text_of(result.plan)), thread_text(result.path()), result.blocks, result.tuned},
            "launched");
  });
}

wm_status wm_attention(const wm_stream* stream, const wm_attention_request* request, wm_launched* launched) {
  return guarded([&] {
    const Stream& own = at(stream, "stream").stream;
    if (launched) size_of(launched, "launched");
    const AttentionResult result = attention(own, attention_request(own.device(), request));
    if (launched)
      write(launched, {0, thread_text(plan::text_of(result.plan)), "copy engine", result.blocks, result.tuned},
            "launched");
  });
}
