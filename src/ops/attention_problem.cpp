// Checks of an attention request.
#include "ops/attention_problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/expression.hpp"
#include "ops/overlap.hpp"
#include "warpmill/error.hpp"

namespace wm::ops {
namespace {

[[noreturn]] void refuse_attention(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "attention refused: " + why);
}

std::string sizes(const View& view) { return fmt::format("{}", fmt::join(view.shape, " x ")); }

using plan::most_positions;

void refuse_overlap(const View& written, std::string_view name, const View& other, std::string_view other_name) {
  if (overlap(written, written.address, other, other.address))
    refuse_attention(fmt::format("{} overlaps {}; give it memory of its own", name, other_name));
}

void check_device(const View& view, std::string_view name, const Stream& stream) {
  if (!(view.device == stream.device()))
    refuse_attention(fmt::format("{} lies on {} and the stream belongs to {}", name, view.device.info().id,
                                 stream.device().info().id));
}

// Dimensions from the last: dim, positions, heads, batch. A dimension of one has any stride.
HeadTensor tensor_of(const View& view, bool has_dim) {
  const std::size_t rank = view.shape.size(), inner = has_dim ? 1 : 0;
  const auto stride = [&](std::size_t from_end) {
    const std::size_t i = rank - 1 - from_end;
    return from_end < rank && view.shape[i] > 1 ? view.strides[i] : 0;
  };
  return {view.address, stride(inner + 2), stride(inner + 1), stride(inner), view.shape[rank - 1 - inner], view.dtype};
}

// What the copy engine asks of a tensor.
void check_addressable(const View& view, std::string_view name) {
  if (view.elements() == 0) return;  // nothing is read there
  const std::size_t rank = view.shape.size();
  const auto bytes = static_cast<std::int64_t>(size_of(view.dtype));
  if (view.shape[rank - 1] > 1 && view.strides[rank - 1] != 1)
    refuse_attention(fmt::format("{}'s last dimension has a stride of {}; the elements of a head must lie side by side",
                                 name, view.strides[rank - 1]));
  if (view.address % 16)
    refuse_attention(
        fmt::format("{} begins at {:#x}, which the copy engine cannot address: it must be a multiple of 16 "
                    "bytes",
                    name, view.address));
  for (std::size_t i = 0; i + 1 < rank; ++i) {
    if (view.shape[i] <= 1) continue;
    const std::int64_t step = view.strides[i] * bytes;
    if (step % 16 || step >= std::int64_t{1} << 40)
      refuse_attention(fmt::format(
          "{}'s dimension {} has a stride of {} elements ({} bytes), which the copy engine cannot address: it "
          "must be a multiple of 16 bytes, below 2^40; copy it into a tensor with padded rows",
          name, i, view.strides[i], step));
  }
}

std::uint64_t offsets_of(const View& view, std::string_view name, const Stream& stream) {
  check_device(view, name, stream);
  if (view.dtype != DType::i32 || view.shape.size() != 1 || view.shape[0] < 1 ||
      (view.shape[0] > 1 && view.strides[0] != 1))
    refuse_attention(
        fmt::format("{} holds {} of shape {}; offsets are i32, one dimension, side by side, one more than "
                    "there are sequences",
                    name, name_of(view.dtype), sizes(view)));
  return view.address;
}

std::uint64_t head_numbers(const View& view, std::string_view name, std::int64_t heads, const Stream& stream) {
  check_device(view, name, stream);
  if (view.dtype != DType::f32 || view.shape.size() != 1 || view.shape[0] != heads ||
      (heads > 1 && view.strides[0] != 1))
    refuse_attention(
        fmt::format("{} holds {} of shape {}; it is f32, one dimension, side by side, one for each of {} "
                    "heads of q",
                    name, name_of(view.dtype), sizes(view), heads));
  return view.address;
}

// One number for all, or one for each batch and head of K and V.
HeadScales scales_of(const std::optional<View>& view, std::string_view name, const AttentionProblem& p,
                     const Stream& stream) {
  if (!view) return {};
  check_device(*view, name, stream);
  if (!p.kind.narrow())
    refuse_attention(fmt::format("{} is for e4m3, and q, k and v are {}: leave it out", name, name_of(p.kind.element)));
  const bool one = view->elements() == 1, each = view->shape == std::vector{p.batch, p.kv_heads};
  if (view->dtype != DType::f32 || (!one && !each))
    refuse_attention(
        fmt::format("{} holds {} of shape {}; it is f32, one number or {} x {}, one for each batch and head of k", name,
                    name_of(view->dtype), sizes(*view), p.batch, p.kv_heads));
  if (one) return {view->address, 0, 0};
  return {view->address, view->strides[0], view->strides[1]};
}

void set_scales(AttentionProblem& p, const AttentionRequest& request, const Stream& stream) {
  p.q_scales = scales_of(request.q_descale, "q_descale", p, stream);
  p.k_scales = scales_of(request.k_descale, "k_descale", p, stream);
  p.v_scales = scales_of(request.v_descale, "v_descale", p, stream);
  if (!request.out_scale) return;
  const View& scale = *request.out_scale;
  check_device(scale, "out_scale", stream);
  if (p.kind.out_element() != DType::e4m3)
    refuse_attention(
        fmt::format("out_scale is for an output in e4m3, and out is {}: leave it out", name_of(p.kind.out_element())));
  if (scale.dtype != DType::f32 || scale.elements() != 1)
    refuse_attention(fmt::format("out_scale holds {} of shape {}; it is one f32", name_of(scale.dtype), sizes(scale)));
  p.out_scale = scale.address;
}

// q, k and v have one type, and the output theirs; of e4m3 any.
void check_types(const AttentionRequest& request) {
  const DType type = request.q.dtype, out = request.out.dtype;
  const bool narrow = type == DType::e4m3, wide = type == DType::bf16 || type == DType::f16;
  for (const auto& [view, name] : {std::pair{&request.q, "q"}, {&request.k, "k"}, {&request.v, "v"}})
    if (view->dtype != type || (!wide && !narrow))
      refuse_attention(
          fmt::format("{} holds {}; q, k and v are all bf16, all f16 or all e4m3", name, name_of(view->dtype)));
  if (narrow ? out != DType::bf16 && out != DType::f16 && out != DType::e4m3 : out != type)
    refuse_attention(fmt::format(
        "out holds {}; {}", name_of(out),
        narrow ? "that of e4m3 is bf16, f16 or e4m3" : fmt::format("it is {}, as q, k and v are", name_of(type))));
}

bool is_dense(const View& view) {
  std::int64_t step = 1;
  for (std::size_t i = view.shape.size(); i-- > 0; step *= view.shape[i])
    if (view.shape[i] > 1 && view.strides[i] != step) return false;
  return true;
}

void set_expressions(AttentionProblem& p, const AttentionExpressions& given, const Stream& stream) {
  p.text = {given.score, given.mask, given.skip, given.whole, {}};
  for (const auto& [text, name] :
       {std::pair{&given.score, "score"}, {&given.mask, "mask"}, {&given.skip, "skip"}, {&given.whole, "whole"}}) {
    if (text->empty()) continue;
    if (const auto problem = expression_problem(*text); !problem.empty())
      refuse_attention(fmt::format("the {} '{}' is no expression: {}", name, *text, problem));
    if (const auto effect = side_effect(*text); !effect.empty())
      refuse_attention(
          fmt::format("the {} '{}' has a side effect, {}; it may only compute a value", name, *text, effect));
  }
  p.kind.expressions = {!given.score.empty(), !given.mask.empty(), !given.skip.empty(), !given.whole.empty()};
  if (p.kind.expressions.of_steps() && given.mask.empty())
    refuse_attention("skip and whole tell where the mask need not be asked, and there is no mask; give it too");
  if (!given.skip.empty() && p.kind.has_tails())
    refuse_attention("there is no skip with sequences of different lengths; give the mask without it");
  if (!given.score.empty() && p.kind.alibi != Alibi::none)
    refuse_attention(
        "alibi_slopes and an expression of the score exclude each other; put the slopes into it: \"score - "
        "slope[head] * abs(q - k)\"");
  if (given.arrays.size() > p.arrays.size())
    refuse_attention(
        fmt::format("there are {} arrays for expressions; there may be {}", given.arrays.size(), p.arrays.size()));
  for (std::size_t i = 0; i < given.arrays.size(); ++i) {
    const auto& [name, view] = given.arrays[i];
    check_device(view, name, stream);
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    if (name.empty() || !letter(name[0]) ||
        !std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); }))
      refuse_attention(fmt::format("'{}' is no name of an array; it is one of C++", name));
    constexpr std::array read{DType::f32, DType::f64, DType::u8,  DType::i8,  DType::u16,
                              DType::i16, DType::u32, DType::i32, DType::u64, DType::i64};
    if (std::ranges::find(read, view.dtype) == read.end())
      refuse_attention(
          fmt::format("the array {} holds {}; expressions read f32, f64 and integers", name, name_of(view.dtype)));
    if (!is_dense(view))
      refuse_attention(fmt::format("the array {} of shape {} has strides ({}); its elements must lie side by side",
                                   name, sizes(view), fmt::join(view.strides, ", ")));
    p.text.arrays.push_back({name, view.dtype});
    p.arrays[i] = view.address;
  }
}

void set_mask(AttentionProblem& p, const AttentionMask& mask) {
  const auto check = [](const std::optional<std::int64_t>& given, std::string_view name) {
    if (given && (*given < 0 || *given > most_positions))
      refuse_attention(
          fmt::format("the mask's {} is {}; it is the number of keys seen to that side of the opposite one, "
                      "0 to {}: leave it out for no limit",
                      name, *given, most_positions));
  };
  check(mask.left, "left");
  check(mask.right, "right");
  const plan::MaskLimits limits = plan::limits_of(mask.left, mask.right);
  p.kind.mask = limits.facts;
  p.left = limits.left, p.right = limits.right;
  p.align_ends = mask.alignment == Alignment::ends;
}

}  // namespace

AttentionProblem understand(const Stream& stream, const AttentionRequest& request) {
  const View &q = request.q, &k = request.k, &v = request.v, &out = request.out;
  const std::array<std::pair<const View*, std::string_view>, 4> tensors{
      {{&q, "q"}, {&k, "k"}, {&v, "v"}, {&out, "out"}}};
  const std::size_t rank = request.sequences ? 3 : 4;
  check_types(request);
  for (const auto& [view, name] : tensors) {
    check_device(*view, name, stream);
    if (view->shape.size() != rank)
      refuse_attention(fmt::format("{} has {} dimensions; {}", name, view->shape.size(),
                                   request.sequences ? "with sequences they are heads x positions x dim"
                                                     : "they are batch x heads x length x dim"));
    for (const std::int64_t size : view->shape)
      if (size > most_positions)
        refuse_attention(fmt::format("{} is {}: a dimension has at most {}; split it into several calls", name,
                                     sizes(*view), most_positions));
  }
  const auto at = [&](const View& view, std::size_t from_end) { return view.shape[rank - 1 - from_end]; };
  AttentionProblem p;
  p.kind.element = q.dtype;
  if (p.kind.narrow()) p.kind.out = out.dtype;
  const std::int64_t head_dim = at(q, 0), value_dim = at(v, 0);
  p.heads = at(q, 2), p.kv_heads = at(k, 2);
  p.queries = at(q, 1), p.keys = at(k, 1);
  p.batch = request.sequences ? request.sequences->query_offsets.elements() - 1 : q.shape[0];
  const bool fits = at(k, 0) == head_dim && at(v, 1) == p.keys && at(v, 2) == p.kv_heads && at(out, 0) == value_dim &&
                    at(out, 1) == p.queries && at(out, 2) == p.heads &&
                    (request.sequences || (k.shape[0] == p.batch && v.shape[0] == p.batch && out.shape[0] == p.batch));
  if (!fits)
    refuse_attention(
        fmt::format("the shapes do not fit: q is {}, k is {}, v is {}, out is {}; they are (batch x) heads x "
                    "queries x dim, kv heads x keys x dim, kv heads x keys x value dim, heads x queries x "
                    "value dim",
                    sizes(q), sizes(k), sizes(v), sizes(out)));
  if (p.kv_heads == 0 ? p.heads != 0 : p.heads % p.kv_heads)
    refuse_attention(fmt::format("{} heads of q cannot share {} heads of k and v evenly", p.heads, p.kv_heads));
  for (const auto& [dim, name] : {std::pair{head_dim, "head"}, {value_dim, "value"}})
    if (const int unit = p.kind.narrow() ? 16 : 8; dim < unit || dim > 256 || dim % unit)
      refuse_attention(fmt::format("a {} dim of {} is not served in {}; it is a multiple of {} from {} to 256", name,
                                   dim, name_of(q.dtype), unit, unit));
  p.kind.head_dim = static_cast<int>(head_dim), p.kind.value_dim = static_cast<int>(value_dim);
  for (const auto& [view, name] : tensors) check_addressable(*view, name);
  if (overlaps_itself(out))
    refuse_attention(fmt::format("out's elements overlap: strides ({}) for a shape of {}", fmt::join(out.strides, ", "),
                                 sizes(out)));
  p.q = tensor_of(q, true), p.k = tensor_of(k, true), p.v = tensor_of(v, true), p.out = tensor_of(out, true);
  if (request.sequences) {
    const AttentionSequences& s = *request.sequences;
    p.kind.sequences = true;
    p.query_offsets = offsets_of(s.query_offsets, "query_offsets", stream);
    p.key_offsets = offsets_of(s.key_offsets, "key_offsets", stream);
    if (s.key_offsets.elements() != s.query_offsets.elements())
      refuse_attention(fmt::format("there are {} query offsets and {} key offsets; they must be as many",
                                   s.query_offsets.elements(), s.key_offsets.elements()));
    if (s.longest_queries < 0 || s.longest_keys < 0)
      refuse_attention("the longest sequence cannot have a negative length; leave it out where it is not known");
    if (s.longest_queries > 0) p.queries = std::min(s.longest_queries, p.queries);
    if (s.longest_keys > 0) p.keys = std::min(s.longest_keys, p.keys);
  }
  if (request.key_lengths) {
    const View& lengths = *request.key_lengths;
    check_device(lengths, "key_lengths", stream);
    if (request.sequences)
      refuse_attention("sequences have offsets, and key_lengths are for batches; give one of them");
    if (lengths.dtype != DType::i32 || lengths.shape.size() != 1 || lengths.shape[0] != p.batch || !is_dense(lengths))
      refuse_attention(
          fmt::format("key_lengths holds {} of shape {}; it is i32, one dimension, side by side, one for "
                      "each of {} batches",
                      name_of(lengths.dtype), sizes(lengths), p.batch));
    p.kind.lengths = true;
    p.key_lengths = lengths.address;
  }
  if (request.lse) {
    const View& lse = *request.lse;
    check_device(lse, "lse", stream);
    const std::span<const std::int64_t> expected(out.shape.data(), out.shape.size() - 1);
    const bool side_by_side = lse.elements() == 0 || lse.shape.back() == 1 || lse.strides.back() == 1;
    if (lse.dtype != DType::f32 || !std::ranges::equal(lse.shape, expected) || !side_by_side)
      refuse_attention(fmt::format("lse holds {} of shape {}; it is f32 of shape {}, positions side by side",
                                   name_of(lse.dtype), sizes(lse), fmt::format("{}", fmt::join(expected, " x "))));
    if (overlaps_itself(lse))
      refuse_attention(
          fmt::format("lse's elements overlap: strides ({}) for a shape of {}; give each a place of its own",
                      fmt::join(lse.strides, ", "), sizes(lse)));
    p.lse = tensor_of(lse, false);
  }
  set_mask(p, request.mask);
  p.scale = request.scale.value_or(static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim))));
  if (!std::isfinite(p.scale) || p.scale < 0)
    refuse_attention(fmt::format("the scale is {}; it must be finite and not negative", p.scale));
  p.softcap = request.softcap;
  if (!std::isfinite(p.softcap) || p.softcap < 0)
    refuse_attention(fmt::format("the softcap is {}; it must be finite and not negative (0: none)", p.softcap));
  p.kind.cap(p.softcap);
  if (request.alibi_slopes) {
    p.slopes = head_numbers(*request.alibi_slopes, "alibi_slopes", p.heads, stream);
    p.kind.alibi = plan::alibi_of({p.kind.mask, p.left, p.right});
  }
  if (request.sinks) {
    p.sinks = head_numbers(*request.sinks, "sinks", p.heads, stream);
    p.kind.sinks = true;
  }
  set_scales(p, request, stream);
  set_expressions(p, request.expressions, stream);
  for (const auto& [name, view] : request.expressions.arrays) {
    refuse_overlap(out, "out", view, name);
    if (request.lse) refuse_overlap(*request.lse, "lse", view, name);
  }
  for (const auto& [view, name] : tensors) {
    if (view == &out) continue;
    refuse_overlap(out, "out", *view, name);
    if (request.lse) refuse_overlap(*request.lse, "lse", *view, name);
  }
  if (request.lse) refuse_overlap(out, "out", *request.lse, "lse");
  const AttentionSequences* const s = request.sequences ? &*request.sequences : nullptr;
  for (const auto& [view, name] : {std::pair{s ? &s->query_offsets : nullptr, "query_offsets"},
                                   {s ? &s->key_offsets : nullptr, "key_offsets"},
                                   {request.alibi_slopes ? &*request.alibi_slopes : nullptr, "alibi_slopes"},
                                   {request.sinks ? &*request.sinks : nullptr, "sinks"},
                                   {request.q_descale ? &*request.q_descale : nullptr, "q_descale"},
                                   {request.k_descale ? &*request.k_descale : nullptr, "k_descale"},
                                   {request.v_descale ? &*request.v_descale : nullptr, "v_descale"},
                                   {request.out_scale ? &*request.out_scale : nullptr, "out_scale"},
                                   {request.key_lengths ? &*request.key_lengths : nullptr, "key_lengths"}}) {
    if (!view) continue;
    refuse_overlap(out, "out", *view, name);
    if (request.lse) refuse_overlap(*request.lse, "lse", *view, name);
  }
  return p;
}

}  // namespace wm::ops
