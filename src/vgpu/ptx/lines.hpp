// Source places: .file, .loc and the strings of .section .debug_str, which name inlined functions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "vgpu/ptx/lexer.hpp"
#include "vgpu/ptx/module.hpp"

namespace wm::vgpu::ptx {

class Lines {
 public:
  Lines(Lexer& lexer, Module& module);

  // Each reads its directive; the directive's name has been taken.
  void read_file();
  void read_location();
  void read_section();

  void begin_function();                      // places of one function say nothing about the next
  Place place(std::uint32_t ptx_line) const;  // of an instruction in this line
  void finish();                              // names the inlined functions; .debug_str comes last in a module

 private:
  using Position = std::array<std::uint32_t, 3>;  // file, line, column
  Position read_position();
  std::uint32_t file_index(std::uint32_t number);
  std::int32_t inline_site(const Position& at, std::string_view label, std::int64_t offset, std::uint32_t ptx_line);
  void read_strings();

  Lexer& lexer_;
  Module& module_;
  Place current_;
  std::unordered_map<std::uint32_t, std::uint32_t> files_;  // the text's number -> index into Module::files
  std::map<Position, std::int32_t> latest_;                 // a position -> the inline site it was last seen in
  using SiteKey = std::tuple<Position, std::string_view, std::int64_t, std::int32_t>;
  std::map<SiteKey, std::int32_t> sites_;
  struct SiteName {
    std::string_view label;
    std::int64_t offset = 0;
    int depth = 1;
  };
  std::vector<SiteName> site_names_;  // parallel to Module::inline_sites
  std::string strings_;               // .debug_str
  std::unordered_map<std::string_view, std::size_t> string_labels_;
};

}  // namespace wm::vgpu::ptx
