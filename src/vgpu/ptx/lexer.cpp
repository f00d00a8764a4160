// The PTX lexer.
#include "vgpu/ptx/lexer.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "warpmill/error.hpp"

namespace wm::vgpu::ptx {

namespace {

// Locale-free, unlike <cctype>, and defined for every char.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_follow(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

// Marks of two characters: << >> <= >= == != && ||
bool is_pair(char first, char second) {
  if (second == '=') return first == '<' || first == '>' || first == '=' || first == '!';
  return first == second && (first == '<' || first == '>' || first == '&' || first == '|');
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c == '\t')
      c = ' ';
    else if (c < ' ' || c > '~')
      c = '?';
  return result;
}

constexpr std::string_view name_comment = "wm.name";
constexpr std::size_t longest_text = std::size_t(1) << 30;

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 80;
  return fmt::format("'{}{}'", printable(text.substr(0, longest)), text.size() > longest ? "..." : "");
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::end: return "the end of the text";
    case TokenKind::dotted: return quoted(fmt::format(".{}", token.text));
    case TokenKind::string: return "a string";
    default: return quoted(token.text);
  }
}

Lexer::Lexer(std::string_view text, std::string_view name) : text_(text), name_(name) {
  // Compilers hand over C strings, often with their final zero.
  while (!text_.empty() && text_.back() == '\0') text_.remove_suffix(1);
  if (text_.size() > longest_text) {
    text_ = {};
    fail(current_, "the text is longer than 1 GiB");
  }
  current_ = next();
}

Token Lexer::take() {
  Token taken = current_;
  current_ = next();
  return taken;
}

char Lexer::character_after() const {
  std::size_t at = position_;
  while (at < text_.size() && is_blank(text_[at])) ++at;
  return at < text_.size() ? text_[at] : '\0';
}

bool Lexer::accept(char mark) {
  if (!current_.is(mark)) return false;
  take();
  return true;
}

bool Lexer::accept_dotted(std::string_view word) {
  if (!current_.is_dotted(word)) return false;
  take();
  return true;
}

void Lexer::expect(char mark, std::string_view where) {
  if (!accept(mark)) fail_expected(fmt::format("'{}' {}", mark, where));
}

Token Lexer::expect_word(std::string_view what) {
  if (current_.kind != TokenKind::word) fail_expected(what);
  return take();
}

std::uint32_t Lexer::expect_number(std::string_view what) {
  if (current_.kind != TokenKind::integer) fail_expected(what);
  const Token number = take();
  if (number.bits > UINT32_MAX) fail(number, fmt::format("{} is too large for {}", quoted(number.text), what));
  return std::uint32_t(number.bits);
}

std::vector<std::string_view> Lexer::take_names() { return std::exchange(names_, {}); }

void Lexer::fail(const Token& at, const std::string& what) const {
  const std::size_t offset = std::min(at.offset, text_.size());
  const std::size_t before = offset == 0 ? std::string_view::npos : text_.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text_.find('\n', offset), text_.size());
  // A line may be megabytes long: show the part around the place.
  constexpr std::size_t shown_before = 100, shown_after = 60;
  const std::size_t from = offset - begin > shown_before ? offset - shown_before : begin;
  const std::size_t to = std::min(end, offset + shown_after);
  throw Error(ErrorCode::compile, fmt::format("{}:{}:{}: {}\n    {}\n    {:>{}}", name_, at.line, offset - begin + 1,
                                              what, printable(text_.substr(from, to - from)), '^', offset - from + 1));
}

void Lexer::fail_expected(std::string_view what) const {
  fail(current_, fmt::format("expected {}, found {}", what, describe(current_)));
}

void Lexer::skip_comment() {
  if (text_[position_ + 1] == '/') {
    const std::size_t end = std::min(text_.find('\n', position_), text_.size());
    std::string_view comment = text_.substr(position_ + 2, end - position_ - 2);
    while (!comment.empty() && is_blank(comment.front())) comment.remove_prefix(1);
    while (!comment.empty() && is_blank(comment.back())) comment.remove_suffix(1);
    if (comment.starts_with(name_comment) && comment.size() > name_comment.size() &&
        is_blank(comment[name_comment.size()])) {
      comment.remove_prefix(name_comment.size());
      while (is_blank(comment.front())) comment.remove_prefix(1);
      names_.push_back(comment);
    }
    position_ = end;
    return;
  }
  const std::size_t end = text_.find("*/", position_ + 2);
  if (end == std::string_view::npos) {
    Token at;
    at.line = line_;
    at.offset = position_;
    fail(at, "this comment has no end: expected '*/'");
  }
  line_ += std::uint32_t(std::count(text_.begin() + position_, text_.begin() + end, '\n'));
  position_ = end + 2;
}

void Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (is_blank(c)) {
      line_ += c == '\n';
      ++position_;
    } else if (c == '/' && position_ + 1 < text_.size() &&
               (text_[position_ + 1] == '/' || text_[position_ + 1] == '*')) {
      skip_comment();
    } else {
      return;
    }
  }
}

void Lexer::read_number(Token& token) {
  const char* const begin = text_.data() + position_;
  const char* const end = text_.data() + text_.size();
  const auto finish = [&](const char* stop, bool valid) {
    while (stop != end && is_follow(*stop)) ++stop, valid = false;
    token.text = std::string_view(begin, stop - begin);
    position_ += token.text.size();
    if (!valid) fail(token, fmt::format("{} is no number", quoted(token.text)));
  };
  const char second = end - begin > 1 ? char(begin[1] | 0x20) : '\0';
  const bool prefixed = begin[0] == '0' && (second == 'x' || second == 'b' || second == 'f' || second == 'd');
  if (prefixed) {
    const int base = second == 'b' ? 2 : 16;
    const auto [stop, status] = std::from_chars(begin + 2, end, token.bits, base);
    const auto digits = stop - (begin + 2);
    if (second == 'f' || second == 'd') {
      token.kind = second == 'f' ? TokenKind::single_bits : TokenKind::double_bits;
      return finish(stop, status == std::errc() && digits == (second == 'f' ? 8 : 16));
    }
    token.kind = TokenKind::integer;
    const bool suffix = stop != end && *stop == 'U';
    token.is_unsigned = suffix || token.bits > INT64_MAX;
    return finish(stop + suffix, status == std::errc());
  }
  const char* stop = begin;
  while (stop != end && is_digit(*stop)) ++stop;
  if (stop != end && (*stop == '.' || *stop == 'e' || *stop == 'E')) {
    double value = 0;
    const auto [after, status] = std::from_chars(begin, end, value);
    token.kind = TokenKind::double_bits;
    token.bits = std::bit_cast<std::uint64_t>(value);
    return finish(after, status == std::errc());
  }
  token.kind = TokenKind::integer;
  const int base = *begin == '0' && stop - begin > 1 ? 8 : 10;
  const auto [after, status] = std::from_chars(begin, end, token.bits, base);
  const bool suffix = stop != end && *stop == 'U';
  token.is_unsigned = suffix || token.bits > INT64_MAX;
  finish(stop + suffix, status == std::errc() && after == stop);
}

void Lexer::read_string(Token& token) {
  std::size_t end = position_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size() || text_[end] != '"') fail(token, "this string has no end: expected '\"'");
  token.kind = TokenKind::string;
  token.text = text_.substr(position_ + 1, end - position_ - 1);
  position_ = end + 1;
}

Token Lexer::next() {
  skip_blanks();
  Token token;
  token.line = line_;
  token.offset = position_;
  if (position_ == text_.size()) return token;
  const char c = text_[position_];
  const auto follows = [&](std::size_t at) { return at < text_.size() && is_follow(text_[at]); };
  std::size_t end = position_ + 1;

  if (is_letter(c) || c == '_' || c == '$' || (c == '%' && follows(end))) {
    while (follows(end)) ++end;
    token.kind = TokenKind::word;
  } else if (c == '.' && follows(end)) {
    // A qualifier keeps its `::` parts: .shared::cluster
    for (;;) {
      while (follows(end)) ++end;
      if (!(text_.substr(end).starts_with("::") && follows(end + 2))) break;
      end += 2;
    }
    token.kind = TokenKind::dotted;
    token.text = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end;
    return token;
  } else if (is_digit(c)) {
    read_number(token);
    return token;
  } else if (c == '"') {
    read_string(token);
    return token;
  } else if (std::string_view("{}[]()<>,;:@!|&^~+-*/%=?").find(c) != std::string_view::npos) {
    token.kind = TokenKind::mark;
    if (end < text_.size() && is_pair(c, text_[end])) ++end;
  } else {
    fail(token, fmt::format("the character 0x{:02x} has no place in PTX", unsigned(std::uint8_t(c))));
  }
  token.text = text_.substr(position_, end - position_);
  position_ = end;
  return token;
}

}  // namespace wm::vgpu::ptx
