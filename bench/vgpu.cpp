// The speed of the virtual GPU: the whole bf16 GEMM kernel (TMA, wgmma, epilogue) against OpenBLAS sgemm of the same
// shape on one core, and two host threads against one on a grid of many blocks. Rounds alternate; the best of each
// counts.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <cblas.h>
#include <openblas_config.h>

#include "gemm/gemm_problem.hpp"
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

struct Pair {
  double first = 1e9, second = 1e9;
};
Pair best_of(int rounds, clockid_t clock, const std::function<void()>& first, const std::function<void()>& second) {
  Pair best;
  for (int i = 0; i < rounds; ++i) {
    best.first = std::min(best.first, seconds(clock, first));
    best.second = std::min(best.second, seconds(clock, second));
  }
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

}  // namespace

int main() {
  const Device device = Device::open("virtual:sm_90a");
  const Stream stream(device);
  openblas_set_num_threads(1);

  constexpr int size = 512;
  const bench::GemmProblem small(stream, {size, size, size}, 1);
  const GemmPlan plan = GemmPlan{.tile = {128, 256}, .cluster = {1, 1}}.with_most_stages();
  const GemmRequest request = small.request(plan);
  std::vector<float> a(size * size), b(size * size), d(size * size);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto* values : {&a, &b})
    for (float& value : *values) value = normal(random);
  const auto sgemm = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size, size, size, 1, a.data(), size, b.data(), size, 0,
                d.data(), size);
  };
  product(stream, request, 1)();  // compiles
  if (small.sampled_error() >= 1) {
    std::puts("the product is wrong: nothing to measure");
    return 1;
  }
  const GemmRequest by_ranking =
      small.request();  // small tiles, to fill the chip: more instructions for the same product
  product(stream, by_ranking, 1)();
  for (const auto& [name, one] :
       {std::pair{"tile 128x256", best_of(15, CLOCK_PROCESS_CPUTIME_ID, product(stream, request, 1), sgemm)},
        std::pair{"the ranking's tile for 132 multiprocessors",
                  best_of(15, CLOCK_PROCESS_CPUTIME_ID, product(stream, by_ranking, 1), sgemm)}})
    std::printf(
        "bf16 GEMM %d^3, %s, one host thread: %.1f ms on the virtual GPU, %.1f ms in OpenBLAS sgemm: %.1f times\n",
        size, name, one.first * 1e3, one.second * 1e3, one.first / one.second);

  const bench::GemmProblem many(stream, {1024, 1024, 512}, 2);
  const GemmPlan tiles = GemmPlan{.tile = {128, 128}, .cluster = {1, 1}}.with_most_stages();
  const GemmRequest grid = many.request(tiles);
  product(stream, grid, 1)();
  const Pair two = best_of(9, CLOCK_MONOTONIC, product(stream, grid, 1), product(stream, grid, 2));
  std::printf("64 blocks, two host threads: %.1f ms instead of %.1f ms: %.2f times as fast (%u cores here)\n",
              two.second * 1e3, two.first * 1e3, two.first / two.second, std::thread::hardware_concurrency());
}
