#include <warpmill/warpmill.hpp>  // y = x w^T

int main() {
  const std::int64_t m = 512, n = 256, k = 128;
  const wm::Device device = wm::Device::best();  // the first GPU, or the virtual one
  const wm::Stream stream(device);
  const wm::Buffer x = wm::Buffer::of<wm::bf16>(device, std::vector(m * k, wm::bf16(2)));
  const wm::Buffer w = wm::Buffer::of<wm::bf16>(device, std::vector(n * k, wm::bf16(3)));
  const wm::Buffer y(device, m * n * sizeof(float));
  wm::gemm(stream,
           {.a = x.view<wm::bf16>({m, k}), .b = w.view<wm::bf16>({n, k}).transposed(), .d = y.view<float>({m, n})});
  return y.download<float>().back() == 2 * 3 * k ? 0 : 1;
}
