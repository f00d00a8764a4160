// PTX text as tokens, and the one place where a refusal gets its position and the offending line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wm::vgpu::ptx {

enum class TokenKind : std::uint8_t {
  end,
  word,         // add, %r1, $L__BB0_1, _
  dotted,       // .u32, .shared::cluster, .1d: text without the dot
  integer,      // bits
  single_bits,  // 0f3F800000: bits
  double_bits,  // 0d3FF0000000000000, and decimals such as 1.5: bits
  string,       // text without the quotes, escapes as written
  mark,         // punctuation
};

struct Token {
  TokenKind kind = TokenKind::end;
  bool is_unsigned = false;  // an integer with the suffix U, or one that only fits 64 unsigned bits
  std::uint32_t line = 1;
  std::size_t offset = 0;
  std::string_view text;
  std::uint64_t bits = 0;

  bool is(char mark_) const { return kind == TokenKind::mark && text.size() == 1 && text[0] == mark_; }
  bool is(std::string_view mark_) const { return kind == TokenKind::mark && text == mark_; }
  bool is_word(std::string_view word) const { return kind == TokenKind::word && text == word; }
  bool is_dotted(std::string_view word) const { return kind == TokenKind::dotted && text == word; }
};

// Reads one token ahead. `text` must outlive the lexer and every token it gave.
class Lexer {
 public:
  Lexer(std::string_view text, std::string_view name);

  const Token& peek() const { return current_; }
  Token take();
  // The character after the token that peek() shows, blanks skipped; 0 at the end.
  char character_after() const;
  std::size_t size() const { return text_.size(); }

  bool accept(char mark);
  bool accept_dotted(std::string_view word);
  // `where` completes the message: expect(';', "after the operands of 'add'").
  void expect(char mark, std::string_view where);
  Token expect_word(std::string_view what);
  // An unsigned literal of 32 bits at most.
  std::uint32_t expect_number(std::string_view what);

  // The text of the `// wm.name` comments passed since the last call.
  std::vector<std::string_view> take_names();

  [[noreturn]] void fail(const Token& at, const std::string& what) const;
  [[noreturn]] void fail_expected(std::string_view what) const;  // "expected <what>, found <the token ahead>"

 private:
  void skip_blanks();
  void skip_comment();
  void read_number(Token& token);
  void read_string(Token& token);
  Token next();

  std::string_view text_, name_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
  std::vector<std::string_view> names_;
  Token current_;
};

// A token or name as a message shows it: in quotes, clipped, printable.
std::string quoted(std::string_view text);
std::string describe(const Token& token);

}  // namespace wm::vgpu::ptx
