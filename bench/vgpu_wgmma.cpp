// The wgmma of a 512 x 512 x 512 bf16 GEMM on the virtual tensor core, gather and fragments included, against OpenBLAS
// sgemm of the same shape on one core. Rounds of the two alternate, and the best of each is compared.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <vector>

#include <cblas.h>
#include <openblas_config.h>

#include "vgpu/isa/numeric/dispatch.hpp"
#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/isa/numeric/wgmma.hpp"

namespace {

using namespace wm::vgpu::numeric;

constexpr int size = 512;

// Time this thread had the CPU: others on the machine do not count.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds(const std::function<void()>& work) {
  const double start = now();
  work();
  return now() - start;
}

// One stage of a pipelined GEMM: A (64 x 64) and B (n x 64) with 128-byte swizzle, K-major, four wgmma on it.
struct Tiles {
  static constexpr std::uint32_t a_at = 0x400, b_at = 0x400 + 8192;
  std::vector<std::byte> shared;
  WgmmaShape shape;
  std::vector<WgmmaStep> steps;
  std::vector<std::uint32_t> registers;
  std::vector<std::uint32_t> rows;

  explicit Tiles(int n) : shared(b_at + static_cast<std::size_t>(n) * 128), registers(4 * 128 * 32) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (std::size_t i = a_at; i < shared.size(); i += 2) {
      const std::uint16_t bits = bf16_of_f32(normal(random));
      std::memcpy(&shared[i], &bits, 2);
    }
    shape.n = n;
    for (std::uint32_t k = 0; k < 4; ++k) {
      WgmmaStep step;
      step.a = {a_at + 32 * k, 16, 1024, 0, Swizzle::bytes128};
      step.b = {b_at + 32 * k, 16, 1024, 0, Swizzle::bytes128};
      steps.push_back(step);
    }
    for (std::uint32_t r = 0; r < 128; ++r) rows.push_back(r);
  }

  // All wgmma of the product: every 64 x n tile, every k; `together` steps a call.
  void run(std::size_t together) {
    WgmmaRegisters target;
    for (std::size_t warp = 0; warp < 4; ++warp) target.files[warp] = registers.data() + warp * 128 * 32;
    target.rows = rows;
    for (int tile = 0; tile < size / 64 * (size / shape.n); ++tile)
      for (int stage = 0; stage < size / 64; ++stage)
        for (std::size_t i = 0; i < steps.size(); i += together)
          wgmma(shape, std::span(steps).subspan(i, together), shared, target);
  }
};

const char* name_of(Cpu cpu) { return cpu == Cpu::avx512 ? "AVX-512" : cpu == Cpu::avx2 ? "AVX2" : "baseline"; }

}  // namespace

int main() {
  openblas_set_num_threads(1);
  std::vector<float> a(size * size), b(size * size), c(size * size);
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (auto& x : a) x = normal(random);
  for (auto& x : b) x = normal(random);
  const auto sgemm = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size, size, size, 1, a.data(), size, b.data(), size, 0,
                c.data(), size);
  };
  std::printf("512 x 512 x 512, one core, best of 15 interleaved rounds\n%-28s%12s%12s\n", "", "ms", "x sgemm");
  for (const Cpu cpu : {Cpu::avx512, Cpu::avx2}) {
    if (cpu > best_cpu()) continue;
    use_cpu(cpu);
    for (const int n : {256, 128})
      for (const std::size_t together : {std::size_t{1}, std::size_t{4}}) {
        Tiles tiles(n);
        double reference = 1e9, ours = 1e9;
        for (int round = 0; round < 15; ++round) {
          reference = std::min(reference, seconds(sgemm));
          ours = std::min(ours, seconds([&] { tiles.run(together); }));
        }
        std::printf("m64n%dk16 x%zu %-14s%12.2f%12.2f   (sgemm %.2f ms)\n", n, together, name_of(cpu), ours * 1e3,
                    ours / reference, reference * 1e3);
      }
  }
}
