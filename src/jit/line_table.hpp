// Line tables in PTX: file names without the working directory, and the source line of a PTX line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wm::jit {

// NVRTC makes the names of `.file` absolute. Gives them back as they were given: a header as it was included from one
// of `include_folders`, anything else relative to the working directory.
std::string with_names_as_given(std::string_view ptx, const std::vector<std::filesystem::path>& include_folders);

struct SourcePlace {
  std::string file;
  std::size_t line = 0;  // from 1; 0: not known
};
// Where line `line` (from 1) of `ptx`, compiled without line information, comes from, by `table`, the same program's
// PTX with it. Unknown where the two do not agree.
SourcePlace source_place(std::string_view ptx, std::size_t line, std::string_view table);

// A file name as C++ and PTX write it inside quotes.
std::string escaped(std::string_view path);

// Line `line` (from 1) of `text`, without its line break; empty past the end.
std::string_view line_of(std::string_view text, std::size_t line);

}  // namespace wm::jit
