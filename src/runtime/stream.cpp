// Streams and events: the checks, and who owns the device's handles.
#include <utility>

#include <fmt/format.h>

#include "runtime/backend.hpp"
#include "warpmill/device.hpp"
#include "warpmill/error.hpp"

namespace wm {
namespace {

void check_same_device(std::string_view what, const Device& one, std::string_view other_what, const Device& other) {
  if (one == other) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the {} is on {} and the {} on {}", what, one.info().id, other_what, other.info().id));
}

}  // namespace

Stream::Stream(const Device& device, void* native, bool owned) : device_(device), native_(native), owned_(owned) {}
Stream::Stream(const Device& device) : Stream(device, device.backend().create_stream(), true) {}

Stream Stream::wrap(const Device& device, void* native) {
  device.backend().check_stream(native);
  return Stream(device, native, false);
}

Stream::~Stream() {
  if (owned_) device_.backend().destroy_stream(native_);
}
// The device stays with both: a stream that was moved from still names it.
Stream::Stream(Stream&& other) noexcept
    : device_(other.device_),
      native_(std::exchange(other.native_, nullptr)),
      owned_(std::exchange(other.owned_, false)) {}
Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(native_, other.native_);
  std::swap(owned_, other.owned_);
  return *this;
}

void Stream::upload(std::uint64_t destination, std::span<const std::byte> source) const {
  if (!source.empty()) device_.backend().upload(native_, destination, source);
}
void Stream::download(std::span<std::byte> destination, std::uint64_t source) const {
  if (!destination.empty()) device_.backend().download(native_, destination, source);
}
void Stream::copy(std::uint64_t destination, std::uint64_t source, std::size_t bytes) const {
  if (bytes > 0) device_.backend().copy(native_, destination, source, bytes);
}
void Stream::fill(std::uint64_t destination, std::byte value, std::size_t bytes) const {
  if (bytes > 0) device_.backend().fill(native_, destination, value, bytes);
}
void Stream::record(const Event& event) const {
  check_same_device("event", event.device(), "stream that records it", device_);
  device_.backend().record_event(event.native(), native_);
}
void Stream::wait(const Event& event) const {
  check_same_device("event", event.device(), "stream that waits for it", device_);
  device_.backend().wait_event(native_, event.native());
}
void Stream::synchronize() const { device_.backend().synchronize_stream(native_); }

Event::Event(const Device& device) : device_(device), native_(device.backend().create_event()) {}
Event::~Event() {
  if (native_) device_.backend().destroy_event(native_);
}
Event::Event(Event&& other) noexcept : device_(other.device_), native_(std::exchange(other.native_, nullptr)) {}
Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(native_, other.native_);
  return *this;
}

void Event::synchronize() const { device_.backend().synchronize_event(native_); }
double Event::since(const Event& start) const {
  check_same_device("event", device_, "event it is measured from", start.device_);
  return device_.backend().milliseconds_between(start.native_, native_);
}

}  // namespace wm
