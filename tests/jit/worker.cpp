// A process that compiles: worker KERNELS [LIMIT]. Tells which NVRTC it uses, then for each of KERNELS small kernels
// whether it came from the cache and the digest of its PTX; warnings of the library go to stderr. LIMIT: the largest
// file it may write, in bytes.
#include <cstdio>
#include <cstdlib>

#include <sys/resource.h>

#include "jit/sha256.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/log.hpp"

int main(int count, char** arguments) {
  if (count < 2) return 2;
  if (count > 2) {
    const rlim_t bytes = std::strtoull(arguments[2], nullptr, 10);
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
  }
  wm::set_log([](wm::LogSeverity severity, std::string_view text) {
    if (severity == wm::LogSeverity::warning) std::fprintf(stderr, "warning: %s\n", std::string(text).c_str());
  });
  try {
    const wm::jit::CompilerInfo info = wm::jit::compiler_info();
    std::printf("nvrtc %s %s\nnote %s\n", info.version.c_str(), info.path.c_str(), info.note.c_str());
    for (int i = 0; i < std::atoi(arguments[1]); ++i) {
      const wm::jit::Program program =
          wm::jit::compile({"worker.cu", "__global__ void k(int* x) { *x = NUMBER; }"},
                           {.arch = {9, 0, true}, .defines = {{"NUMBER", std::to_string(i)}}});
      std::printf("%s %s\n", program.from_cache ? "cached" : "compiled",
                  wm::jit::hexadecimal(wm::jit::sha256(std::string_view(program.ptx))).c_str());
    }
  } catch (const wm::Error& error) {
    std::printf("%s: %s\n", std::string(wm::name_of(error.code())).c_str(), error.what());
    return 3;
  }
  return 0;
}
