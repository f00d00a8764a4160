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
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
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
  const ProgramKernel& kernel(std::string_view name) const {
    for (const ProgramKernel* k : Machine::kernels(*program_))
      if (k->name == name) return *k;
    throw Error(ErrorCode::not_found, std::string(name));
  }
  RunReport run(std::string_view name, const LaunchShape& shape, const Parameters& p) {
    return machine_.run(*program_, kernel(name), shape, p.bytes(), options);
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

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace wm::vgpu::testing
