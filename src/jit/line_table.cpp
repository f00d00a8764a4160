// Line tables in PTX.
#include "jit/line_table.hpp"

#include <algorithm>
#include <charconv>

namespace wm::jit {
namespace {

namespace fs = std::filesystem;

// Takes the next line off the front of `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view without_indent(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line;
}

bool is_directive(std::string_view line, std::string_view directive) {
  return line.starts_with(directive) && line.size() > directive.size() &&
         (line[directive.size()] == ' ' || line[directive.size()] == '\t');
}

std::size_t number_at(std::string_view text) {
  text = without_indent(text);
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string escaped(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string_view line_of(std::string_view text, std::size_t line) {
  std::string_view found;
  for (; line > 0 && !text.empty(); --line) found = take_line(text);
  return line == 0 ? found : std::string_view();
}

std::string with_names_as_given(std::string_view ptx, const std::vector<fs::path>& include_folders) {
  std::error_code failed;
  const fs::path here = fs::current_path(failed);
  std::vector<std::string> prefixes;
  // Not normalised: NVRTC only puts the two together. A root ("/") has its slash already.
  const auto add = [&](const fs::path& folder) {
    std::string prefix = escaped((here / folder).string());
    if (!prefix.ends_with('/')) prefix += '/';
    prefixes.push_back(std::move(prefix));
  };
  for (const fs::path& folder : include_folders) add(folder);
  add("");
  std::stable_sort(prefixes.begin(), prefixes.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });

  std::string result;
  result.reserve(ptx.size());
  while (!ptx.empty()) {
    const bool ends = ptx.find('\n') != ptx.npos;
    std::string_view line = take_line(ptx);
    const std::size_t quote = line.find('"');
    if (is_directive(without_indent(line), ".file") && quote != line.npos) {
      result.append(line.substr(0, quote + 1));
      line.remove_prefix(quote + 1);
      for (const std::string& prefix : prefixes)
        if (line.starts_with(prefix)) {
          line.remove_prefix(prefix.size());
          break;
        }
    }
    result.append(line);
    if (ends) result.push_back('\n');
  }
  return result;
}

SourcePlace source_place(std::string_view ptx, std::size_t line, std::string_view table) {
  // The table's PTX is the plain one with `.loc` lines between.
  const std::string_view wanted = line_of(ptx, line);
  std::size_t counted = 0;
  std::string_view place, rest = table;
  while (!rest.empty() && counted < line) {
    const std::string_view current = take_line(rest);
    const std::string_view directive = without_indent(current);
    if (is_directive(directive, ".loc"))
      place = directive.substr(4);
    else if (++counted == line && current != wanted)
      return {};
  }
  if (place.empty()) return {};

  const std::size_t file = number_at(place);
  place = without_indent(place);
  const std::size_t source_line = number_at(place.substr(std::min(place.find(' '), place.size())));
  while (!rest.empty()) {
    const std::string_view directive = without_indent(take_line(rest));
    if (!is_directive(directive, ".file") || number_at(directive.substr(5)) != file) continue;
    const std::size_t first = directive.find('"'), last = directive.rfind('"');
    if (first == last) return {};
    return {std::string(directive.substr(first + 1, last - first - 1)), source_line};
  }
  return {};
}

}  // namespace wm::jit
