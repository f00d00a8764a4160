// The JIT's front: compile() and what it says of the compiler.
#include <fmt/format.h>

#include "jit/build.hpp"
#include "jit/nvrtc.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

namespace wm::jit {
namespace {

// A kernel of this library that lost speed is a bug of ours, never a slow success.
void refuse_lost_speed(const Source& source, const Program& program) {
  if (program.lost_speed.empty()) return;
  std::string message = fmt::format("{} compiles for {} but loses speed:", source.name, program.arch.name());
  for (const std::string& words : program.lost_speed) message += fmt::format("\n  {}", words);
  throw Error(ErrorCode::compile, message);
}

}  // namespace

Program compile(const Source& source, const Options& options) {
  const Nvrtc& compiler = nvrtc();
  check_request(source, options, compiler);
  const Request request{source, options, embedded_headers(), flags_of(options, compiler)};
  Program program = build(compiler, request);
  if (options.shipped) refuse_lost_speed(source, program);
  return program;
}

CompilerInfo compiler_info() {
  CompilerInfo info;
  try {
    const Nvrtc& compiler = nvrtc();
    info.found = true;
    info.path = compiler.path.string();
    info.version = fmt::format("{}.{}", compiler.major, compiler.minor);
    for (const int number : compiler.architectures) {
      info.architectures.push_back({number / 10, number % 10, false});
      if (number >= 90) info.architectures.push_back({number / 10, number % 10, true});
    }
    if (compiler.major > 13 || compiler.minor > 0)
      info.note = fmt::format(
          "NVRTC {} is newer than 13.0, the release tested here: its PTX is newer than 9.0, and a driver or the "
          "virtual "
          "GPU may not know it. Pin nvidia-cuda-nvrtc==13.0.* where that happens.",
          info.version);
    if (compiler.include_folders.empty())
      info.note += fmt::format(
          "{}The toolkit's headers (cuda_fp16.h) were not found; kernels that include them do not "
          "compile. pip install 'nvidia-cuda-runtime==13.0.*' brings them.",
          info.note.empty() ? "" : " ");
  } catch (const Error& error) {
    info.problem = error.what();
  }
  return info;
}

}  // namespace wm::jit
