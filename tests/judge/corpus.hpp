// The judge's corpus as the tests see it: which kernels there are, what is wrong with each, and on which lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "warpmill/check.hpp"

namespace wm::judge {

struct Planted {
  std::string name;     // of the case: <name>.cu, <name>.json
  std::string finding;  // the name it must be found under
  vgpu::Severity severity = vgpu::Severity::error;
  std::vector<std::string> also;      // other findings that are true of the wrong kernel, in some schedules
  std::map<std::string, int> marked;  // "first", "second" -> the line with `// expect: first`
};
// What GoogleTest calls it.
inline void PrintTo(const Planted& bug, std::ostream* out) { *out << bug.name; }

inline const std::filesystem::path corpus_folder = std::filesystem::path(WARPMILL_TEST_DATA) / "corpus";
// Wrong kernels whose one mistake makes many findings.
inline const std::filesystem::path causes_folder = std::filesystem::path(WARPMILL_TEST_DATA) / "causes";
inline const std::filesystem::path clean_folder = std::filesystem::path(WARPMILL_TEST_DATA) / "clean";

// Of warps, in one run: enough for every kernel here, and for those without an end not too many.
inline constexpr std::uint64_t most_instructions = 2'000'000;

// Every planted bug of the manifest. Throws where the manifest and the folder do not agree.
std::vector<Planted> planted_bugs();
// The names of the clean kernels.
std::vector<std::string> clean_kernels();

std::string read_text(const std::filesystem::path& path);

}  // namespace wm::judge
