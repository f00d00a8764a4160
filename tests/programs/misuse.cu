// Misuses of CUDA, one a process, and what each call says then: `misuse list`, `misuse NAME`.
#include <cstring>

#include "misuse.cuh"
#include "misuse_capture.cuh"
#include "misuse_handles.cuh"
#include "misuse_kernels.cuh"
#include "misuse_launches.cuh"
#include "misuse_memory.cuh"
#include "misuse_tensor_maps.cuh"

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was printed before a crash is seen
  const char* const wanted = count > 1 ? arguments[1] : "list";
  const bool list = std::strcmp(wanted, "list") == 0;
  for (const auto& misuses : {memory_misuses(), handle_misuses(), capture_misuses(), launch_misuses(), kernel_misuses(),
                              tensor_map_misuses()})
    for (const Misuse& misuse : misuses) {
      if (list) std::printf("%s\n", misuse.name);
      if (std::strcmp(wanted, misuse.name) != 0) continue;
      say("call", misuse.commit());
      say("synchronise", cudaDeviceSynchronize());
      say("last", cudaGetLastError());
      say("last again", cudaGetLastError());
      void* memory = nullptr;
      say("later", cudaMalloc(&memory, 256));
      return 0;
    }
  if (!list) std::fprintf(stderr, "misuse: no misuse is called %s; `misuse list` names them\n", wanted);
  return list ? 0 : 2;
}
