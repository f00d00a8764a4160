// How long a small kernel takes to compile: at the first use in a process, cold, and from the cache.
#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include "warpmill/jit.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void scale(float* out, const float* in, float factor, int count) {
  __shared__ float tile[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < count ? in[i] : 0.f;
  __syncthreads();
  if (i < count) out[i] = factor * tile[threadIdx.x ^ 1] + NUMBER;
}
)";

wm::jit::Program compile(int number, bool line_table = false) {
  return wm::jit::compile(
      {"scale.cu", text},
      {.arch = {9, 0, true}, .defines = {{"NUMBER", std::to_string(number)}}, .line_table = line_table});
}

// A cache of its own, empty at first, gone at the end.
class Cache {
 public:
  Cache() {
    std::string name = (std::filesystem::temp_directory_path() / "warpmill-bench-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    setenv("WARPMILL_CACHE_DIR", folder_.c_str(), 1);
  }
  ~Cache() { std::filesystem::remove_all(folder_); }

 private:
  std::filesystem::path folder_;
};

// Opens NVRTC as well, which a process does once.
void first_compile_of_a_process(benchmark::State& state) {
  const Cache cache;
  for (auto _ : state) benchmark::DoNotOptimize(compile(-1));
}
BENCHMARK(first_compile_of_a_process)->Iterations(1)->Unit(benchmark::kMillisecond);

void compile_cold(benchmark::State& state) {
  const Cache cache;
  int number = 0;
  for (auto _ : state)
    if (compile(number++).from_cache) state.SkipWithError("it came from the cache");
}
BENCHMARK(compile_cold)->Unit(benchmark::kMillisecond)->UseRealTime();

void compile_cold_to_ptx_with_a_line_table(benchmark::State& state) {
  const Cache cache;
  int number = 0;
  for (auto _ : state)
    if (compile(number++, true).from_cache) state.SkipWithError("it came from the cache");
}
BENCHMARK(compile_cold_to_ptx_with_a_line_table)->Unit(benchmark::kMillisecond)->UseRealTime();

void compile_from_the_cache(benchmark::State& state) {
  const Cache cache;
  compile(0);
  for (auto _ : state)
    if (!compile(0).from_cache) state.SkipWithError("it did not come from the cache");
}
BENCHMARK(compile_from_the_cache)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
