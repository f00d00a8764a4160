// Reading which kernels a cubin has, and which a text has.
#include "cudart/kept_ptx.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <elf.h>

#include "cudart/module.hpp"
#include "cudart/ptx_parts.hpp"

namespace wm::cudart {
namespace {

namespace fs = std::filesystem;

// Every kernel of a cubin has a bank of constants for its parameters, and nothing else has.
std::vector<std::string> kernels_of(std::string_view cubin) {
  constexpr std::string_view parameters = ".nv.constant0.";
  std::vector<std::string> names;
  Elf64_Ehdr head;
  if (cubin.size() < sizeof(head)) return names;
  std::memcpy(&head, cubin.data(), sizeof(head));
  std::vector<Elf64_Shdr> sections(head.e_shnum);
  const std::size_t bytes = sections.size() * sizeof(Elf64_Shdr);
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shstrndx >= head.e_shnum || bytes > cubin.size() ||
      head.e_shoff > cubin.size() - bytes)
    return names;
  std::memcpy(sections.data(), cubin.data() + head.e_shoff, bytes);
  const Elf64_Shdr& at = sections[head.e_shstrndx];
  if (at.sh_size > cubin.size() || at.sh_offset > cubin.size() - at.sh_size) return names;
  const std::string_view strings = cubin.substr(at.sh_offset, at.sh_size);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= strings.size()) continue;
    const std::string_view rest = strings.substr(section.sh_name), name = rest.substr(0, rest.find('\0'));
    if (name.starts_with(parameters)) names.emplace_back(name.substr(parameters.size()));
  }
  return names;
}

struct File {
  fs::file_time_type written;
  fs::path path;
};

std::vector<File> newest_first(const std::vector<std::string>& folders) {
  std::vector<File> files;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, ignored))
      if (entry.path().extension() == ".ptx" && entry.is_regular_file(ignored))
        files.push_back({entry.last_write_time(ignored), entry.path()});
  }
  std::ranges::sort(files, std::greater(), &File::written);
  return files;
}

}  // namespace

std::string kept_ptx(std::string_view cubin, const std::vector<std::string>& folders) {
  const std::vector<std::string> kernels = kernels_of(cubin);
  if (kernels.empty()) return {};
  for (const File& file : newest_first(folders)) {
    std::string text = text_of_file(file.path.c_str());
    const auto is_there = [&](const std::string& kernel) { return text.find(kernel) != text.npos; };
    if (!std::ranges::all_of(kernels, is_there)) continue;  // most files end here, unread
    const PtxParts parts(text);
    if (std::ranges::all_of(kernels, [&](const std::string& kernel) { return parts.has_kernel(kernel); })) return text;
  }
  return {};
}

}  // namespace wm::cudart
