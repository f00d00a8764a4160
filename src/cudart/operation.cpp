// Doing what streams and graphs are asked to.
#include "cudart/operation.hpp"

#include <algorithm>
#include <cstring>

#include "cudart/graph.hpp"
#include "cudart/launch.hpp"
#include "cudart/memory.hpp"
#include "cudart/platform.hpp"
#include "cudart/stream.hpp"

namespace wm::cudart {
namespace {

// Calls row(offset in to, offset in from) for every row.
template <class Row>
void each_row(const Rows& to, const Rows& from, const Extent& extent, const Row& row) {
  for (std::size_t z = 0; z < extent.depth; ++z)
    for (std::size_t y = 0; y < extent.height; ++y)
      row(to.address + z * to.slice + y * to.pitch, from.address + z * from.slice + y * from.pitch);
}

struct Performer {
  void operator()(const Nothing&) const {}
  void operator()(const KernelLaunch& launch) const { run_kernel(launch); }
  void operator()(const Copy& copy) const {
    Rows from = copy.from;
    if (copy.staged) from.address = reinterpret_cast<std::uint64_t>(copy.staged->data());
    each_row(copy.to, from, copy.extent, [&](std::uint64_t destination, std::uint64_t source) {
      Platform::get().machine.move(destination, source, copy.extent.width);
    });
  }
  void operator()(const Fill& fill) const {
    std::vector<std::byte> row(fill.extent.width);
    for (std::size_t at = 0; at + fill.unit <= row.size(); at += fill.unit)
      std::memcpy(row.data() + at, &fill.value, fill.unit);
    const Rows pattern{reinterpret_cast<std::uint64_t>(row.data()), 0, 0};
    each_row(fill.to, pattern, fill.extent, [&](std::uint64_t destination, std::uint64_t source) {
      Platform::get().machine.move(destination, source, row.size());
    });
  }
  void operator()(const HostCall& call) const { call.function(); }
  void operator()(const StreamCallback& callback) const { callback.function(Platform::get().fault_status()); }
  void operator()(const RecordEvent& event) const { event.record->note_time(); }
  void operator()(const FreeMemory& memory) const { release_device(memory.address); }
  void operator()(const RunGraph& run) const {
    for (const Node* node : run.graph->order())
      if (node->enabled) perform(node->operation);
  }
};

}  // namespace

void perform(const Operation& operation) {
  try {
    if (Platform::get().faulted() && !std::holds_alternative<StreamCallback>(operation)) return;
    std::visit(Performer{}, operation);
  } catch (...) {
    const cudaError_t status = status_of_exception();
    Platform::get().fault(status == cudaErrorInvalidValue ? cudaErrorIllegalAddress : status);
  }
}

}  // namespace wm::cudart
