// What a stream or a graph does, one after the other: each operation is a value, checked when it was asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include <driver_types.h>

#include "vgpu/machine/kernel.hpp"

namespace wm::cudart {

class Kernel;
struct Graph;
struct EventRecord;

struct Nothing {};

struct KernelLaunch {
  Kernel* kernel = nullptr;
  vgpu::LaunchShape shape;
  int device = 0;
  std::vector<std::byte> parameters;
};

// Rows of bytes in slices.
struct Rows {
  std::uint64_t address = 0;  // of the first byte
  std::size_t pitch = 0;      // bytes from row to row
  std::size_t slice = 0;      // bytes from slice to slice
};
struct Extent {
  std::size_t width = 0, height = 1, depth = 1;  // bytes, rows, slices
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
};
struct Copy {
  Rows to, from;
  Extent extent;
  std::shared_ptr<const std::vector<std::byte>> staged{};  // what `from` points to, where it was taken at once
};
struct Fill {
  Rows to;
  Extent extent;
  std::uint32_t value = 0;
  std::uint32_t unit = 1;  // bytes of the value
};
struct HostCall {
  std::function<void()> function;
};
struct StreamCallback {  // which learns of a fault, where a HostCall is not made after one
  std::function<void(cudaError_t)> function;
};
struct RecordEvent {
  std::shared_ptr<EventRecord> record;
};
struct FreeMemory {
  std::uint64_t address = 0;
};
struct RunGraph {
  std::shared_ptr<const Graph> graph;
};

using Operation =
    std::variant<Nothing, KernelLaunch, Copy, Fill, HostCall, StreamCallback, RecordEvent, FreeMemory, RunGraph>;

// Does it, in the calling thread. A kernel that fails is told to the platform.
void perform(const Operation& operation);

}  // namespace wm::cudart
