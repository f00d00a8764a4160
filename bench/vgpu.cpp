// The speed of the virtual GPU: the whole bf16 GEMM kernel (TMA, wgmma or tcgen05, epilogue) against OpenBLAS sgemm of
// the same shape on one core, plain and with all of the judge's checks, and two host threads against one on a grid of
// many blocks. Rounds alternate; the best of each counts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <cblas.h>
#include <openblas_config.h>

#include "gemm/random_product.hpp"
#include "warpmill/gemm.hpp"
#include "warpmill/virtual.hpp"

namespace {

using namespace wm;

// Work of one thread is measured by the time it had the CPU (others on the machine do not count), work of several by
// the clock on the wall.
double seconds(clockid_t clock, const std::function<void()>& work) {
  const auto now = [clock] {
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

// The best time of each, in turns.
std::vector<double> best_of(int rounds, clockid_t clock, const std::vector<std::function<void()>>& works) {
  std::vector<double> best(works.size(), 1e9);
  for (int i = 0; i < rounds; ++i)
    for (std::size_t w = 0; w < works.size(); ++w) best[w] = std::min(best[w], seconds(clock, works[w]));
  return best;
}

std::function<void()> product(const Stream& stream, const GemmRequest& request, int host_threads) {
  return [&stream, &request, host_threads] {
    vgpu::RunOptions options;
    options.host_threads = host_threads;
    vgpu::set_run_options(stream.device(), options);
    gemm(stream, request);
  };
}

std::function<void()> checked(const Stream& stream, const GemmRequest& request) {
  return [&stream, &request] {
    vgpu::RunOptions options;
    options.check = true;
    vgpu::set_run_options(stream.device(), options);
    gemm(stream, request);
    const vgpu::RunReport report = vgpu::last_run(stream.device());
    if (report.check->clean()) return;
    for (const auto& finding : report.check->findings) std::puts(finding.text().c_str());
    std::exit(1);
  };
}

constexpr int size = 512;

// One core: plainly, judged, and OpenBLAS.
void compare(const char* chip, const std::optional<GemmPlan>& plan, const char* what,
             const std::function<void()>& sgemm) {
  const Device device = Device::open(chip);
  const Stream stream(device);
  const bench::RandomProduct small(stream, {size, size, size}, 1);
  const GemmRequest request = small.request(plan);
  product(stream, request, 1)();  // compiles
  if (small.sampled_error() >= 1) {
    std::puts("the product is wrong: nothing to measure");
    std::exit(1);
  }
  const auto best =
      best_of(9, CLOCK_PROCESS_CPUTIME_ID, {product(stream, request, 1), checked(stream, request), sgemm});
  std::printf(
      "bf16 GEMM %d^3 on %s, %s, one host thread: %.1f ms on the virtual GPU, %.1f ms with all checks, %.1f ms in "
      "OpenBLAS sgemm: %.1f and %.1f times\n",
      size, chip, what, best[0] * 1e3, best[1] * 1e3, best[2] * 1e3, best[0] / best[2], best[1] / best[2]);
}

}  // namespace

int main() {
  openblas_set_num_threads(1);
  std::vector<float> a(size * size), b(size * size), d(size * size);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto* values : {&a, &b})
    for (float& value : *values) value = normal(random);
  const auto sgemm = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size, size, size, 1, a.data(), size, b.data(), size, 0,
                d.data(), size);
  };
  const GemmPlan whole = GemmPlan{.tile = {128, 256}, .cluster = {1, 1}}.with_most_stages();
  compare("virtual:sm_90a", whole, "tile 128x256", sgemm);
  compare("virtual:sm_90a", {}, "the ranking's tile for 132 multiprocessors", sgemm);
  compare(
      "virtual:sm_100a",
      GemmPlan{.instruction = TensorInstruction::tcgen05, .tile = {128, 256}, .cluster = {1, 1}, .multiply_groups = 1}
          .with_most_stages(),
      "tile 128x256", sgemm);

  const Device device = Device::open("virtual:sm_90a");
  const Stream stream(device);
  const bench::RandomProduct many(stream, {1024, 1024, 512}, 2);
  const GemmPlan tiles = GemmPlan{.tile = {128, 128}, .cluster = {1, 1}}.with_most_stages();
  const GemmRequest grid = many.request(tiles);
  product(stream, grid, 1)();
  const auto two = best_of(9, CLOCK_MONOTONIC, {product(stream, grid, 1), product(stream, grid, 2)});
  std::printf("64 blocks, two host threads: %.1f ms instead of %.1f ms: %.2f times as fast (%u cores here)\n",
              two[1] * 1e3, two[0] * 1e3, two[0] / two[1], std::thread::hardware_concurrency());
}
