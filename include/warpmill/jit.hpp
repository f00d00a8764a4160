// CUDA C++ to PTX and cubin with NVRTC, opened at run time, behind a cache on disk.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "warpmill/api.hpp"
#include "warpmill/architecture.hpp"

namespace wm::jit {

struct Source {
  std::string name;  // shown in errors and line tables: "copy.cu"
  std::string text;
};

struct Options {
  Architecture arch;
  std::map<std::string, std::string> defines = {};
  std::vector<std::filesystem::path> include_folders = {};  // besides Warpmill's own headers, which are always found
  std::vector<std::string> name_expressions = {};           // template kernels: "gemm<GemmPlan{...}>"
  // More of the compiler's own: "--use_fast_math". A -std among them replaces c++20.
  std::vector<std::string> flags = {};
  // PTX that maps instructions to source lines, for the virtual GPU; such a program has no cubin.
  bool line_table = false;
  // A kernel of this library: lost speed (a C75xx line, a spill, a stack frame) is an error.
  bool shipped = false;
};

// What the compiler said of one kernel.
struct Resources {
  std::string entry;
  int registers = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t stack_bytes = 0;  // a thread, with the functions called
  std::size_t spill_store_bytes = 0;
  std::size_t spill_load_bytes = 0;
  int barriers = 0;
};

struct Program {
  Architecture arch;
  std::string ptx;                             // empty where the program was compiled ahead, with the library
  std::vector<std::byte> cubin;                // empty where Options::line_table was set
  std::vector<Resources> resources;            // one an entry; empty where there is no cubin
  std::map<std::string, std::string> lowered;  // name expression -> name in the module
  std::vector<std::string> lost_speed;         // the compiler's (C75xx) lines, spills and stack frames, in words
  std::string log;                             // warnings, verbatim
  bool from_cache = false;
};

// From the cache where it holds this program: the same source, headers, flags, architecture and compiler; or compiled
// ahead with the library by a compiler of the same major version (docs/jit.md), unless the cache is off. Threads that
// ask for one program at the same time compile it once. A program that includes a name made by a macro is not cached.
WARPMILL_API Program compile(const Source& source, const Options& options);

// The NVRTC in use, or why there is none. WARPMILL_NVRTC names one; docs/jit.md has the order of the search.
struct CompilerInfo {
  bool found = false;
  std::string path;
  std::string version;  // "13.0"
  std::string problem;  // where not found: what was tried and how to get it
  std::string note;     // where found but not as tested: newer than 13.0, or without the toolkit's headers
  std::vector<Architecture> architectures;
};
WARPMILL_API CompilerInfo compiler_info();

// The cache on disk: WARPMILL_CACHE_DIR, or warpmill/ in the user's cache folder; WARPMILL_CACHE_MAX_BYTES bounds it (1
// GiB), 0 turns it off.
struct CacheInfo {
  std::filesystem::path folder;
  std::string problem;  // why it is not in use; empty where it is
  std::size_t entries = 0;
  std::size_t bytes = 0;
};
WARPMILL_API CacheInfo cache_info();
WARPMILL_API std::size_t clear_cache();  // entries removed

// Warpmill's kernel headers: "warpmill/ptx/tma.cuh" -> text.
WARPMILL_API const std::map<std::string, std::string_view>& embedded_headers();

}  // namespace wm::jit
