// Workspaces by device and stream.
#include "ops/workspace.hpp"

#include <bit>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "warpmill/buffer.hpp"

namespace wm::ops {
namespace {

// Buffers that were too small stay: a graph captured before may still use them.
struct Held {
  std::vector<Buffer> memory, flags;
};

Buffer& grown(std::vector<Buffer>& buffers, const Device& device, std::size_t bytes, bool cleared) {
  if (buffers.empty() || buffers.back().bytes() < bytes) {
    Buffer buffer(device, std::bit_ceil(std::max<std::size_t>(bytes, 1 << 16)));
    if (cleared) {
      const Stream own(device);  // not the caller's, which may be capturing
      own.fill(buffer.address(), std::byte{0}, buffer.bytes());
      own.synchronize();
    }
    buffers.push_back(std::move(buffer));
  }
  return buffers.back();
}

}  // namespace

Workspace workspace_of(const Stream& stream, std::size_t bytes, std::size_t flag_bytes) {
  static std::mutex mutex;
  // Never destroyed: no order at exit. Streams that are gone leave theirs behind, as graphs may still hold it.
  static auto& all = *new std::map<std::pair<const void*, std::uint64_t>, Held>;
  const Device& device = stream.device();
  const auto number = device.backend().stream_number(stream.native());
  const std::lock_guard lock(mutex);
  Held& held = all[{&device.backend(), number}];
  return {grown(held.memory, device, bytes, false).address(), grown(held.flags, device, flag_bytes, true).address()};
}

}  // namespace wm::ops
