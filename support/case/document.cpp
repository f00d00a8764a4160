// Parsing JSON into values with positions, and reading them with checks.
#include "document.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "printable.hpp"
#include "warpmill/error.hpp"

namespace wm::cases {
namespace {

constexpr int deepest = 64;

// Hands the text to the parser character by character and remembers how far it has read: the parser itself does not
// tell where a value stands.
class CountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

// Receives the parser's events and builds the tree.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, const std::string& name)
      : furthest(text.data()), text_(text), name_(name), counted_(text.data()), line_start_(text.data()) {}

  bool null() override { return add(JsonKind::null, word_start(4)), true; }
  bool boolean(bool value) override {
    add(JsonKind::boolean, word_start(value ? 4 : 5)).boolean = value;
    return true;
  }
  bool number_integer(number_integer_t value) override {
    Node& node = add(JsonKind::integer, number_start());
    node.negative = value < 0;
    node.integer = static_cast<std::uint64_t>(value);
    node.number = static_cast<double>(value);
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    Node& node = add(JsonKind::integer, number_start());
    node.integer = value;
    node.number = static_cast<double>(value);
    return true;
  }
  bool number_float(number_float_t value, const string_t& text) override {
    Node& node = add(JsonKind::number, number_start());
    node.number = value;
    node.string = text;
    return true;
  }
  bool string(string_t& value) override {
    add(JsonKind::string, string_start()).string = value;
    return true;
  }
  bool binary(binary_t&) override { return false; }  // JSON text has none
  bool start_object(std::size_t) override { return open(JsonKind::object); }
  bool start_array(std::size_t) override { return open(JsonKind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    if (!open_.back().names.insert(value).second) refuse(string_start(), fmt::format("\"{}\" is there twice", value));
    open_.back().node->keys.push_back(value);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // The parser's text is "[json.exception.parse_error.101] parse error at line 3, column 7: what".
    std::string_view what = error.what();
    if (const auto colon = what.find(": "); colon != what.npos) what.remove_prefix(colon + 2);
    refuse(furthest == text_.data() ? furthest : furthest - 1, fmt::format("this is no JSON: {}", what));
  }

  Node root;
  const char* furthest;  // one past the last character the parser took

 private:
  std::string_view text_;
  const std::string& name_;
  struct Open {
    Node* node;
    std::unordered_set<std::string> names;  // of an object's members so far
  };
  std::vector<Open> open_;  // objects and arrays not yet closed; each lies in the last value of the one before
  const char* counted_;
  const char* line_start_;
  int line_ = 1;

  // Where a token starts that has just been read.
  const char* word_start(std::size_t letters) const { return furthest - letters; }
  const char* string_start() const {
    const char* quote = furthest - 2;  // furthest is past the closing quote; a quote inside follows a backslash
    for (;; --quote) {
      if (*quote != '"') continue;
      const char* before = quote;
      while (before > text_.data() && before[-1] == '\\') --before;
      if ((quote - before) % 2 == 0) return quote;
    }
  }
  const char* number_start() const {
    // The parser has looked one character past the number unless the text ended there.
    auto of_number = [](char c) {
      return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    };
    const char* start = furthest;
    if (!of_number(start[-1])) --start;
    while (start > text_.data() && of_number(start[-1])) --start;
    return start;
  }

  // Tokens come in the text's order, so lines are counted once.
  void set_position(Node& node, const char* at) {
    for (; counted_ < at; ++counted_)
      if (*counted_ == '\n') {
        ++line_;
        line_start_ = counted_ + 1;
      }
    node.line = line_;
    node.column = static_cast<int>(at - line_start_) + 1;
  }
  [[noreturn]] void refuse(const char* at, const std::string& why) {
    Node node;
    set_position(node, at);
    throw Error(ErrorCode::invalid_argument,
                printable(fmt::format("{}:{}:{}: {}", name_, node.line, node.column, why)));
  }
  Node& add(JsonKind kind, const char* start) {
    Node& node = open_.empty() ? root : open_.back().node->values.emplace_back();
    node.kind = kind;
    set_position(node, start);
    return node;
  }
  bool open(JsonKind kind) {
    if (open_.size() == deepest) refuse(furthest - 1, fmt::format("nested more than {} deep", deepest));
    open_.push_back({&add(kind, furthest - 1), {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
};

std::string_view name_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return "true or false";
    case JsonKind::integer: return "an integer";
    case JsonKind::number: return "a number";
    case JsonKind::string: return "a text";
    case JsonKind::array: return "an array";
    case JsonKind::object: return "an object";
  }
  return "nothing";
}

std::string in_words(const Node& node) {
  switch (node.kind) {
    case JsonKind::boolean: return node.boolean ? "true" : "false";
    case JsonKind::integer:
      return node.negative ? fmt::format("{}", static_cast<std::int64_t>(node.integer))
                           : fmt::format("{}", node.integer);
    case JsonKind::number: return node.string;
    case JsonKind::string: return fmt::format("\"{}\"", node.string);
    default: return std::string(name_of(node.kind));
  }
}

[[noreturn]] void wrong_kind(const Field& field, const Node& node, std::string_view wanted) {
  field.refuse(fmt::format("{} is expected here, not {}", wanted, in_words(node)));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto candidate : candidates)
    if (const auto distance = edit_distance(word, candidate); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}

Document::Document(std::string_view text, std::string name) : name_(std::move(name)) {
  TreeBuilder builder(text, name_);
  const char* end = text.data() + text.size();
  nlohmann::json::sax_parse(CountingIterator(text.data(), &builder.furthest), CountingIterator(end, &builder.furthest),
                            &builder, nlohmann::json::input_format_t::json, /*strict=*/true, /*ignore_comments=*/true);
  root_ = std::move(builder.root);
}

Field Document::root() const { return Field(*this, root_, ""); }

std::string Field::place() const {
  const std::string position = fmt::format("{}:{}:{}", document_->name(), node_->line, node_->column);
  return printable(path_.empty() ? position : fmt::format("{}: {}", position, path_));
}

void Field::refuse(std::string_view why) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", place(), printable(why)));
}

const Field& Field::only(std::initializer_list<std::string_view> names) const {
  if (kind() != JsonKind::object) wrong_kind(*this, *node_, "an object");
  for (const auto& key : node_->keys) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const auto meant = nearest(key, names);
    const std::string hint =
        meant.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : fmt::format("is \"{}\" meant?", meant);
    at(key).refuse(fmt::format("there is no such field; {}", hint));
  }
  return *this;
}

std::optional<Field> Field::find(std::string_view name) const {
  if (kind() != JsonKind::object) wrong_kind(*this, *node_, "an object");
  const auto key = std::find(node_->keys.begin(), node_->keys.end(), name);
  if (key == node_->keys.end()) return std::nullopt;
  return member(static_cast<std::size_t>(key - node_->keys.begin()));
}

Field Field::member(std::size_t index) const {
  const std::string& name = node_->keys[index];
  return Field(*document_, node_->values[index], path_.empty() ? name : fmt::format("{}.{}", path_, name));
}

Field Field::at(std::string_view name) const {
  if (auto field = find(name)) return *std::move(field);
  refuse(fmt::format("\"{}\" is missing", name));
}

std::vector<std::pair<std::string, Field>> Field::members() const {
  if (kind() != JsonKind::object) wrong_kind(*this, *node_, "an object");
  std::vector<std::pair<std::string, Field>> fields;
  for (std::size_t i = 0; i < node_->keys.size(); ++i) fields.emplace_back(node_->keys[i], member(i));
  return fields;
}

const std::string& Field::single_key() const {
  if (kind() != JsonKind::object) wrong_kind(*this, *node_, "an object");
  const auto& keys = node_->keys;
  if (keys.size() != 1) refuse(fmt::format("exactly one field is expected here, not {}", keys.size()));
  return keys.front();
}

std::vector<Field> Field::items() const {
  if (kind() != JsonKind::array) wrong_kind(*this, *node_, "an array");
  std::vector<Field> fields;
  for (std::size_t i = 0; i < node_->values.size(); ++i)
    fields.push_back(Field(*document_, node_->values[i], fmt::format("{}[{}]", path_, i)));
  return fields;
}

bool Field::boolean() const {
  if (kind() != JsonKind::boolean) wrong_kind(*this, *node_, "true or false");
  return node_->boolean;
}

double Field::number() const {
  if (kind() == JsonKind::string) {
    if (node_->string == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (node_->string == "inf") return std::numeric_limits<double>::infinity();
    if (node_->string == "-inf") return -std::numeric_limits<double>::infinity();
  } else if (kind() == JsonKind::integer || kind() == JsonKind::number) {
    return node_->number;
  }
  wrong_kind(*this, *node_, "a number (or \"nan\", \"inf\", \"-inf\")");
}

std::int64_t Field::integer(std::int64_t lowest, std::int64_t highest) const {
  if (kind() != JsonKind::integer) wrong_kind(*this, *node_, "an integer");
  const auto value = static_cast<std::int64_t>(node_->integer);
  const bool too_large = !node_->negative && node_->integer > static_cast<std::uint64_t>(INT64_MAX);
  if (too_large || value < lowest || value > highest)
    refuse(fmt::format("{} is outside {} to {}", in_words(*node_), lowest, highest));
  return value;
}

std::uint64_t Field::unsigned_integer(std::uint64_t highest) const {
  if (kind() != JsonKind::integer) wrong_kind(*this, *node_, "an integer");
  if (node_->negative || node_->integer > highest)
    refuse(fmt::format("{} is outside 0 to {}", in_words(*node_), highest));
  return node_->integer;
}

const std::string& Field::string() const {
  if (kind() != JsonKind::string) wrong_kind(*this, *node_, "a text");
  return node_->string;
}

std::string Field::text() const {
  switch (kind()) {
    case JsonKind::boolean:
    case JsonKind::integer: return in_words(*node_);
    case JsonKind::number:
    case JsonKind::string: return node_->string;
    default: wrong_kind(*this, *node_, "a number, a text, true or false");
  }
}

std::size_t Field::choice(std::initializer_list<std::string_view> names) const {
  const auto found = std::find(names.begin(), names.end(), string());
  if (found == names.end()) refuse(fmt::format("\"{}\" is none of {}", string(), fmt::join(names, ", ")));
  return found - names.begin();
}

}  // namespace wm::cases
