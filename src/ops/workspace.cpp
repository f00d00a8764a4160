// Workspaces by device and stream.
#include "ops/workspace.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/error.hpp"

namespace wm::ops {
namespace {

struct Held {
  std::uint64_t stream_number = 0;
  std::vector<Buffer> buffers;  // those that were too small stay: a graph captured before may still use them
};

}  // namespace

std::uint64_t workspace_of(const Stream& stream, std::size_t bytes) {
  static std::mutex mutex;
  static auto& all =
      *new std::map<std::tuple<const void*, const void*, std::thread::id>, Held>;  // never destroyed: no order at exit
  const Device& device = stream.device();
  const auto number = device.backend().stream_number(stream.native());
  const std::lock_guard lock(mutex);
  // The driver's own handles (up to 2) may mean another stream in each thread.
  const bool special = reinterpret_cast<std::uintptr_t>(stream.native()) <= 2;
  Held& held = all[{&device.backend(), stream.native(), special ? std::this_thread::get_id() : std::thread::id()}];
  if (held.buffers.empty() || held.buffers.back().bytes() < bytes) {
    if (!number)
      throw Error(ErrorCode::invalid_argument,
                  "this product needs workspace, and memory cannot be allocated while the stream is captured: run it "
                  "once on this stream before the capture");
    Buffer buffer(device, std::bit_ceil(std::max<std::size_t>(bytes, 1 << 20)));
    stream.fill(buffer.address(), std::byte{0}, buffer.bytes());
    held.buffers.push_back(std::move(buffer));
  }
  if (number && held.stream_number != *number) {
    // The handle of a stream that is gone: its work may still run.
    if (held.stream_number != 0) device.synchronize();
    held.stream_number = *number;
  }
  return held.buffers.back().address();
}

}  // namespace wm::ops
