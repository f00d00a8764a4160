// What the device cases share: kernels from the sources beside this file, seeded inputs, comparison with a reference.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "golden/golden.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/error.hpp"
#include "warpmill/module.hpp"

namespace wm::golden {

// A kernel that a case will ask for. Cases declare theirs when they are made, so that each source is compiled once with
// all that is wanted of it.
struct KernelName {
  std::size_t source = 0;
  std::string expression;  // "load<2, false>"
};
KernelName declare(std::string_view file, std::string expression, std::string_view before = "");  // text put before it
Kernel kernel(const Device& device, const KernelName& name);
void compile_all(DeviceKind kind);  // in parallel, into the cache on disk; opens no device

// Text of the file, embedded in this program so that the binary can be carried alone.
std::string_view device_source(std::string_view file);

template <class... Args>
void run(const Device& device, const KernelName& name, const LaunchConfig& config, const Args&... args) {
  const Stream stream(device);
  launch(stream, kernel(device, name), config, args...);
  stream.synchronize();
}

// Makes a virtual device's tensor cores add as the chip's do, bit for bit; slower, so only where sums are rounded.
void add_as_chip(const Device& device, bool wanted);

// A case's own inputs, whatever cases there are beside it.
std::uint64_t seed_of(std::string_view name);

// The same numbers everywhere, for ever.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint64_t bits();
  std::int64_t integer(std::int64_t low, std::int64_t high);  // both included
  double normal();

 private:
  std::uint64_t state_;
};

template <class T>
std::vector<T> random_bits(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random.bits());
  return values;
}

template <class T>
Buffer upload(const Device& device, const std::vector<T>& values) {
  return Buffer::of(device, std::span<const T>(values));
}
// Memory with a pattern that no case writes by design.
template <class T>
Buffer poisoned(const Device& device, std::size_t count) {
  std::vector<T> values(count);
  std::memset(values.data(), 0xa5, count * sizeof(T));
  return upload(device, values);
}

// Throws with the first elements that differ.
template <class T>
void require_equal(const std::vector<T>& got, const std::vector<T>& want) {
  std::string text;
  std::size_t wrong = got.size() != want.size();
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i)
    if (std::memcmp(&got[i], &want[i], sizeof(T)) != 0 && ++wrong <= 4)
      text += fmt::format(" [{}] {:#x} instead of {:#x};", i, got[i], want[i]);
  if (wrong)
    throw Error(ErrorCode::execution,
                fmt::format("{} of {} elements differ from the reference:{}", wrong, want.size(), text));
}

// The families.
void add_wgmma(std::vector<Case>& cases);
void add_mma(std::vector<Case>& cases);
void add_matrices(std::vector<Case>& cases);
void add_tensors(std::vector<Case>& cases);
void add_tensor_reductions(std::vector<Case>& cases);
void add_bulk(std::vector<Case>& cases);
void add_clusters(std::vector<Case>& cases);
void add_threads(std::vector<Case>& cases);
void add_tensor_maps(std::vector<Case>& cases);

}  // namespace wm::golden
