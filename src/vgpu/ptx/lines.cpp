// Reading .file, .loc and .section.
#include "vgpu/ptx/lines.hpp"

#include <algorithm>

namespace wm::vgpu::ptx {

namespace {

constexpr int deepest_inlining = 64;
constexpr std::size_t longest_name = 4096;

// Paths in .file come with C escapes.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '\\' || text[at + 1] == '"')) ++at;
    result.push_back(text[at]);
  }
  return result;
}

}  // namespace

Lines::Lines(Lexer& lexer, Module& module) : lexer_(lexer), module_(module) { module_.files.assign(1, ""); }

void Lines::read_file() {
  const std::uint32_t index = file_index(lexer_.expect_number("the number of a .file"));
  if (lexer_.peek().kind != TokenKind::string) lexer_.fail_expected("a path in quotes");
  module_.files[index] = unescaped(lexer_.take().text);
  while (lexer_.accept(',')) {  // time stamp, size
    if (lexer_.peek().kind != TokenKind::integer) lexer_.fail_expected("a number after ','");
    lexer_.take();
  }
}

// The numbers in the text are the compiler's choice: they are mapped to small indices.
std::uint32_t Lines::file_index(std::uint32_t number) {
  const auto [entry, fresh] = files_.try_emplace(number, std::uint32_t(module_.files.size()));
  if (fresh) module_.files.emplace_back();
  return entry->second;
}

Lines::Position Lines::read_position() {
  const std::uint32_t file = file_index(lexer_.expect_number("a file number"));
  const std::uint32_t line = lexer_.expect_number("a line number");
  return {file, line, lexer_.expect_number("a column number")};
}

void Lines::read_location() {
  const std::uint32_t ptx_line = lexer_.peek().line;
  const Position position = read_position();
  std::string_view label;
  std::int64_t offset = 0;
  bool inlined = false;
  Position at{};
  while (lexer_.accept(',')) {
    const Token attribute = lexer_.expect_word("'function_name' or 'inlined_at'");
    if (attribute.text == "function_name") {
      label = lexer_.expect_word("the label of a function's name").text;
      if (lexer_.accept('+')) offset = lexer_.expect_number("an offset");
    } else if (attribute.text == "inlined_at") {
      inlined = true;
      at = read_position();
    } else {
      lexer_.fail(attribute, "expected 'function_name' or 'inlined_at', found " + quoted(attribute.text));
    }
  }
  current_.file = position[0];
  current_.line = position[1];
  current_.inlined_at = inlined ? inline_site(at, label, offset, ptx_line) : -1;
  latest_[position] = current_.inlined_at;
}

// The call's own place may itself have been inlined: a compiler says so in an earlier .loc of the same position.
std::int32_t Lines::inline_site(const Position& at, std::string_view label, std::int64_t offset,
                                std::uint32_t ptx_line) {
  const auto outer = latest_.find(at);
  std::int32_t parent = outer == latest_.end() ? -1 : outer->second;
  if (parent >= 0 && site_names_[parent].depth >= deepest_inlining) parent = -1;
  const auto [entry, fresh] =
      sites_.try_emplace(SiteKey{at, label, offset, parent}, std::int32_t(module_.inline_sites.size()));
  if (fresh) {
    InlineSite site;
    site.at = {ptx_line, at[0], at[1], parent};
    module_.inline_sites.push_back(std::move(site));
    site_names_.push_back({label, offset, parent < 0 ? 1 : site_names_[parent].depth + 1});
  }
  return entry->second;
}

void Lines::begin_function() {
  current_ = {};
  latest_.clear();
  sites_.clear();
}

Place Lines::place(std::uint32_t ptx_line) const {
  Place result = current_;
  result.ptx_line = ptx_line;
  return result;
}

void Lines::read_section() {
  if (lexer_.peek().kind != TokenKind::dotted) lexer_.fail_expected("the name of a section");
  const bool strings = lexer_.take().text == "debug_str";
  lexer_.expect('{', "after the name of a section");
  if (strings) return read_strings();
  while (!lexer_.accept('}')) {
    if (lexer_.peek().kind == TokenKind::end) lexer_.fail_expected("'}' to close a section");
    lexer_.take();
  }
}

void Lines::read_strings() {
  while (!lexer_.accept('}')) {
    if (lexer_.accept_dotted("b8")) {
      do {
        if (lexer_.peek().kind != TokenKind::integer) lexer_.fail_expected("a byte");
        strings_.push_back(char(lexer_.take().bits));
      } while (lexer_.accept(','));
    } else {
      const Token label = lexer_.expect_word("'.b8', a label or '}' in .debug_str");
      lexer_.expect(':', "after a label");
      string_labels_[label.text] = strings_.size();
    }
  }
}

void Lines::finish() {
  // Many sites may name one long string: what the names take together stays in proportion to the text.
  std::size_t budget = 16 * lexer_.size();
  for (std::size_t index = 0; index < site_names_.size(); ++index) {
    const auto label = string_labels_.find(site_names_[index].label);
    if (label == string_labels_.end()) continue;
    const std::size_t begin = label->second + std::size_t(site_names_[index].offset);
    if (begin >= strings_.size()) continue;
    const std::size_t length = std::min({strings_.find('\0', begin) - begin, longest_name, strings_.size() - begin});
    if (length > budget) continue;
    budget -= length;
    module_.inline_sites[index].function = strings_.substr(begin, length);
  }
}

}  // namespace wm::vgpu::ptx
