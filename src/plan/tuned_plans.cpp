// The table of measured plans: text to entries and back, and who serves a shape.
#include "plan/tuned_plans.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "common/environment.hpp"
#include "common/files.hpp"
#include "common/log.hpp"
#include "common/numbers.hpp"
#include "plan/attention_plan_text.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::plan {
namespace {

constexpr std::int64_t few_rows = 256;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The parts between separators, trimmed; several blanks in a row are one.
std::vector<std::string_view> parts(std::string_view text, char separator) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t end = text.find(separator);
    if (const auto part = trimmed(text.substr(0, end)); separator != ' ' || !part.empty()) found.push_back(part);
    if (end == text.npos) return found;
    text.remove_prefix(end + 1);
  }
}

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, why); }

Major major_from(std::string_view text) {
  if (text == "k") return Major::k;
  if (text == "mn") return Major::mn;
  refuse(fmt::format("'{}' is no major-ness: it is k or mn", text));
}
std::string_view name_of_major(Major major) { return major == Major::k ? "k" : "mn"; }

// tf32 is how the tensor cores read f32: one kernel.
DType operand(DType dtype) { return dtype == DType::tf32 ? DType::f32 : dtype; }

double time_from(std::string_view text) {
  const auto words = parts(text, ' ');
  const double us = words.empty() ? 0 : number_from<double>(words[0]).value_or(0);
  if (words.size() != 2 || words[1] != "us" || !(us > 0))
    refuse(fmt::format("'{}' is no time; write it like '179.1 us'", text));
  return us;
}

TunedPlan product_from(const std::vector<std::string_view>& fields) {
  if (fields.size() != 6 || fields[0].empty())
    refuse(fmt::format("an entry has 6 parts between |: chip, types, major-ness, shape, plan, time; here are {}",
                       fields.size()));
  TunedPlan entry;
  TunedKey& key = entry.key;
  key.chip = fields[0];
  const auto types = parts(fields[1], ' ');
  if (types.size() != 3) refuse(fmt::format("'{}' are not three types, of a, b and d", fields[1]));
  key.a = operand(dtype_from_name(types[0])), key.b = operand(dtype_from_name(types[1]));
  key.d = dtype_from_name(types[2]);
  const auto majors = parts(fields[2], ' ');
  key.by_threads = majors.size() == 3 && majors[2] == "threads";
  if (majors.size() != (key.by_threads ? 3u : 2u))
    refuse(fmt::format("'{}' is not the major-ness of a and of b, as in 'k k', with `threads` after it or not",
                       fields[2]));
  key.a_major = major_from(majors[0]), key.b_major = major_from(majors[1]);
  const GemmShape shape = shape_from_text(fields[3]);
  key.m = shape.m, key.n = shape.n, key.k = shape.k;
  plan_from_text(fields[4]);  // refuses what is no plan
  entry.plan = fields[4];
  entry.us = time_from(fields[5]);
  return entry;
}

constexpr std::string_view attention_mark = "attention ";

TunedAttention attention_from(const std::vector<std::string_view>& fields) {
  if (fields.size() != 5 || fields[0].empty())
    refuse(fmt::format("an attention's entry has 5 parts between |: chip, kind, shape, plan, time; here are {}",
                       fields.size()));
  TunedAttention entry;
  auto& [chip, kind, shape] = entry.key;
  chip = fields[0];
  const auto words = parts(fields[1].substr(attention_mark.size()), ' ');
  const auto dim = [&](std::size_t i) { return i < words.size() ? number_from<int>(words[i]).value_or(0) : 0; };
  kind.head_dim = dim(1), kind.value_dim = dim(2);
  if (kind.head_dim <= 0 || kind.value_dim <= 0)
    refuse(fmt::format("'{}' has no type and dims, as in 'attention bf16 128 128'", fields[1]));
  kind.element = dtype_from_name(words[0]);
  std::optional<std::int64_t> left, right;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::int64_t limit = i + 1 < words.size() ? number_from<std::int64_t>(words[i + 1]).value_or(-1) : -1;
    if (words[i] == "right" && limit >= 0)
      right = limit, ++i;
    else if (words[i] == "left" && limit >= 0)
      left = limit, ++i;
    else if (words[i] == "beginnings")
      shape.align_ends = false;
    else if (words[i] == "softcap")
      kind.softcap = true;
    else if (words[i] == "lowcap")
      kind.softcap = kind.low_cap = true;
    else if (words[i] == "sequences")
      kind.sequences = true;
    else
      refuse(fmt::format(
          "'{}' is no part of an attention; there are right N, left N, beginnings, softcap, lowcap and sequences",
          words[i]));
  }
  const MaskLimits limits = limits_of(left, right);
  kind.mask = limits.facts;
  shape.left = limits.left, shape.right = limits.right;
  const auto sizes = parts(fields[2], 'x');
  const auto two = [&](std::string_view text) {
    const auto both = parts(text, '/');
    const auto first = number_from<std::int64_t>(both[0]), second = number_from<std::int64_t>(both.back());
    if (both.size() != 2 || !first || !second) refuse(fmt::format("'{}' is no shape, as 4x16/16x4096/4096", fields[2]));
    return std::pair(*first, *second);
  };
  if (sizes.size() != 3) refuse(fmt::format("'{}' is no shape, as 4x16/16x4096/4096", fields[2]));
  shape.batch = number_from<std::int64_t>(sizes[0]).value_or(0);
  std::tie(shape.heads, shape.kv_heads) = two(sizes[1]);
  std::tie(shape.queries, shape.keys) = two(sizes[2]);
  attention_plan_from_text(fields[3]);  // refuses what is no plan
  entry.plan = fields[3];
  entry.us = time_from(fields[4]);
  return entry;
}

constexpr std::string_view model_mark = "gemm model ";

constexpr std::string_view least_mark = "from ";

std::shared_ptr<const GemmTrees> trees_from(std::string_view text) {
  GemmTrees trees;
  auto texts = parts(text, ';');
  if (texts.front().starts_with(least_mark)) {
    const auto least = parts(texts.front().substr(least_mark.size()), ' ');
    const auto number = [&](std::size_t i) {
      const auto value = i < least.size() ? number_from<std::int64_t>(least[i]) : std::nullopt;
      if (least.size() != 2 || !value || *value < 0)
        refuse(
            fmt::format("'{}' does not say what trees were fitted to, as in 'from 1040 4096': the least of m and n, "
                        "and the least k",
                        texts.front()));
      return *value;
    };
    trees.least_side = number(0), trees.least_k = number(1);
    texts.erase(texts.begin());
  }
  for (const std::string_view tree : texts) trees.trees.push_back(GemmTree::from_text(tree));
  return std::make_shared<const GemmTrees>(std::move(trees));
}

std::string text_of(const GemmTrees& trees) {
  std::string text;
  const char* before = "";
  if (trees.least_side > 0 || trees.least_k > 0) {
    text = fmt::format("{}{} {}", least_mark, trees.least_side, trees.least_k);
    before = "; ";
  }
  for (const GemmTree& tree : trees.trees) text.append(std::exchange(before, "; ")).append(tree.text());
  return text;
}

TunedModel model_from(const std::vector<std::string_view>& fields) {
  if (fields.size() < 3 || fields.size() > 5 || fields[0].empty())
    refuse(
        fmt::format("a model's entry has 3 to 5 parts between |: chip, bits of operands, constants, trees, trees of "
                    "promoted sums; here are {}",
                    fields.size()));
  TunedModel entry;
  entry.key.chip = fields[0];
  const auto size = parts(fields[1].substr(model_mark.size()), ' ');
  entry.key.bits = size.size() == 2 && size[1] == "bits" ? number_from<int>(size[0]).value_or(0) : 0;
  if (entry.key.bits != 8 && entry.key.bits != 16 && entry.key.bits != 32)
    refuse(fmt::format("'{}' is no size of operands, as in 'gemm model 16 bits': 8, 16 or 32", fields[1]));
  const auto words = parts(fields[2], ' ');
  if (words.empty()) refuse("the model's entry has no constants");
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const double value = i + 1 < words.size() ? number_from<double>(words[i + 1]).value_or(0) : 0;
    bool known = false;
    GemmModel::each_field(entry.model, [&](std::string_view name, double& constant) {
      if (name == words[i]) constant = value, known = true;
    });
    if (!known) refuse(fmt::format("the model has no constant '{}'", words[i]));
    const double least = words[i].ends_with("_exponent") ? 1 : 0;
    if (!(value > 0 && value >= least && std::isfinite(value)))
      refuse(fmt::format("'{}' is followed by no number {} {}", words[i], least > 0 ? "from" : "above", least));
  }
  if (fields.size() == 5 && entry.key.bits != 8) refuse("operands of 8 bits alone have promoted sums");
  if (fields.size() == 4 || (fields.size() == 5 && !fields[3].empty())) entry.model.trees = trees_from(fields[3]);
  if (fields.size() == 5) entry.model.promoted = trees_from(fields[4]);
  return entry;
}

std::string text_of(const TunedModel& entry) {
  std::string text = fmt::format("{} | {}{} bits |", entry.key.chip, model_mark, entry.key.bits);
  GemmModel::each_field(entry.model,
                        [&](std::string_view name, double value) { text += fmt::format(" {} {:.4g}", name, value); });
  if (entry.model.trees || entry.model.promoted)
    text.append(" | ").append(entry.model.trees ? text_of(*entry.model.trees) : "");
  if (entry.model.promoted) text.append(" | ").append(text_of(*entry.model.promoted));
  return text;
}

std::string text_of(const TunedPlan& entry) {
  const TunedKey& key = entry.key;
  return fmt::format("{} | {} {} {} | {} {}{} | {}x{}x{} | {} | {:.2f} us", key.chip, name_of(key.a), name_of(key.b),
                     name_of(key.d), name_of_major(key.a_major), name_of_major(key.b_major),
                     key.by_threads ? " threads" : "", key.m, key.n, key.k, entry.plan, entry.us);
}

std::string text_of(const TunedAttention& entry) {
  const auto& [chip, kind, shape] = entry.key;
  std::string text =
      fmt::format("{} | {}{} {} {}", chip, attention_mark, name_of(kind.element), kind.head_dim, kind.value_dim);
  if (kind.mask.right && shape.right < most_positions) text += fmt::format(" right {}", shape.right);
  if (kind.mask.left) text += fmt::format(" left {}", shape.left);
  if (!shape.align_ends) text += " beginnings";
  if (kind.softcap) text += kind.low_cap ? " lowcap" : " softcap";
  if (kind.sequences) text += " sequences";
  return text + fmt::format(" | {}x{}/{}x{}/{} | {} | {:.2f} us", shape.batch, shape.heads, shape.kv_heads,
                            shape.queries, shape.keys, entry.plan, entry.us);
}

bool serves(const TunedKey& entry, const TunedKey& asked) {
  if (asked.m > few_rows || entry.m > few_rows || entry.m <= 0 || asked.m <= 0) return false;
  TunedKey moved = entry;
  moved.m = asked.m;
  return moved == asked &&
         std::bit_ceil(static_cast<std::uint64_t>(entry.m)) == std::bit_ceil(static_cast<std::uint64_t>(asked.m));
}

}  // namespace

GemmKind TunedKey::kind() const {
  GemmKind kind{.a = a, .b = b, .d = d, .a_major = a_major, .b_major = b_major};
  if (by_threads) kind.a_producer = kind.b_producer = Producer::elements;
  return kind;
}

TunedKey key_of(std::string_view chip, const GemmKind& kind, const GemmShape& shape) {
  return {std::string(chip), operand(kind.a), operand(kind.b), kind.d,  kind.a_major,
          kind.b_major,      !kind.by_tma(),  shape.m,         shape.n, shape.k};
}

TunedAttentionKey key_of(std::string_view chip, const AttentionKind& kind, const AttentionShape& shape) {
  TunedAttentionKey key{std::string(chip), kind, shape};
  key.kind.sinks = false;
  key.kind.alibi = Alibi::none;
  key.kind.expressions = {};
  key.kind.lengths = false;
  key.kind.out = DType::bf16;
  key.kind.low_cap = kind.low_cap && kind.element == DType::bf16;  // others' kernels do not care
  if (!kind.mask.left) key.shape.left = 0;
  if (!kind.mask.right) key.shape.right = 0;
  if (!kind.mask.left && !kind.mask.right) key.shape.align_ends = true;
  return key;
}

TunedPlans TunedPlans::from_text(std::string_view text, std::string_view file, std::vector<std::string>& problems) {
  TunedPlans plans;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    Line read{std::string(line), {}};
    try {
      const auto fields = parts(line, '|');
      if (line.empty() || line[0] == '#')
        ;
      else if (fields.size() > 1 && fields[1].starts_with(attention_mark))
        read.entry = attention_from(fields);
      else if (fields.size() > 1 && fields[1].starts_with(model_mark))
        read.entry = model_from(fields);
      else
        read.entry = product_from(fields);
    } catch (const Error& error) {
      problems.push_back(fmt::format("{}:{}: {}", file, number, error.what()));
    }
    plans.lines_.push_back(std::move(read));
  }
  return plans;
}

std::string TunedPlans::text() const {
  std::string text;
  for (const Line& line : lines_) text += line.text + '\n';
  return text;
}

template <class Entry>
void TunedPlans::replace(const Entry& entry) {
  const auto same = [&](const Line& line) {
    const auto* const known = std::get_if<Entry>(&line.entry);
    return known && known->key == entry.key;
  };
  const auto found = std::find_if(lines_.begin(), lines_.end(), same);
  Line& line = found == lines_.end() ? lines_.emplace_back() : *found;
  line = {text_of(entry), entry};
}
void TunedPlans::set(const TunedPlan& entry) { replace(entry); }
void TunedPlans::set(const TunedAttention& entry) { replace(entry); }
void TunedPlans::set(const TunedModel& entry) { replace(entry); }

const TunedPlan* TunedPlans::find(const TunedKey& key) const {
  const TunedPlan* nearest = nullptr;
  const auto distance = [&](const TunedPlan& entry) { return std::abs(entry.key.m - key.m); };
  for (const Line& line : lines_) {
    const auto* const entry = std::get_if<TunedPlan>(&line.entry);
    if (!entry) continue;
    if (entry->key == key) return entry;
    if (serves(entry->key, key) && (!nearest || distance(*entry) < distance(*nearest))) nearest = entry;
  }
  return nearest;
}

template <class Entry, class Key>
const Entry* TunedPlans::first(const Key& key) const {
  for (const Line& line : lines_)
    if (const auto* const entry = std::get_if<Entry>(&line.entry); entry && entry->key == key) return entry;
  return nullptr;
}
const TunedAttention* TunedPlans::find(const TunedAttentionKey& key) const { return first<TunedAttention>(key); }
const TunedModel* TunedPlans::find(const TunedModelKey& key) const { return first<TunedModel>(key); }

template <class Entry>
std::vector<Entry> TunedPlans::all() const {
  std::vector<Entry> all;
  for (const Line& line : lines_)
    if (const auto* const entry = std::get_if<Entry>(&line.entry)) all.push_back(*entry);
  return all;
}
std::vector<TunedPlan> TunedPlans::entries() const { return all<TunedPlan>(); }
std::vector<TunedAttention> TunedPlans::attentions() const { return all<TunedAttention>(); }
std::vector<TunedModel> TunedPlans::models() const { return all<TunedModel>(); }

std::filesystem::path user_plans_file() {
  if (const std::string own = environment("WARPMILL_PLANS"); !own.empty()) return own;
  const std::filesystem::path folder = user_folder("XDG_CONFIG_HOME", ".config");
  return folder.empty() ? folder : folder / "plans.txt";
}

TunedPlans read_plans(const std::filesystem::path& file, std::vector<std::string>& problems) {
  std::string text;
  try {
    text = read_text(file);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) problems.emplace_back(error.what());
  }
  return TunedPlans::from_text(text, file.string(), problems);
}

const TunedPlans& known_plans() {
  static const TunedPlans plans = [] {
    std::vector<std::string> problems, ours;
    const std::filesystem::path file = user_plans_file();
    std::string text = file.empty() ? "" : read_plans(file, problems).text();
    if (!problems.empty())
      log(LogSeverity::warning,
          fmt::format("ignored in the table of plans: {}{}", problems.front(),
                      problems.size() > 1 ? fmt::format(" (and {} more)", problems.size() - 1) : ""));
    return TunedPlans::from_text(text.append(shipped_plans_text()), "", ours);
  }();
  return plans;
}

}  // namespace wm::plan
