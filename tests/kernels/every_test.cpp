// Every legal instantiation of every wrapper passes ptxas for its architectures: of wgmma's numbers of columns, which
// are generated alike, all for bf16 and for the other types a third each, or all (INSTRUCTION_SHAPES_EVERY=1).
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "compile.hpp"

namespace wm::test {
namespace {

struct Job {
  std::string name, text, arch;
  std::string counted;  // an instruction, and how often it must be in the PTX: nothing was optimised away
  std::size_t count = 0;
};

std::size_t occurrences(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

bool is_integer(std::string_view type) { return type == "i8" || type == "u8"; }

// wgmma on `a` and `b` with one accumulator, for every `every`th N from `first` on.
Job wgmma_job(std::string_view a, std::string_view b, std::string_view accumulator, int first, int every) {
  const std::string types = a == b ? std::string(a) : fmt::format("{}_{}", a, b);
  std::string text = fmt::format("#include \"warpmill/ptx/wgmma_{}.cuh\"\n#include \"every/wgmma.cuh\"\n", types);
  std::size_t shapes = 0;
  int legal = 0;
  for (int n = 8; n <= 256; n += 8) {
    if (is_integer(a) && n > 32 && n % 16 != 0) continue;
    if (legal++ % every != first) continue;
    ++shapes;
    text += fmt::format(
        "template __global__ void every::wgmma_kernel<wm::{0}, wm::{1}, wm::{2}, {3}>(wm::{2}*, wm::u64, wm::u64);\n",
        a, b, accumulator, n);
  }
  // From shared memory and from registers; scales 4, saturation 2; major-ness of A (in shared memory) and of B 2 each.
  const std::size_t each = is_integer(a) ? 2 * 2 : a == "bf16" || a == "f16" ? 4 * (4 + 2) : 4 * 2;
  return {fmt::format("wgmma {} into {}", types, accumulator), std::move(text), "sm_90a", "wgmma.mma_async",
          shapes * each};
}

std::vector<Job> all_jobs() {
  std::vector<Job> jobs;
  const char* const asked = std::getenv("INSTRUCTION_SHAPES_EVERY");
  const int every = asked ? std::atoi(asked) : 3;
  const auto wgmma = [&](const char* a, const char* b, const char* accumulator) {
    jobs.push_back(wgmma_job(a, b, accumulator, static_cast<int>(jobs.size()) % every, every));
  };
  jobs.push_back(wgmma_job("bf16", "bf16", "f32", 0, 1));
  wgmma("f16", "f16", "f32");
  wgmma("f16", "f16", "u32");
  for (const char* a : {"e4m3", "e5m2"})
    for (const char* b : {"e4m3", "e5m2"})
      for (const char* accumulator : {"f32", "u32"}) wgmma(a, b, accumulator);
  wgmma("tf32", "tf32", "f32");
  for (const char* a : {"i8", "u8"})
    for (const char* b : {"i8", "u8"}) wgmma(a, b, "i32");
  const auto file = [&](const char* name, const char* arch, const char* counted, std::size_t count) {
    jobs.push_back(
        {fmt::format("{} for {}", name, arch), read_text(device_folder / "every" / name), arch, counted, count});
  };
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    file("sm_80.cu", arch, "mma.sync",
         33);  // integers: 3 shapes, 4 pairs, wrapping or not; 8 of floats, one of doubles
  for (const char* arch : {"sm_90", "sm_90a", "sm_100a", "sm_120a"})
    file("sm_90.cu", arch, "cp.reduce.async.bulk.tensor", 8 * (5 + 3));
  file("sm_90a.cu", "sm_90a", "setmaxnreg", 30 * 2);
  file("sm_90a.cu", "sm_100a", "tensormap.replace", 2 * (2 + 3 * 5 + 4 + 13 + 3 + 4 + 2));
  file("sm_120a.cu", "sm_120a", "mma.sync", 4 * 4 + 2 + 1);  // four pairs of 8-bit floats by four bytes; of 4 bits
  // Of each kind from shared memory, with disabled lanes and with A in tensor memory; of 16-bit floats and tf32 with D
  // halved; of each kind with scales both places of A.
  file("sm_100a.cu", "sm_100a", "tcgen05.mma", 2 * (4 * 3 + 2 * 2 + 4 * 2));
  file("sm_100a.cu", "sm_100a", "tcgen05.ld", 2 * (8 + 8 + 7 + 6 + 8));  // the shapes' numbers of registers, packed too
  return jobs;
}

TEST(EveryInstruction, PassesPtxasForItsArchitectures) {
  const std::vector<Job> jobs = all_jobs();
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t instructions = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      const Job& job = jobs[i];
      std::string problem;
      std::size_t count = 0;
      try {
        const jit::Program program = compile(job.name, job.text, job.arch);
        count = occurrences(program.ptx, job.counted);
        if (program.cubin.empty()) problem = "no cubin came back";
      } catch (const Error& error) {
        problem = error.what();
      }
      const std::lock_guard lock(mutex);
      EXPECT_EQ(problem, "") << job.name;
      EXPECT_EQ(count, job.count) << job.name << ": " << job.counted;
      instructions += count;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  fmt::print("{} sources, {} instructions counted in their PTX\n", jobs.size(), instructions);
}

// The layer needs neither NVRTC nor the library: nvcc compiles it too, for the host pass as well.
TEST(EveryInstruction, CompilesWithNvcc) {
  const char* home = std::getenv("CUDA_HOME");
  const std::filesystem::path nvcc = std::filesystem::path(home ? home : "/usr/local/cuda") / "bin/nvcc";
  if (!std::filesystem::exists(nvcc)) GTEST_SKIP() << "no nvcc at " << nvcc << "; set CUDA_HOME to a toolkit";
  const auto folder = std::filesystem::temp_directory_path();
  for (const auto& [file, arch] :
       {std::pair{"sm_80.cu", "80"}, {"sm_90.cu", "90a"}, {"sm_90a.cu", "90a"}, {"sm_100a.cu", "100a"}}) {
    const auto object = folder / fmt::format("warpmill_{}_{}.o", file, ::getpid());
    const std::string command =
        fmt::format("'{}' -std=c++20 -gencode arch=compute_{},code=sm_{} -I'{}' -I'{}' -c '{}' -o '{}' 2>&1",
                    nvcc.string(), arch, arch, (source_folder / "kernels").string(), WARPMILL_GENERATED,
                    (device_folder / "every" / file).string(), object.string());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::filesystem::remove(object);
  }
}

}  // namespace
}  // namespace wm::test
