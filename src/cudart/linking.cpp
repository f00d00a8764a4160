// Texts of PTX become one: what each text says of its version and target is said once, what is local keeps to its text.
#include "cudart/linking.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "cudart/fat_binary.hpp"
#include "cudart/platform.hpp"
#include "cudart/ptx_parts.hpp"
#include "cudart/ptx_words.hpp"
#include "warpmill/error.hpp"

namespace wm::cudart {
namespace {

using Piece = PtxParts::Piece;
using Renamed = std::map<std::string, std::string, std::less<>>;

// The piece with other names, and its files by numbers from `first_file` on: every text counts its own from 1.
std::string rewritten(std::string_view text, const Renamed& renamed, int first_file) {
  std::string all;
  bool number_of_file = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at++;
    if (text[begin] == '/') {
      at = after_comment(text, begin);
    } else if (text[begin] == '"') {
      at = after_string(text, begin);
    } else if (in_name(text[begin]) || text[begin] == '.') {
      while (at < text.size() && in_name(text[at])) ++at;
      const std::string_view word = text.substr(begin, at - begin);
      int number = 0;
      if (number_of_file && std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc()) {
        all += std::to_string(std::int64_t{number} + first_file);
        number_of_file = false;
        continue;
      }
      number_of_file = word == ".file" || word == ".loc" || word == "inlined_at";
      if (const auto other = renamed.find(word); other != renamed.end()) {
        all += other->second;
        continue;
      }
    } else if (text[begin] != ' ' && text[begin] != '\t') {
      number_of_file = false;
    }
    all += text.substr(begin, at - begin);
  }
  return all;
}

// The directive that a piece begins with: ".version".
std::string_view directive_of(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == text.npos) return {};
  std::size_t end = dot + 1;
  while (end < text.size() && in_name(text[end])) ++end;
  return text.substr(dot, end - dot);
}

bool said_once(const Piece& piece) {
  const std::string_view directive = directive_of(piece.text);
  return directive == ".version" || directive == ".target" || directive == ".address_size" || directive == ".section";
}

// The largest number of a file.
int files_of(const std::vector<Piece>& pieces) {
  int most = 0;
  for (const Piece& piece : pieces)
    if (directive_of(piece.text) == ".file")
      most = std::max(most, std::atoi(piece.text.data() + piece.text.find(".file") + std::strlen(".file")));
  return most;
}

}  // namespace

void Linking::add(LinkedKind kind, std::string_view bytes, const std::string& name) {
  switch (kind) {
    case LinkedKind::library: return;  // the device runtime, mostly; whose name is missed says so when it is loaded
    case LinkedKind::ptx: texts_.push_back({name, std::string(bytes)}); return;
    case LinkedKind::fat_binary: {
      if (!is_fat_binary(bytes)) throw Error(ErrorCode::invalid_argument, name + " is no fat binary");
      DeviceCode code = device_code(bytes.data(), Platform::get().chip().arch, bytes.size());
      if (!code.problem.empty()) throw Error(ErrorCode::unsupported, name + ": " + code.problem);
      texts_.push_back({name, std::move(code.ptx)});
      return;
    }
    case LinkedKind::machine_code:
    case LinkedKind::intermediate:
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} is {}; the virtual GPU links PTX: {}", name,
                              kind == LinkedKind::machine_code ? "machine code" : "code for optimisation at link time",
                              kind == LinkedKind::machine_code ? "give the linker that" : "compile it without -dlto"));
  }
}

void Linking::complete() {
  if (texts_.empty()) throw Error(ErrorCode::invalid_argument, "there is nothing to link");
  std::vector<std::unique_ptr<PtxParts>> parts;
  std::map<std::string_view, std::pair<std::size_t, Piece::Linking>> defined;  // by whom
  std::vector<std::vector<Piece>> all;
  for (const Text& text : texts_) {
    parts.push_back(std::make_unique<PtxParts>(text.ptx));
    if (!parts.back()->valid()) throw Error(ErrorCode::invalid_argument, text.name + " is no PTX that can be read");
    all.push_back(parts.back()->pieces());
  }
  std::vector<Renamed> renamed(texts_.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Piece& piece : all[i]) {
      if (piece.name.empty() || piece.declaration) continue;
      const auto [before, first] = defined.try_emplace(piece.name, i, piece.linking);
      if (first) continue;
      auto& [text, linking] = before->second;
      if (piece.linking == Piece::Linking::local) {
        if (text != i) renamed[i].emplace(piece.name, fmt::format("{}$link{}", piece.name, i));
      } else if (linking == Piece::Linking::local) {
        renamed[text].emplace(piece.name, fmt::format("{}$link{}", piece.name, text));
        before->second = {i, piece.linking};
      } else if (linking == Piece::Linking::weak) {
        if (piece.linking == Piece::Linking::visible) before->second = {i, piece.linking};
      } else if (piece.linking == Piece::Linking::visible && text != i) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} and {} both define `{}`", texts_[text].name, texts_[i].name, piece.name));
      }
    }
  std::string image;
  int files = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const Piece& piece : all[i]) {
      if (i > 0 && said_once(piece)) continue;
      const bool named = !piece.name.empty() && !piece.declaration && !renamed[i].contains(piece.name);
      if (named && piece.linking == Piece::Linking::weak && defined.at(piece.name).first != i) continue;
      image += i == 0 && renamed[i].empty() ? std::string(piece.text) : rewritten(piece.text, renamed[i], files);
    }
    if (!image.ends_with('\n')) image += '\n';
    files += files_of(all[i]);
  }
  image_ = std::move(image);
}

}  // namespace wm::cudart
