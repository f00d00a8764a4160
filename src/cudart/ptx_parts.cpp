// Cutting PTX: strings, comments, braces and the names of what is defined, nothing more.
#include "cudart/ptx_parts.hpp"

#include <algorithm>
#include <cctype>

#include "cudart/ptx_words.hpp"

namespace wm::cudart {
namespace {

// The first of `stops` at or after `at`, outside of strings and comments; the end where there is none.
std::size_t find_first(std::string_view text, std::size_t at, const char* stops) {
  const std::string wanted = std::string(stops) + "\"/";
  while ((at = text.find_first_of(wanted, at)) != text.npos) {
    if (text[at] == '"')
      at = after_string(text, at);
    else if (text[at] == '/')
      at = after_comment(text, at);
    else
      return at;
  }
  return text.size();
}

// After the brace that closes the one at `at`.
std::size_t after_braces(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size();) {
    const char c = text[at];
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) return at + 1;
    at = c == '"' ? after_string(text, at) : c == '/' ? after_comment(text, at) : at + 1;
  }
  return text.size();
}

// The words of a definition's head, in order: names, directives with their dots, numbers. Parentheses of a result list
// or an attribute are left out.
std::vector<std::string_view> words_of(std::string_view head) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < head.size();) {
    const char c = head[at];
    if (c == '/') {
      at = after_comment(head, at);
    } else if (c == '(') {
      at = std::min(head.find(')', at), head.size() - 1) + 1;
    } else if (c == '.' || in_name(c)) {
      const std::size_t begin = at++;
      while (at < head.size() && in_name(head[at])) ++at;
      words.push_back(head.substr(begin, at - begin));
    } else {
      ++at;
    }
  }
  return words;
}

// What a head defines: the first word that is neither a directive nor the number after .align.
std::string_view name_in(const std::vector<std::string_view>& words) {
  for (const std::string_view word : words)
    if (word.front() != '.' && !std::isdigit(static_cast<unsigned char>(word.front()))) return word;
  return {};
}

}  // namespace

PtxParts::PtxParts(std::string text) : text_(std::move(text)) {
  while (!text_.empty() && text_.back() == '\0') text_.pop_back();
  whole_ = text_.find(".callprototype") != text_.npos || text_.find(".calltargets") != text_.npos ||
           text_.find(".alias") != text_.npos;
  cut();
}

void PtxParts::cut() {
  const std::string_view text = text_;
  valid_ = text.find(".version") != text.npos;
  for (std::size_t at = 0; at < text.size();) {
    // A definition begins at the beginning of a line, after blanks; what is between two belongs to the first.
    const std::size_t dot = find_first(text, at, ".");
    valid_ = valid_ && words_of(text.substr(at, dot - at)).empty();
    if (dot > at && !(parts_.empty())) parts_.back().end = dot;
    if (dot == text.size()) break;
    Part part;
    part.begin = parts_.empty() ? 0 : dot;
    // Directives without a semicolon end with their line; they have no braces.
    const std::size_t word_end = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(dot) + 1, text.end(),
                                                  [](char c) { return in_name(c); }) -
                                 text.begin();
    const std::string_view word = text.substr(dot, word_end - dot);
    if (word == ".version" || word == ".target" || word == ".address_size" || word == ".file" || word == ".loc") {
      part.end = part.body = std::min(text.find('\n', dot), text.size());
    } else {
      const std::size_t stop = find_first(text, dot, ";{=");
      const auto words = words_of(text.substr(dot, stop - dot));
      const auto has = [&](std::string_view wanted) { return std::ranges::find(words, wanted) != words.end(); };
      part.body = stop;
      part.declaration = has(".extern");
      if (has(".entry") || has(".func")) {
        part.kind = has(".entry") ? Kind::kernel : Kind::function;
        part.declaration = stop == text.size() || text[stop] == ';';
        part.end = part.declaration ? stop + 1 : after_braces(text, stop);
      } else if (word == ".section") {
        part.end = after_braces(text, stop);
      } else {
        if (has(".global") || has(".const")) part.kind = Kind::global;
        if (has(".shared")) part.kind = Kind::shared;
        part.end = std::min(find_first(text, stop, ";") + 1, text.size());
      }
      part.end = std::min(part.end, text.size());
      if (part.kind != Kind::head) part.name = name_in(words);
    }
    at = part.end;
    if (!part.name.empty()) index_.emplace(part.name, parts_.size());
    parts_.push_back(part);
  }
  // A table of functions in memory: their addresses must be those of every kernel.
  for (const Part& part : parts_) {
    if (part.kind != Kind::global || part.body >= part.end || text_[part.body] != '=') continue;
    for (const std::string_view word : words_of(text.substr(part.body, part.end - part.body)))
      for (auto [it, end] = index_.equal_range(word); it != end; ++it)
        if (parts_[it->second].kind == Kind::function || parts_[it->second].kind == Kind::kernel) whole_ = true;
  }
}

std::vector<std::string_view> PtxParts::kernels() const {
  std::vector<std::string_view> names;
  for (const Part& part : parts_)
    if (part.kind == Kind::kernel && !part.declaration) names.push_back(part.name);
  return names;
}

bool PtxParts::has_kernel(std::string_view name) const {
  const auto [begin, end] = index_.equal_range(name);
  return std::any_of(begin, end, [&](const auto& entry) { return parts_[entry.second].kind == Kind::kernel; });
}

// ".visible .global .align 4 .b8 x[64] = {...};" as ".extern .global .align 4 .b8 x[64] ;"
std::string PtxParts::declared(const Part& variable) const {
  std::string head = text_.substr(variable.begin, variable.body - variable.begin);
  for (const std::string_view linking : {".visible", ".weak", ".common", ".extern"})
    if (const std::size_t at = head.find(linking); at != head.npos) head.erase(at, linking.size());
  return ".extern " + head + ";";
}

template <class Elsewhere>
std::string PtxParts::compose(const std::vector<bool>& taken, const Elsewhere& elsewhere) const {
  std::string module;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const std::string_view all = std::string_view(text_).substr(part.begin, part.end - part.begin);
    const auto lines = static_cast<std::size_t>(std::ranges::count(all, '\n'));
    const std::size_t before = module.size();
    if (taken[i]) {
      if (part.kind == Kind::global && !part.declaration && elsewhere(part.name))
        module += declared(part);
      else
        module += all;
    }
    const auto kept =
        static_cast<std::size_t>(std::count(module.begin() + static_cast<std::ptrdiff_t>(before), module.end(), '\n'));
    module.append(lines - kept, '\n');
  }
  return module;
}

std::string PtxParts::variables(const Names& elsewhere) const {
  std::vector<bool> taken(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i)
    taken[i] = parts_[i].kind == Kind::head || (parts_[i].kind == Kind::global && !parts_[i].declaration);
  return compose(taken, [&](std::string_view name) { return elsewhere.contains(name); });
}

std::string PtxParts::all_but(const Names& elsewhere) const {
  return compose(std::vector<bool>(parts_.size(), true),
                 [&](std::string_view name) { return elsewhere.contains(name); });
}

std::string PtxParts::only(const Names& names) const {
  std::vector<bool> taken(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i)
    taken[i] = parts_[i].kind == Kind::head || (parts_[i].kind == Kind::global && names.contains(parts_[i].name));
  return compose(taken, [](std::string_view) { return false; });
}

std::vector<PtxParts::Piece> PtxParts::pieces() const {
  std::vector<Piece> pieces;
  for (const Part& part : parts_) {
    Piece& piece = pieces.emplace_back();
    piece.name = part.name;
    piece.text = std::string_view(text_).substr(part.begin, part.end - part.begin);
    piece.declaration = part.declaration;
    const auto words = words_of(std::string_view(text_).substr(part.begin, part.body - part.begin));
    const auto has = [&](std::string_view wanted) { return std::ranges::find(words, wanted) != words.end(); };
    if (has(".weak") || has(".common")) piece.linking = Piece::Linking::weak;
    if (has(".visible")) piece.linking = Piece::Linking::visible;
  }
  return pieces;
}

std::string PtxParts::kernel(std::string_view name) const {
  std::vector<bool> taken(parts_.size());
  std::vector<std::size_t> open;
  const auto take = [&](std::string_view wanted) {
    for (auto [it, end] = index_.equal_range(wanted); it != end; ++it)
      if (!taken[it->second]) {
        taken[it->second] = true;
        open.push_back(it->second);
      }
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) taken[i] = parts_[i].kind == Kind::head;
  take(name);
  while (!open.empty()) {
    const Part& part = parts_[open.back()];
    open.pop_back();
    if (part.kind != Kind::kernel && part.kind != Kind::function) continue;
    const std::string_view body = std::string_view(text_).substr(part.body, part.end - part.body);
    for (std::size_t at = 0; at < body.size();) {
      if (!in_name(body[at])) {
        ++at;
        continue;
      }
      const std::size_t begin = at;
      while (at < body.size() && in_name(body[at])) ++at;
      if (body[begin] != '%' && !std::isdigit(static_cast<unsigned char>(body[begin])))
        take(body.substr(begin, at - begin));
    }
  }
  return compose(taken, [](std::string_view) { return true; });
}

}  // namespace wm::cudart
