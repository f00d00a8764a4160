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
  std::mutex mutex;
  std::uint64_t stream_number = 0;
  std::vector<Buffer> buffers;  // those that were too small stay: a graph captured before may still use them
};

// The driver's own handles (up to 2) may mean another stream in each thread.
std::thread::id thread_of(const Stream& stream) {
  const bool special = reinterpret_cast<std::uintptr_t>(stream.native()) <= 2;
  return special ? std::this_thread::get_id() : std::thread::id();
}

// Of all devices and streams.
class Workspaces {
 public:
  // Nothing where more memory would have to be made while the stream is captured.
  std::optional<Scratch> get(const Stream& stream, std::size_t bytes, bool zeroed) {
    const Device& device = stream.device();
    const auto number = device.backend().stream_number(stream.native());
    Held& held = of(stream);
    std::unique_lock lock(held.mutex);
    if (held.buffers.empty() || held.buffers.back().bytes() < bytes) {
      if (!number) return std::nullopt;
      Buffer buffer(device, std::bit_ceil(std::max<std::size_t>(bytes, 1 << 20)));
      if (zeroed) stream.fill(buffer.address(), std::byte{0}, buffer.bytes());
      held.buffers.push_back(std::move(buffer));
    }
    if (number && held.stream_number != *number) {
      // The handle of a stream that is gone: its work may still run.
      if (held.stream_number != 0) device.synchronize();
      held.stream_number = *number;
    }
    return Scratch{held.buffers.back().address(), std::move(lock)};
  }

 private:
  Held& of(const Stream& stream) {
    const std::lock_guard lock(mutex_);
    return held_[{&stream.device().backend(), stream.native(), thread_of(stream)}];
  }

  std::mutex mutex_;
  std::map<std::tuple<const void*, const void*, std::thread::id>, Held> held_;
};

// Counters of one device, in slabs.
struct Counters {
  static constexpr std::size_t per_slab = 16384;
  std::vector<Buffer> slabs;
  std::size_t used = 0;  // of all
  struct OfStream {
    std::uint64_t address = 0, stream_number = 0;
  };
  std::map<std::pair<const void*, std::thread::id>, OfStream> of_streams;

  std::size_t left() const { return slabs.size() * per_slab - used; }
  std::uint64_t take() {
    const std::uint64_t address = slabs[used / per_slab].address() + used % per_slab * counter_bytes;
    ++used;
    return address;
  }
};

std::uint64_t address_in(Workspaces& all, const Stream& stream, std::size_t bytes, bool zeroed) {
  const auto held = all.get(stream, bytes, zeroed);
  if (!held)
    throw Error(ErrorCode::invalid_argument,
                "this product needs workspace, and memory cannot be allocated while the stream is captured: run it "
                "once on this stream before the capture");
  return held->address;
}

// A run on the virtual GPU may be stopped half way, and then it has cleared nothing.
std::uint64_t cleared(const Stream& stream, std::uint64_t address, std::size_t bytes) {
  if (stream.device().info().kind == DeviceKind::virtual_gpu) stream.fill(address, std::byte{0}, bytes);
  return address;
}

}  // namespace

std::uint64_t counter_of(const Stream& stream) {
  static std::mutex mutex;
  static auto& all = *new std::map<const void*, Counters>;  // never destroyed: no order at exit
  const Device& device = stream.device();
  const auto number = device.backend().stream_number(stream.native());
  const bool captured = !number;
  const std::lock_guard lock(mutex);
  Counters& counters = all[&device.backend()];
  if (!captured && counters.left() < Counters::per_slab / 2) {
    Buffer slab(device, Counters::per_slab * counter_bytes);
    stream.fill(slab.address(), std::byte{0}, slab.bytes());
    stream.synchronize();  // other streams may be given a part of it at once
    counters.slabs.push_back(std::move(slab));
  }
  if (counters.left() == 0)
    throw Error(
        ErrorCode::invalid_argument,
        "this call needs a few bytes of workspace, and memory cannot be allocated while the stream is captured: "
        "make a call outside of a capture, which makes room for thousands, and capture again");
  if (captured) return counters.take();
  Counters::OfStream& own = counters.of_streams[{stream.native(), thread_of(stream)}];
  if (own.address == 0) own.address = counters.take();
  if (own.stream_number != 0 && own.stream_number != *number) device.synchronize();  // the handle of one that is gone
  own.stream_number = *number;
  return cleared(stream, own.address, counter_bytes);
}

std::uint64_t workspace_of(const Stream& stream, std::size_t bytes) {
  static auto& all = *new Workspaces;  // never destroyed: no order at exit
  return cleared(stream, address_in(all, stream, bytes, true), bytes);
}

std::uint64_t unset_workspace_of(const Stream& stream, std::size_t bytes) {
  static auto& all = *new Workspaces;  // as above
  return address_in(all, stream, bytes, false);
}

std::optional<Scratch> scratch_of(const Stream& stream, std::size_t bytes) try {
  static auto& all = *new Workspaces;  // as above
  return all.get(stream, bytes, false);
} catch (const Error& error) {
  if (error.code() != ErrorCode::out_of_memory) throw;
  return std::nullopt;
}

}  // namespace wm::ops
