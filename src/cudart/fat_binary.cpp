// Reading fat binaries and what is compressed in them.
#include "cudart/fat_binary.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "warpmill/error.hpp"

namespace wm::cudart {
namespace {

constexpr std::uint32_t wrapper_magic = 0x466243b1, binary_magic = 0xba55ed50, elf_magic = 0x464c457f;

struct Wrapper {  // what __cudaRegisterFatBinary is given
  std::uint32_t magic, version;
  const void* data;
  const void* more;
};
struct Header {
  std::uint32_t magic;
  std::uint16_t version, bytes;  // of this header
  std::uint64_t size;            // of all that follows it
};
struct Entry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t size;             // of what follows the header, padding included
  std::uint32_t compressed_size;  // without the padding
  std::uint32_t options;
  std::uint16_t minor, major;  // of the PTX version
  std::uint32_t arch;          // 90
  std::uint32_t name, name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t plain_size;
};
static_assert(sizeof(Entry) == 64);
constexpr std::uint16_t kind_ptx = 1, kind_elf = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;

// A function of a library that is opened when first needed.
template <class Function>
Function* function_of(const char* library, const char* package, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* found = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (found == nullptr)
    throw Error(ErrorCode::not_found,
                fmt::format("the program's PTX is compressed, and {} is not there to read it: install the package {}, "
                            "or build with nvcc --no-compress",
                            library, package));
  return reinterpret_cast<Function*>(found);
}

std::string decompressed(const Entry& entry, const char* data) {
  std::string plain(entry.plain_size, '\0');
  std::int64_t got = -1;
  if (entry.flags & flag_zstd) {
    static auto* const zstd = function_of<std::size_t(void*, std::size_t, const void*, std::size_t)>(
        "libzstd.so.1", "libzstd1", "ZSTD_decompress");
    got = static_cast<std::int64_t>(zstd(plain.data(), plain.size(), data, entry.compressed_size));
  } else {
    static auto* const lz4 =
        function_of<int(const char*, char*, int, int)>("liblz4.so.1", "liblz4-1", "LZ4_decompress_safe");
    got = lz4(data, plain.data(), static_cast<int>(entry.compressed_size), static_cast<int>(plain.size()));
  }
  if (got != static_cast<std::int64_t>(plain.size()))
    throw Error(ErrorCode::invalid_argument, "the program's PTX is compressed in a way that cannot be read");
  return plain;
}

std::string bytes_of(const Entry& entry) {
  const char* data = reinterpret_cast<const char*>(&entry) + entry.header_bytes;
  if (entry.flags & (flag_lz4 | flag_zstd)) return decompressed(entry, data);
  return {data, entry.size};
}
std::string text_of(const Entry& entry) {
  std::string text = bytes_of(entry);
  text.resize(strnlen(text.data(), text.size()));
  return text;
}

// As long as its own tables say; empty where they lie beyond `most` bytes, or are no tables of a cubin.
std::string copy_of_elf(const void* image, std::size_t most) {
  const char* const bytes = static_cast<const char*>(image);
  Elf64_Ehdr head;
  if (most < sizeof(head)) return {};
  std::memcpy(&head, bytes, sizeof(head));
  std::size_t end = sizeof(head);
  const auto holds = [&](std::size_t begin, std::size_t count) {
    if (begin > most || count > most - begin) return false;
    end = std::max(end, begin + count);
    return true;
  };
  constexpr Elf64_Half of_cuda = 190;
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != of_cuda ||
      !holds(head.e_shoff, std::size_t{head.e_shnum} * sizeof(Elf64_Shdr)) ||
      !holds(head.e_phoff, std::size_t{head.e_phnum} * sizeof(Elf64_Phdr)))
    return {};
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + head.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type != SHT_NOBITS && !holds(section.sh_offset, section.sh_size)) return {};
  }
  return {bytes, end};
}

// The target that PTX names, "sm_90a"; families ("sm_100f") count as the chip they are named after.
Architecture target_of(const std::string& ptx, int number) {
  const std::size_t directive = ptx.find(".target");
  std::size_t at = directive == ptx.npos ? ptx.npos : ptx.find("sm_", directive);
  Architecture arch{number / 10, number % 10, false};
  if (at == ptx.npos) return arch;
  at += 3;
  while (at < ptx.size() && ptx[at] >= '0' && ptx[at] <= '9') ++at;
  arch.specific = at < ptx.size() && (ptx[at] == 'a' || ptx[at] == 'f');
  return arch;
}

DeviceCode code_of(const Header& header, const Architecture& device) {
  const char* at = reinterpret_cast<const char*>(&header) + header.bytes;
  const char* const end = at + header.size;
  DeviceCode code;
  Architecture best{0, 0, false};
  std::vector<std::string> others;
  const Entry* machine_code = nullptr;
  while (at + sizeof(Entry) <= end) {
    const auto& entry = *reinterpret_cast<const Entry*>(at);
    at += entry.header_bytes + entry.size;
    if (entry.kind == kind_elf) machine_code = &entry;
    if (entry.kind != kind_ptx) continue;
    std::string text = text_of(entry);
    const Architecture target = target_of(text, static_cast<int>(entry.arch));
    if (!device.runs_ptx(target)) {
      others.push_back(target.name());
    } else if (code.ptx.empty() || best < target) {
      code.ptx = std::move(text);
      best = target;
    }
  }
  if (!code.ptx.empty()) return code;
  try {
    if (machine_code != nullptr) code.machine_code = bytes_of(*machine_code);
  } catch (const Error&) {  // then nothing is found by it
  }
  const std::string number = fmt::format("{}{}", device.number(), device.specific ? "a" : "");
  const std::string help =
      fmt::format("build it with nvcc -arch=sm_{0}, or with -gencode arch=compute_{0},code=compute_{0}", number);
  if (!others.empty())
    code.problem = fmt::format("the program has PTX for {} only, which does not run on {}; {}", fmt::join(others, ", "),
                               device.name(), help);
  else if (machine_code != nullptr)
    code.problem = fmt::format(
        "the program has machine code but no PTX, which is what the virtual GPU executes; {}; or let its "
        "compiler keep the PTX in a folder, and say --ptx FOLDER",
        help);
  return code;
}

}  // namespace

bool is_fat_binary(std::string_view bytes) {
  Header header{};
  if (bytes.size() < sizeof(header)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header.magic == binary_magic && header.bytes <= bytes.size() && header.size <= bytes.size() - header.bytes;
}

DeviceCode device_code(const void* image, const Architecture& device, std::size_t most) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof(magic));
  if (magic == wrapper_magic) return device_code(static_cast<const Wrapper*>(image)->data, device);
  if (magic == binary_magic) return code_of(*static_cast<const Header*>(image), device);
  if (magic == elf_magic)
    return {{},
            "a module is machine code (a cubin); the virtual GPU executes PTX: build it with nvcc -ptx or -fatbin, or "
            "let its compiler keep the PTX in a folder, and say --ptx FOLDER",
            copy_of_elf(image, most)};
  return {static_cast<const char*>(image), {}, {}};
}

}  // namespace wm::cudart
