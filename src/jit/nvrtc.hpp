// NVRTC, opened at run time: where it is looked for, and its functions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nvrtc.h>

namespace wm::jit {

struct Nvrtc {
  std::filesystem::path path;  // the file in use
  int major = 0, minor = 0;
  std::string identity;            // tells two builds of one version apart
  std::vector<int> architectures;  // 75, 80, 90, ...
  std::vector<std::filesystem::path>
      include_folders;  // the toolkit's headers (cuda_fp16.h); empty where there are none

  decltype(&nvrtcCreateProgram) create_program;
  decltype(&nvrtcDestroyProgram) destroy_program;
  decltype(&nvrtcAddNameExpression) add_name_expression;
  decltype(&nvrtcCompileProgram) compile_program;
  decltype(&nvrtcGetLoweredName) lowered_name;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) log;
  decltype(&nvrtcGetPTXSize) ptx_size;
  decltype(&nvrtcGetPTX) ptx;
  decltype(&nvrtcGetCUBINSize) cubin_size;
  decltype(&nvrtcGetCUBIN) cubin;
  decltype(&nvrtcGetErrorString) error_string;
};

// Opened at the first call and kept. Where there is none, throws not_found with every place that was tried, and the
// next call looks again. The order of the search:
//   1. WARPMILL_NVRTC, if set, and then nothing else: the library's file, or a folder.
//   2. the toolkit: CUDA_HOME, CUDA_PATH, /usr/local/cuda.
//   3. the loader's path (LD_LIBRARY_PATH, ld.so.conf).
//   4. wheels from PyPI: cuda-wheels/ in the build folder of the running program, nvidia/ beside the package that holds
//      this library, and the active virtual environment.
// A folder may be the one of the library itself, the root of a toolkit (lib64/) or the target of
// `pip install --target` (nvidia/cu13/lib/).
const Nvrtc& nvrtc();

}  // namespace wm::jit
