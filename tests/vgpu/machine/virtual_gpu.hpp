// What the tests of the machine share: a virtual GPU, buffers on it, and PTX written around a body.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "vgpu/vgpu.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu::testing {

// Bytes of a kernel's parameters, each aligned to its size.
class Parameters {
 public:
  template <class T>
  Parameters& add(const T& value, std::size_t alignment = alignof(T)) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t offset = (bytes_.size() + alignment - 1) / alignment * alignment;
    bytes_.resize(offset + sizeof(T));
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};
template <class... T>
Parameters parameters(const T&... values) {
  Parameters p;
  (p.add(values), ...);
  return p;
}

class Gpu {
 public:
  explicit Gpu(std::string_view arch = "sm_90a", int multiprocessors = 0) : machine_(chip_of(arch, multiprocessors)) {}

  Machine& machine() { return machine_; }
  RunOptions options;
  RunReport report;  // of the last run, also where it failed

  template <class T>
  std::uint64_t upload(const std::vector<T>& values) {
    const std::uint64_t address = machine_.allocate(values.size() * sizeof(T));
    machine_.write(address, std::as_bytes(std::span(values)));
    return address;
  }
  template <class T>
  std::vector<T> download(std::uint64_t address, std::size_t count) {
    std::vector<T> values(count);
    machine_.read(std::as_writable_bytes(std::span(values)), address);
    return values;
  }

  std::shared_ptr<Program> load(std::string_view ptx, std::string_view name = "test.ptx") {
    program_ = machine_.load(ptx, name);
    return program_;
  }
  const std::shared_ptr<Program>& program() const { return program_; }
  const ProgramKernel& kernel(std::string_view name) const {
    for (const ProgramKernel* k : Machine::kernels(*program_))
      if (k->name == name) return *k;
    throw Error(ErrorCode::not_found, std::string(name));
  }
  RunReport run(std::string_view name, const LaunchShape& shape, const Parameters& p) {
    machine_.run(*program_, kernel(name), shape, p.bytes(), options, report);
    return report;
  }

  // The message of what running it ends with; empty where it ends well.
  std::string failure(std::string_view name, const LaunchShape& shape, const Parameters& p) {
    try {
      run(name, shape, p);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }
  std::string refusal(std::string_view ptx) {
    try {
      load(ptx);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

 private:
  static Chip chip_of(std::string_view arch, int multiprocessors) {
    Chip chip = Chip::of(Architecture::parse(arch));
    if (multiprocessors > 0) chip.multiprocessors = multiprocessors;
    return chip;
  }
  Machine machine_;
  std::shared_ptr<Program> program_;
};

inline std::string module_text(std::string_view body, std::string_view arch = "sm_90a") {
  return ".version 8.8\n.target " + std::string(arch) + "\n.address_size 64\n" + std::string(body);
}

// A kernel `test` of 32 threads (or whatever it is launched with) with the parameters out, in (.u64): %out and %in hold
// them, %lane the thread's index and %mine the address of out + 8 * thread.
inline std::string kernel_text(std::string_view body, std::string_view arch = "sm_90a") {
  return module_text(R"(
.visible .entry test(.param .u64 test_out, .param .u64 test_in)
{
  .reg .pred %p<20>;
  .reg .b16 %h<20>;
  .reg .b32 %r<40>;
  .reg .f32 %f<40>;
  .reg .f64 %d<20>;
  .reg .b64 %rd<40>;
  .reg .b64 %out, %in, %mine;
  .reg .b32 %lane;
  ld.param.u64 %out, [test_out];
  ld.param.u64 %in, [test_in];
  mov.u32 %lane, %tid.x;
  mul.wide.u32 %mine, %lane, 8;
  add.u64 %mine, %mine, %out;
)" + std::string(body) + "\n  ret;\n}\n",
                     arch);
}

// Runs `body` in `threads` threads and gives what each leaves in %rd0, or in %r0 where Result has 32 bits or fewer.
// Input k of a thread is in %rd<k+1> and, its low half, in %r<k+1>.
template <class Result>
std::vector<Result> compute(Gpu& gpu, std::string_view body, const std::vector<std::vector<std::uint64_t>>& inputs,
                            std::uint32_t threads = 32, std::string_view arch = "sm_90a") {
  std::string text;
  std::vector<std::uint64_t> all;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::string n = std::to_string(k + 1);
    text += "  mad.wide.u32 %rd39, %lane, 8, %in;\n  ld.global.u64 %rd" + n + ", [%rd39+" +
            std::to_string(k * threads * 8) + "];\n  cvt.u32.u64 %r" + n + ", %rd" + n + ";\n";
    for (std::uint32_t i = 0; i < threads; ++i) all.push_back(inputs[k][i % inputs[k].size()]);
  }
  all.push_back(0);
  text += body;
  text += sizeof(Result) == 8 ? "\n  st.global.u64 [%mine], %rd0;" : "\n  st.global.u32 [%mine], %r0;";
  gpu.load(kernel_text(text, arch));
  const auto in = gpu.upload(all), out = gpu.upload(std::vector<std::uint64_t>(threads));
  gpu.run("test", {{1}, {threads}, {}, 0}, parameters(out, in));
  const auto words = gpu.download<std::uint64_t>(out, threads);
  gpu.machine().free(in);
  gpu.machine().free(out);
  std::vector<Result> results;
  for (std::uint64_t word : words) results.push_back(static_cast<Result>(word));
  return results;
}

// All modes, some seeds: what must hold under every schedule.
template <class Check>
void under_every_schedule(Gpu& gpu, Check check, std::uint64_t seeds = 5) {
  for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial})
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      gpu.options.mode = mode;
      gpu.options.seed = seed;
      gpu.options.deterministic = mode != Mode::friendly;
      // On several host threads a block may spin for as long as the system keeps another one waiting.
      gpu.options.max_instructions = gpu.options.deterministic ? 2'000'000 : 100'000'000;
      SCOPED_TRACE(::testing::Message() << "mode " << static_cast<int>(mode) << " seed " << seed);
      check();
    }
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace wm::vgpu::testing
