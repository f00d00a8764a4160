// A scan of PTX text for its target and the signatures of its entries.
#include "runtime/ptx_summary.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "warpmill/error.hpp"

namespace wm::runtime {
namespace {

// Words (names, directives, numbers) and single marks; comments, strings and white space are left out.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) { advance(); }
  std::string_view peek() const { return token_; }  // empty at the end
  std::string_view next() {
    const std::string_view token = token_;
    advance();
    return token;
  }
  bool accept(std::string_view wanted) {
    if (token_ != wanted) return false;
    advance();
    return true;
  }

 private:
  void advance() {
    skip();
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    token_ = rest_.substr(0, std::max<std::size_t>(length, 1));
    rest_.remove_prefix(token_.size());
  }
  void skip() {
    while (!rest_.empty()) {
      if (std::isspace(static_cast<unsigned char>(rest_.front())))
        rest_.remove_prefix(1);
      else if (rest_.starts_with("//"))
        skip_past("\n", 2);
      else if (rest_.starts_with("/*"))
        skip_past("*/", 2);
      else if (rest_.front() == '"')
        skip_past("\"", 1);
      else
        return;
    }
  }
  void skip_past(std::string_view mark, std::size_t from) {
    const std::size_t at = rest_.find(mark, from);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + mark.size());
  }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
  }
  std::string_view rest_, token_;
};

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// ".u32": 4 bytes, an integer. The untyped .b32 may hold anything.
struct Scalar {
  std::size_t bytes;
  ParameterKind kind;
};
std::optional<Scalar> scalar(std::string_view token) {
  if (token.size() < 3 || token[0] != '.') return std::nullopt;
  if (token == ".bf16") return Scalar{2, ParameterKind::floating};
  const std::optional<std::size_t> bits = number(token.substr(2));
  if (!bits || (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64 && *bits != 128)) return std::nullopt;
  switch (token[1]) {
    case 'u':
    case 's': return Scalar{*bits / 8, ParameterKind::integer};
    case 'f': return Scalar{*bits / 8, ParameterKind::floating};
    case 'b': return Scalar{*bits / 8, ParameterKind::unknown};
    default: return std::nullopt;
  }
}

// After ".param": ".u64 .ptr .global .align 16 name" or ".align 64 .b8 name[128]". `end` is where the last one ended.
Parameter read_parameter(Tokens& tokens, std::size_t end) {
  Parameter parameter;
  std::size_t alignment = 1;
  while (!tokens.peek().empty() && tokens.peek() != "," && tokens.peek() != ")") {
    const std::string_view token = tokens.next();
    if (token == ".align") {
      const std::size_t value = number(tokens.next()).value_or(1);
      if (parameter.kind != ParameterKind::pointer) alignment = value;  // after .ptr it is the alignment pointed to
    } else if (token == ".ptr") {
      parameter.kind = ParameterKind::pointer;
    } else if (const auto type = scalar(token)) {
      parameter.bytes = type->bytes;
      parameter.kind = type->kind;
      alignment = std::max(alignment, type->bytes);
    } else if (token == "[") {
      parameter.bytes *= number(tokens.next()).value_or(0);
      parameter.kind = ParameterKind::aggregate;
    }
  }
  alignment = std::max<std::size_t>(alignment, 1);
  parameter.offset = (end + alignment - 1) / alignment * alignment;
  return parameter;
}

Dim3 read_dimensions(Tokens& tokens) {
  std::uint32_t values[3] = {1, 1, 1};
  for (std::uint32_t& value : values) {
    value = static_cast<std::uint32_t>(number(tokens.next()).value_or(0));
    if (!tokens.accept(",")) break;
  }
  return {values[0], values[1], values[2]};
}

// After ".entry".
PtxEntry read_entry(Tokens& tokens) {
  PtxEntry entry{.name = std::string(tokens.next()), .parameters = {}};
  if (tokens.accept("("))
    while (!tokens.peek().empty() && !tokens.accept(")")) {
      if (tokens.accept(".param")) {
        const Parameter* last = entry.parameters.empty() ? nullptr : &entry.parameters.back();
        entry.parameters.push_back(read_parameter(tokens, last ? last->offset + last->bytes : 0));
      } else {
        tokens.next();
      }
    }
  while (!tokens.peek().empty() && tokens.peek() != "{" && tokens.peek() != ";")
    if (tokens.next() == ".reqntid") entry.required_block = read_dimensions(tokens);
  return entry;
}

}  // namespace

const PtxEntry* PtxSummary::find(std::string_view entry) const {
  const auto found = std::ranges::find(entries, entry, &PtxEntry::name);
  return found == entries.end() ? nullptr : &*found;
}

void PtxSummary::set_kinds(std::string_view entry, std::span<Parameter> parameters) const {
  const PtxEntry* found = find(entry);
  if (!found || found->parameters.size() != parameters.size()) return;
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].kind = found->parameters[i].kind;
}

PtxSummary summarize(std::string_view ptx) {
  PtxSummary summary;
  Tokens tokens(ptx);
  while (!tokens.peek().empty()) {
    const std::string_view token = tokens.next();
    if (token == ".entry") {
      summary.entries.push_back(read_entry(tokens));
    } else if (token == ".target" && !summary.target) {
      try {
        summary.target = Architecture::parse(tokens.next());
      } catch (const Error&) {  // one that is not known here: the device will say what it makes of it
      }
    }
  }
  return summary;
}

}  // namespace wm::runtime
