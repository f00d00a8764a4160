// A program that uses an installed Warpmill: compiles a kernel, runs it on the best device, checks the result.
#include <vector>

#include <fmt/format.h>
#include <warpmill/warpmill.hpp>

constexpr const char* source = R"(
extern "C" __global__ void scale(float* x, float factor, int elements) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) x[i] *= factor;
}
)";

int main() {
  try {
    const wm::Device device = wm::Device::best();
    const auto program = wm::jit::compile({"scale.cu", source}, {.arch = device.info().arch});
    const auto kernel = wm::Module::load(device, program).kernel("scale");
    const std::vector<float> ones(1000, 1.0f);
    const auto x = wm::Buffer::of<float>(device, ones);
    const wm::Stream stream(device);
    wm::launch(stream, kernel, {.grid = {8}, .block = {128}}, x, 2.5f, 1000);
    stream.synchronize();
    for (const float value : x.download<float>())
      if (value != 2.5f) {
        fmt::print("wrong: {}\n", value);
        return 1;
      }
    fmt::print("right on {}\n", device.info().name);
    return 0;
  } catch (const wm::Error& error) {
    fmt::print("{}\n", error.what());
    return 2;
  }
}
