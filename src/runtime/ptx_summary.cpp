// A scan of PTX text for its target and the signatures of its entries.
#include "runtime/ptx_summary.hpp"

#include <algorithm>

#include "common/numbers.hpp"
#include "vgpu/ptx/lexer.hpp"
#include "warpmill/error.hpp"

namespace wm::runtime {
namespace {

using vgpu::ptx::Lexer;
using vgpu::ptx::Token;
using vgpu::ptx::TokenKind;

bool at_end(const Lexer& lexer) { return lexer.peek().kind == TokenKind::end; }

// The integer ahead, or `otherwise`.
std::size_t take_integer(Lexer& lexer, std::size_t otherwise) {
  const Token token = lexer.take();
  return token.kind == TokenKind::integer ? static_cast<std::size_t>(token.bits) : otherwise;
}

// ".u32": 4 bytes, an integer. The untyped .b32 may hold anything.
struct Scalar {
  std::size_t bytes;
  ParameterKind kind;
};
std::optional<Scalar> scalar(const Token& token) {
  if (token.kind != TokenKind::dotted) return std::nullopt;
  if (token.text == "bf16") return Scalar{2, ParameterKind::floating};
  const auto bits = number_from<std::size_t>(token.text.substr(1));
  if (!bits || (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64 && *bits != 128)) return std::nullopt;
  switch (token.text[0]) {
    case 'u':
    case 's': return Scalar{*bits / 8, ParameterKind::integer};
    case 'f': return Scalar{*bits / 8, ParameterKind::floating};
    case 'b': return Scalar{*bits / 8, ParameterKind::unknown};
    default: return std::nullopt;
  }
}

// After ".param": ".u64 .ptr .global .align 16 name" or ".align 64 .b8 name[128]". `end` is where the last one ended.
Parameter read_parameter(Lexer& lexer, std::size_t end) {
  Parameter parameter;
  std::size_t alignment = 1;
  while (!at_end(lexer) && !lexer.peek().is(',') && !lexer.peek().is(')')) {
    const Token token = lexer.take();
    if (token.is_dotted("align")) {
      const std::size_t value = take_integer(lexer, 1);
      if (parameter.kind != ParameterKind::pointer) alignment = value;  // after .ptr it is the alignment pointed to
    } else if (token.is_dotted("ptr")) {
      parameter.kind = ParameterKind::pointer;
    } else if (const auto type = scalar(token)) {
      parameter.bytes = type->bytes;
      parameter.kind = type->kind;
      alignment = std::max(alignment, type->bytes);
    } else if (token.is('[')) {
      parameter.bytes *= take_integer(lexer, 0);
      parameter.kind = ParameterKind::aggregate;
    }
  }
  alignment = std::max<std::size_t>(alignment, 1);
  parameter.offset = (end + alignment - 1) / alignment * alignment;
  return parameter;
}

Dim3 read_dimensions(Lexer& lexer) {
  std::uint32_t values[3] = {1, 1, 1};
  for (std::uint32_t& value : values) {
    value = static_cast<std::uint32_t>(take_integer(lexer, 0));
    if (!lexer.accept(',')) break;
  }
  return {values[0], values[1], values[2]};
}

// After ".entry".
PtxEntry read_entry(Lexer& lexer) {
  PtxEntry entry{.name = std::string(lexer.take().text), .parameters = {}};
  if (lexer.accept('('))
    while (!at_end(lexer) && !lexer.accept(')')) {
      if (lexer.accept_dotted("param")) {
        const Parameter* last = entry.parameters.empty() ? nullptr : &entry.parameters.back();
        entry.parameters.push_back(read_parameter(lexer, last ? last->offset + last->bytes : 0));
      } else {
        lexer.take();
      }
    }
  while (!at_end(lexer) && !lexer.peek().is('{') && !lexer.peek().is(';'))
    if (lexer.take().is_dotted("reqntid")) entry.required_block = read_dimensions(lexer);
  return entry;
}

void read_all(Lexer& lexer, PtxSummary& summary) {
  while (!at_end(lexer)) {
    const Token token = lexer.take();
    if (token.is_dotted("entry")) {
      summary.entries.push_back(read_entry(lexer));
    } else if (token.is_dotted("target") && !summary.target) {
      try {
        summary.target = Architecture::parse(lexer.take().text);
      } catch (const Error&) {  // one that is not known here: the device will say what it makes of it
      }
    }
  }
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
  try {
    Lexer lexer(ptx, "");
    read_all(lexer, summary);
  } catch (const Error&) {  // no PTX from there on: the device will say what it makes of it
  }
  return summary;
}

}  // namespace wm::runtime
