// Events: handles and times.
#include <map>

#include "cudart/platform.hpp"
#include "cudart/stream.hpp"

namespace wm::cudart {
namespace {

struct Events {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Event>> known;
};
Events& events() {
  static auto* const all = new Events;
  return *all;
}

}  // namespace

void EventRecord::note_time() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

Event* create_event(unsigned flags) {
  auto event = std::make_unique<Event>();
  event->device = current_device();
  event->flags = flags;
  Event* const handle = event.get();
  const std::lock_guard lock(events().mutex);
  events().known.emplace(handle, std::move(event));
  return handle;
}

Event& known_event(const void* handle) {
  const std::lock_guard lock(events().mutex);
  const auto found = events().known.find(handle);
  require(found != events().known.end(), cudaErrorInvalidResourceHandle);
  return *found->second;
}

void destroy_event(const void* handle) {
  const std::lock_guard lock(events().mutex);
  require(events().known.erase(handle) == 1, cudaErrorInvalidResourceHandle);
}

float milliseconds_between(Event& start, Event& end) {
  Streams& streams = Streams::get();
  const auto first = streams.last_record(start), last = streams.last_record(end);
  require(first && last && !((start.flags | end.flags) & cudaEventDisableTiming), cudaErrorInvalidResourceHandle);
  if (!streams.reached(start) || !streams.reached(end)) fail(cudaErrorNotReady);
  return static_cast<float>(static_cast<double>(last->nanoseconds - first->nanoseconds) * 1e-6);
}

}  // namespace wm::cudart
