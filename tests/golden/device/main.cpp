// golden_device: every instruction family of the layer, executed, checked against a host reference, recorded and
// compared.
#include <algorithm>

#include <sys/wait.h>
#include <unistd.h>

#include "lab.hpp"

namespace {

// What all cases need is compiled at once on all cores, before the first case runs; a few are not worth it. A process
// of its own does it and leaves the programs in the cache on disk: after NVRTC has run here, a forked child finds the
// driver unusable.
void prepare(std::span<char* const> arguments) {
  const auto find = [&](std::string_view name) { return std::find(arguments.begin(), arguments.end(), name); };
  const auto end = arguments.end();
  if (find("--filter") != end || find("--list") != end) return;
  const auto device = find("--device");
  const bool cuda =
      device == end ? find("--record") != end : device + 1 != end && std::string_view(device[1]).starts_with("cuda");
  if (const pid_t compiler = fork(); compiler == 0) {
    wm::golden::compile_all(cuda ? wm::DeviceKind::cuda : wm::DeviceKind::virtual_gpu);
    _exit(0);
  } else if (compiler > 0) {
    waitpid(compiler, nullptr, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace wm::golden;
  std::vector<Case> cases;
  add_threads(cases);
  add_clusters(cases);
  add_matrices(cases);
  add_mma(cases);
  add_bulk(cases);
  add_tensors(cases);
  add_tensor_reductions(cases);
  add_tensor_maps(cases);
  add_wgmma(cases);
  prepare({argv, static_cast<std::size_t>(argc)});
  return run_golden(argc, argv, cases, 10);
}
