// Looking for files that belong to a cubin: by its bytes, or by the names of its kernels.
#include "cudart/kept_ptx.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <elf.h>
#include <fmt/format.h>

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

// The files of the folders, and of folders in them, with this ending. Others may be at work there: what goes away
// meanwhile is passed over.
std::vector<fs::path> files_of(const std::vector<std::string>& folders, std::string_view ending) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    std::error_code error;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error))
      if (at->path().extension() == ending) files.push_back(at->path());
  }
  return files;
}

// Nothing where it cannot be read.
std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// In a fat binary zeros may follow.
bool same(std::string_view cubin, std::string_view file) {
  return !file.empty() && cubin.starts_with(file) &&
         cubin.substr(file.size()).find_first_not_of('\0') == std::string_view::npos;
}

std::string beside_the_same(std::string_view cubin, const std::vector<std::string>& folders) {
  for (const fs::path& file : files_of(folders, ".cubin")) {
    if (!same(cubin, bytes_of(file))) continue;
    std::string text = bytes_of(fs::path(file).replace_extension(".ptx"));
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace

KeptPtx kept_ptx(std::string_view cubin, const std::vector<std::string>& kept, const std::vector<std::string>& named) {
  KeptPtx found;
  for (const auto* folders : {&kept, &named})
    if (found.text.empty()) found.text = beside_the_same(cubin, *folders);
  const std::vector<std::string> kernels = kernels_of(cubin);
  if (!found.text.empty() || kernels.empty()) return found;
  for (const fs::path& file : files_of(named, ".ptx")) {
    const std::string text = bytes_of(file);
    const auto is_there = [&](const std::string& kernel) { return text.find(kernel) != text.npos; };
    if (!std::ranges::all_of(kernels, is_there) || text == found.text) continue;  // most files end here, unread
    const PtxParts parts(text);
    if (!std::ranges::all_of(kernels, [&](const std::string& kernel) { return parts.has_kernel(kernel); })) continue;
    if (!found.text.empty())
      return {{},
              fmt::format("several files of --ptx have the kernel {}, and differ: keep the machine code beside each "
                          "(x.cubin and x.ptx)",
                          kernels.front())};
    found.text = text;
  }
  return found;
}

}  // namespace wm::cudart
