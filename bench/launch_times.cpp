// What a launch costs the host: the call, not the kernel, which is empty.
#include <benchmark/benchmark.h>

#include "warpmill/warpmill.hpp"

namespace {

constexpr const char* text = R"(extern "C" __global__ void nothing(float*, const float*, float, int) {})";

void launch_on(benchmark::State& state, const wm::Device& device) {
  const auto program = wm::jit::compile({"nothing.cu", text}, {.arch = device.info().arch});
  const auto kernel = wm::Module::load(device, program).kernel("nothing");
  const wm::Buffer x(device, 1024), y(device, 1024);
  const wm::Stream stream(device);
  int launched = 0;
  for (auto _ : state) {
    wm::launch(stream, kernel, {.grid = {1}, .block = {32}}, x, y, 0.5f, 7);
    // A GPU's queue takes about a thousand launches; a full one would be measured as the kernel's time.
    if (++launched % 256 == 0) {
      state.PauseTiming();
      stream.synchronize();
      state.ResumeTiming();
    }
  }
  stream.synchronize();
  state.SetLabel(device.info().name);
}

void launch_on_the_best_device(benchmark::State& state) { launch_on(state, wm::Device::best()); }
BENCHMARK(launch_on_the_best_device)->Unit(benchmark::kMicrosecond)->UseRealTime();

void launch_on_the_virtual_gpu(benchmark::State& state) { launch_on(state, wm::Device::open("virtual")); }
BENCHMARK(launch_on_the_virtual_gpu)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
