// The table of measured plans: text to entries and back, and who serves a shape.
#include "plan/tuned_plans.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include <fmt/format.h>

#include "common/environment.hpp"
#include "common/files.hpp"
#include "common/log.hpp"
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

TunedPlan entry_from(std::string_view line) {
  const auto fields = parts(line, '|');
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
  const auto time = parts(fields[5], ' ');
  const auto number = time.empty() ? std::string_view() : time[0];
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), entry.us);
  if (time.size() != 2 || time[1] != "us" || status != std::errc() || end != number.data() + number.size() ||
      !(entry.us > 0))
    refuse(fmt::format("'{}' is no time; write it like '179.1 us'", fields[5]));
  return entry;
}

std::string text_of(const TunedPlan& entry) {
  const TunedKey& key = entry.key;
  return fmt::format("{} | {} {} {} | {} {}{} | {}x{}x{} | {} | {:.2f} us", key.chip, name_of(key.a), name_of(key.b),
                     name_of(key.d), name_of_major(key.a_major), name_of_major(key.b_major),
                     key.by_threads ? " threads" : "", key.m, key.n, key.k, entry.plan, entry.us);
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
      if (!line.empty() && line[0] != '#') read.entry = entry_from(line);
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

void TunedPlans::set(const TunedPlan& entry) {
  const Line line{text_of(entry), entry};
  const auto found = std::find_if(lines_.begin(), lines_.end(),
                                  [&](const Line& known) { return known.entry && known.entry->key == entry.key; });
  if (found == lines_.end())
    lines_.push_back(line);
  else
    *found = line;
}

const TunedPlan* TunedPlans::find(const TunedKey& key) const {
  const TunedPlan* nearest = nullptr;
  const auto distance = [&](const TunedPlan& entry) { return std::abs(entry.key.m - key.m); };
  for (const Line& line : lines_) {
    if (!line.entry) continue;
    if (line.entry->key == key) return &*line.entry;
    if (serves(line.entry->key, key) && (!nearest || distance(*line.entry) < distance(*nearest)))
      nearest = &*line.entry;
  }
  return nearest;
}

std::vector<TunedPlan> TunedPlans::entries() const {
  std::vector<TunedPlan> all;
  for (const Line& line : lines_)
    if (line.entry) all.push_back(*line.entry);
  return all;
}

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
