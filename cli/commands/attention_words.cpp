// Words of the command line to attentions and back.
#include "commands/attention_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/numbers.hpp"
#include "plan/attention_plan_text.hpp"
#include "plan/words.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, why); }

// "100" or, where queries and keys differ, "100/2000".
std::pair<std::int64_t, std::int64_t> lengths_from(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto queries = number_from<std::int64_t>(text.substr(0, slash));
  const auto keys = slash == text.npos ? queries : number_from<std::int64_t>(text.substr(slash + 1));
  if (!queries || !keys || *queries < 0 || *keys < 0)
    refuse(fmt::format("'{}' is no length; write 100, or 100/2000 for 100 queries and 2000 keys", text));
  return {*queries, *keys};
}

// "256": so many to the left, none to the right beyond the query's own; "256,64": to the left and to the right; a part
// left out is no limit.
void set_window(std::string_view text, AttentionMask& mask) {
  const std::size_t comma = text.find(',');
  const auto side = [&](std::string_view part) -> std::optional<std::int64_t> {
    if (part.empty()) return std::nullopt;
    const auto keys = number_from<std::int64_t>(part);
    if (!keys || *keys < 0)
      refuse(fmt::format(
          "'{}' is no window; write LEFT or LEFT,RIGHT, as in 256 or 256,64 (',64': no limit to the left)", text));
    return keys;
  };
  mask.left = side(text.substr(0, comma));
  mask.right = comma == text.npos ? 0 : side(text.substr(comma + 1));
}

bench::Scales scales_from(std::string_view name) {
  if (name == "none") return bench::Scales::none;
  if (name == "tensor") return bench::Scales::tensor;
  if (name == "heads") return bench::Scales::heads;
  refuse(fmt::format("'{}' is no word for scales; there are none, tensor and heads", name));
}

bench::HeadLayout layout_from(std::string_view name) {
  if (name == "heads-first") return bench::HeadLayout::heads_first;
  if (name == "positions-first") return bench::HeadLayout::positions_first;
  if (name == "packed") return bench::HeadLayout::packed;
  refuse(fmt::format("'{}' is no layout; there are heads-first, positions-first and packed", name));
}

}  // namespace

bench::AttentionCase case_of(const AttentionOptions& options) {
  const auto sizes = plan::sizes_from<4>(options.shape);
  if (!sizes)
    refuse(
        fmt::format("'{}' is no shape; write it as BATCHxHEADSxLENGTHxDIM, for example 4x16x4096x128", options.shape));
  bench::AttentionCase attention;
  attention.batch = (*sizes)[0];
  attention.heads = (*sizes)[1];
  attention.queries = (*sizes)[2];
  if ((*sizes)[3] > 256) refuse(fmt::format("a head dim of {}; they are multiples of 8 up to 256", (*sizes)[3]));
  attention.head_dim = static_cast<int>((*sizes)[3]);
  attention.value_dim = options.value_dim > 0 ? options.value_dim : attention.head_dim;
  attention.kv_heads = options.kv_heads > 0 ? options.kv_heads : attention.heads;
  attention.keys = options.kv_length >= 0 ? options.kv_length : attention.queries;
  if (attention.heads == 0) refuse("there are 0 heads; give one at least");
  if (attention.heads % attention.kv_heads)
    refuse(fmt::format("{} heads are no multiple of {} heads of keys and values", attention.heads, attention.kv_heads));
  attention.dtype = dtype_from_name(options.dtype);
  attention.out_dtype = dtype_from_name(options.out_dtype);
  attention.scales = scales_from(options.scales);
  if (attention.dtype != DType::bf16 && attention.dtype != DType::f16 && attention.dtype != DType::e4m3)
    refuse(fmt::format("attention takes bf16, f16 and e4m3, not {}", options.dtype));
  if (!attention.narrow() && (options.out_dtype != "bf16" || options.scales != "none"))
    refuse("--out-dtype and --scales are for --dtype e4m3");
  if (!options.window.empty()) set_window(options.window, attention.mask);
  if (options.causal) attention.mask.right = 0;
  if (options.align != "ends" && options.align != "beginnings")
    refuse(fmt::format("'{}' is no alignment; there are ends and beginnings", options.align));
  attention.mask.alignment = options.align == "ends" ? Alignment::ends : Alignment::beginnings;
  attention.softcap = options.softcap;
  attention.scale = options.scale;
  attention.layout = layout_from(options.layout);
  attention.lse = options.lse;
  attention.alibi = options.alibi;
  attention.sinks = options.sinks;
  if (!options.key_lengths.empty()) {
    if (static_cast<std::int64_t>(options.key_lengths.size()) != attention.batch || !options.lengths.empty())
      refuse(fmt::format("--key-lengths are one for each of {} batches, without --lengths", attention.batch));
    for (const std::int64_t length : options.key_lengths)
      if (length < 0 || length > attention.keys)
        refuse(fmt::format("a key length of {}; there are 0 to {} keys", length, attention.keys));
    attention.key_lengths = options.key_lengths;
  }
  if (options.documents > 0) {
    if (!options.lengths.empty()) refuse("--documents and --lengths exclude each other");
    attention.set_documents(options.documents);
  }
  for (const std::string& length : options.lengths) attention.sequences.push_back(lengths_from(length));
  return attention;
}

std::optional<AttentionPlan> plan_of(std::string_view text, const bench::AttentionCase& attention) {
  if (text.empty()) return std::nullopt;
  const AttentionPlan plan = plan::attention_plan_from_text(text, kind_of(attention));
  if (!plan.valid()) refuse(fmt::format("the plan '{}' is impossible: {}", text, plan.problem()));
  return plan;
}

AttentionKind kind_of(const bench::AttentionCase& attention) {
  const plan::MaskLimits limits = plan::limits_of(attention.mask.left, attention.mask.right);
  AttentionKind kind{.element = attention.dtype,
                     .out = attention.narrow() ? attention.out_dtype : DType::bf16,
                     .head_dim = attention.head_dim,
                     .value_dim = attention.value_dim,
                     .mask = limits.facts,
                     .sequences = !attention.sequences.empty(),
                     .lengths = !attention.key_lengths.empty(),
                     .alibi = attention.alibi ? plan::alibi_of(limits) : Alibi::none,
                     .sinks = attention.sinks,
                     .expressions = {!attention.score.empty(), !attention.mask_expression.empty(),
                                     !attention.skip.empty(), !attention.whole.empty()}};
  kind.cap(attention.softcap);
  return kind;
}

plan::AttentionShape shape_of(const bench::AttentionCase& a) {
  const plan::MaskLimits limits = plan::limits_of(a.mask.left, a.mask.right);
  plan::AttentionShape shape{.batch = a.batch,
                             .heads = a.heads,
                             .kv_heads = a.kv_heads,
                             .queries = a.queries,
                             .keys = a.keys,
                             .left = limits.left,
                             .right = limits.right,
                             .align_ends = a.mask.alignment == Alignment::ends};
  if (!a.sequences.empty()) shape.batch = static_cast<std::int64_t>(a.sequences.size()), shape.queries = shape.keys = 0;
  for (const auto& [queries, keys] : a.sequences)
    shape.queries = std::max(shape.queries, queries), shape.keys = std::max(shape.keys, keys);
  return shape;
}

std::vector<std::string> words_of(const AttentionOptions& options) {
  std::vector<std::string> words{"--dtype", options.dtype, "--align", options.align, "--layout", options.layout};
  const auto add = [&](const char* option, const std::string& value) { words.insert(words.end(), {option, value}); };
  if (options.out_dtype != "bf16") add("--out-dtype", options.out_dtype);
  if (options.scales != "none") add("--scales", options.scales);
  if (options.kv_heads > 0) add("--kv-heads", std::to_string(options.kv_heads));
  if (options.kv_length >= 0) add("--kv-length", std::to_string(options.kv_length));
  if (options.value_dim > 0) add("--value-dim", std::to_string(options.value_dim));
  if (!options.window.empty()) add("--window", options.window);
  if (options.softcap > 0) add("--softcap", fmt::format("{}", options.softcap));
  if (options.scale) add("--scale", fmt::format("{}", *options.scale));
  if (!options.lengths.empty()) add("--lengths", fmt::format("{}", fmt::join(options.lengths, ",")));
  if (!options.key_lengths.empty()) add("--key-lengths", fmt::format("{}", fmt::join(options.key_lengths, ",")));
  if (options.documents > 0) add("--documents", std::to_string(options.documents));
  if (options.causal) words.emplace_back("--causal");
  if (options.alibi) words.emplace_back("--alibi");
  if (options.sinks) words.emplace_back("--sinks");
  if (!options.lse) words.emplace_back("--no-lse");
  return words;
}

std::string text_of(const bench::AttentionCase& a) {
  const std::string heads =
      a.heads == a.kv_heads ? fmt::format("{}", a.heads) : fmt::format("{}/{}", a.heads, a.kv_heads);
  const std::string dims =
      a.head_dim == a.value_dim ? fmt::format("{}", a.head_dim) : fmt::format("{}/{}", a.head_dim, a.value_dim);
  const auto length = [](std::int64_t queries, std::int64_t keys) {
    return queries == keys ? fmt::format("{}", queries) : fmt::format("{}/{}", queries, keys);
  };
  std::string text;
  if (a.sequences.empty()) {
    text = fmt::format("{} x {} x {} x {}", a.batch, heads, length(a.queries, a.keys), dims);
  } else {
    std::vector<std::string> lengths;
    for (const auto& [queries, keys] : a.sequences) lengths.push_back(length(queries, keys));
    text = fmt::format("{} sequences ({}) x {} x {}", lengths.size(), fmt::join(lengths, ", "), heads, dims);
  }
  text += fmt::format(" {}", name_of(a.dtype));
  if (a.narrow() && a.out_dtype != DType::bf16) text += fmt::format(" to {}", name_of(a.out_dtype));
  if (a.scales != bench::Scales::none)
    text += a.scales == bench::Scales::tensor ? ", a scale for each tensor" : ", scales for each head";
  if (a.mask.left) text += fmt::format(", {} keys to the left", *a.mask.left);
  if (a.mask.right)
    text += *a.mask.right == 0 ? std::string(", causal") : fmt::format(", {} keys to the right", *a.mask.right);
  if (a.softcap > 0) text += fmt::format(", softcap {}", a.softcap);
  if (a.alibi) text += ", ALiBi";
  if (a.sinks) text += ", sinks";
  if (!a.mask_expression.empty()) text += ", documents";
  if (!a.key_lengths.empty()) text += fmt::format(", of the keys {}", fmt::join(a.key_lengths, ", "));
  return text;
}

}  // namespace wm::cli
