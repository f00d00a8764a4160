// A kernel with stamps, and its timeline for ui.perfetto.dev.
#include <fstream>

#include <warpmill/warpmill.hpp>

constexpr const char* source = R"(
#include "warpmill/pipeline/stamps.cuh"
using namespace wm;

extern "C" __global__ void add_one(float* x) {
  start_stamps();
  __syncthreads();
  for (u32 step = 0; step < 4; ++step) {
    float& element = x[(step * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x];
    stamp<"add", "load">(step);
    const float value = element;
    stamp<"add", "store">(step);
    element = value + 1;
  }
  stamp<"add", "end">(0);
}
)";

int main(int, char** arguments) {
  const wm::Device device = wm::Device::best();
  const wm::Stream stream(device);
  const auto program =
      wm::jit::compile({"add_one.cu", source}, {.arch = device.info().arch, .defines = {{"WM_STAMPS", "1"}}});
  const auto kernel = wm::Module::load(device, program).kernel("add_one");
  const auto x = wm::Buffer::of<float>(device, std::vector(4 * 2 * 64, 1.f));
  wm::LaunchConfig config{.grid = {2}, .block = {64}};
  const wm::trace::StampRecords stamps(stream, kernel, config);
  wm::launch(stream, kernel, config, x);
  std::ofstream(arguments[1]) << stamps.read(stream).to_json();
}
