// Compiled as any plain kernel is: no word of what comes behind it.
#include "gemm/foreign.hpp"

#include "warpmill/jit.hpp"

namespace wm::bench {
namespace {

constexpr unsigned threads = 256;
constexpr const char* text = R"(
extern "C" __global__ void add_to_each(uint4* data, unsigned long long count, unsigned what) {
  const unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
  if (i >= count) return;
  const uint4 x = data[i];
  data[i] = make_uint4(x.x + what, x.y + what, x.z + what, x.w + what);
}
)";

}  // namespace

ForeignKernel::ForeignKernel(const Device& device)
    : kernel_(Module::load(device, jit::compile({"foreign.cu", text}, {.arch = device.info().arch}))
                  .kernel("add_to_each")) {}

void ForeignKernel::write_a(const Stream& stream, const RandomProduct& problem) const {
  const std::uint64_t chunks = problem.a.bytes() / 16;  // of the last few elements, none
  if (chunks == 0) return;
  launch(stream, kernel_, {.grid = {static_cast<unsigned>((chunks + threads - 1) / threads)}, .block = {threads}},
         problem.a.address(), chunks, 0u);
}

}  // namespace wm::bench
