// Streams: queues, their threads, and who waits for whom.
#include "cudart/stream.hpp"

#include <algorithm>
#include <thread>
#include <unordered_set>
#include <utility>

#include "cudart/capture.hpp"
#include "cudart/platform.hpp"

namespace wm::cudart {
namespace {
constexpr std::uint64_t most_pending = 4096;  // operations of a stream

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}
}  // namespace

bool Point::reached() const { return stream == nullptr || stream->done_ >= number; }

Stream::Stream(Kind which, int on, unsigned with, int urgent)
    : kind(which), device(on), flags(with), priority(urgent), id(next_id()) {}

Streams& Streams::get() {
  static auto* const all = new Streams;
  return *all;
}

std::shared_ptr<Stream> Streams::create(int device, unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>(Stream::Kind::created, device, flags, priority);
  const std::lock_guard lock(mutex_);
  streams_.push_back(stream);
  return stream;
}

// Its work goes on and is waited for as before; then the stream is forgotten.
void Streams::destroy(cudaStream_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(streams_, [&](const auto& s) { return s->is(handle); });
  require(found != streams_.end() && (*found)->kind == Stream::Kind::created, cudaErrorInvalidResourceHandle);
  Stream& stream = **found;
  abandon_capture(stream);
  stream.capture.reset();
  stream.frontier.clear();
  stream.destroyed_ = true;
  if (stream.done_ == stream.given_) streams_.erase(found);
}

std::shared_ptr<Stream> Streams::legacy(int device) {
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_)
    if (stream->kind == Stream::Kind::legacy && stream->device == device) return stream;
  return streams_.emplace_back(std::make_shared<Stream>(Stream::Kind::legacy, device, 0, 0));
}

std::shared_ptr<Stream> Streams::find(cudaStream_t handle, bool per_thread_default) {
  const int device = current_device();
  if (handle == nullptr) handle = per_thread_default ? cudaStreamPerThread : cudaStreamLegacy;
  if (handle == cudaStreamLegacy) return legacy(device);
  if (handle == cudaStreamPerThread) {
    thread_local std::vector<std::shared_ptr<Stream>> own;
    if (own.size() <= static_cast<std::size_t>(device)) own.resize(static_cast<std::size_t>(device) + 1);
    auto& stream = own[static_cast<std::size_t>(device)];
    if (!stream) {
      stream = std::make_shared<Stream>(Stream::Kind::per_thread, device, 0, 0);
      const std::lock_guard lock(mutex_);
      streams_.push_back(stream);
    }
    return stream;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_)
    if (stream->is(handle)) return stream;
  fail(cudaErrorInvalidResourceHandle);
}

std::uint64_t Streams::push(std::unique_lock<std::mutex>& lock, Stream& stream, Operation operation,
                            std::vector<Point> after) {
  if (stream.given_ - stream.done_ >= most_pending)  // as on a chip, who is too far ahead waits
    wait_until_reached(lock, {stream.shared_from_this(), stream.given_ - most_pending / 2});
  Stream::Item item{std::move(operation), std::move(after)};
  // The legacy stream and those that block wait for each other.
  for (const auto& other : streams_) {
    if (other.get() == &stream || other->device != stream.device || other->done_ == other->given_) continue;
    const bool ordered = stream.kind == Stream::Kind::legacy
                             ? other->waits_for_legacy()
                             : other->kind == Stream::Kind::legacy && stream.waits_for_legacy();
    if (ordered) item.after.push_back({other, other->given_});
  }
  stream.items_.push_back(std::move(item));
  ++stream.given_;
  if (!stream.has_thread_) {
    stream.has_thread_ = true;
    std::thread([kept = stream.shared_from_this()] { kept->work(); }).detach();
  }
  stream.wake_.notify_one();
  return stream.given_;
}

// Takes all that is there at once, so that who launches and who runs seldom meet at the lock.
void Stream::work() {
  Streams& all = Streams::get();
  std::unique_lock lock(all.mutex_);
  using namespace std::chrono_literals;
  while (true) {
    if (items_.empty() && destroyed_) std::erase_if(all.streams_, [&](const auto& s) { return s.get() == this; });
    if (items_.empty() && !wake_.wait_for(lock, 100ms, [&] { return !items_.empty(); })) {
      has_thread_ = false;  // the next item starts another
      return;
    }
    std::deque<Item> taken = std::exchange(items_, {});
    for (Item& item : taken) {
      if (!item.after.empty() && !lock.owns_lock()) lock.lock();
      for (const Point& point : item.after) all.wait_until_reached(lock, point);
      if (lock.owns_lock()) lock.unlock();
      perform(item.operation);
      item = {};
      if (++done_ >= awaited_) {  // who is awaited later is asked for again by who wakes up
        lock.lock();
        awaited_ = nobody;
        all.progress_.notify_all();
      }
    }
    if (!lock.owns_lock()) lock.lock();
  }
}

bool Streams::reached_or_awaited(const Point& point) {
  if (point.reached()) return true;
  point.stream->awaited_ = std::min(point.stream->awaited_.load(), point.number);
  return point.reached();  // it may have been done meanwhile, by a thread that saw nobody wait
}

void Streams::wait_until_reached(std::unique_lock<std::mutex>& lock, const Point& point) {
  progress_.wait(lock, [&] { return reached_or_awaited(point); });
}

void Streams::submit(Stream& stream, Operation operation) {
  if (capture_operation(stream, operation)) return;
  std::unique_lock lock(mutex_);
  push(lock, stream, std::move(operation));
}

void Streams::submit_and_wait(Stream& stream, Operation operation) {
  refuse_in_capture(stream);
  submit(stream, std::move(operation));
  wait(stream);
}

void Streams::wait(Stream& stream) {
  refuse_in_capture(stream);
  {
    std::unique_lock lock(mutex_);
    // All that the legacy stream stands for.
    std::vector<Point> points = {{stream.shared_from_this(), stream.given_}};
    if (stream.kind == Stream::Kind::legacy)
      for (const auto& other : streams_)
        if (other->device == stream.device && other->waits_for_legacy()) points.push_back({other, other->given_});
    for (const Point& point : points) wait_until_reached(lock, point);
  }
  Platform::get().report_fault();
}

template <class Wanted>
void Streams::wait_for_all(const Wanted& wanted) {
  {
    std::unique_lock lock(mutex_);
    std::vector<Point> points;
    for (const auto& stream : streams_)
      if (wanted(*stream)) points.push_back({stream, stream->given_});
    for (const Point& point : points) wait_until_reached(lock, point);
  }
  Platform::get().report_fault();
}

void Streams::wait_for_device(int device) {
  wait_for_all([&](const Stream& stream) { return stream.device == device; });
}

void Streams::wait_for_all_devices() {
  wait_for_all([](const Stream&) { return true; });
}

bool Streams::idle(Stream& stream) {
  refuse_in_capture(stream);
  {
    const std::lock_guard lock(mutex_);
    if (stream.done_ < stream.given_) return false;
  }
  Platform::get().report_fault();
  return true;
}

bool Streams::drain(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  return progress_.wait_for(lock, longest, [&] {
    return std::ranges::all_of(streams_, [](const auto& s) { return reached_or_awaited({s, s->given_}); });
  });
}

void Streams::wait_for(Stream& stream, const Event& event) {
  if (capture_wait(stream, event)) return;
  std::unique_lock lock(mutex_);
  if (!event.last || event.last->point.reached() || event.last->point.stream.get() == &stream) return;
  push(lock, stream, Nothing{}, {event.last->point});  // an item, so that who waits for the stream waits for it too
}

void Streams::record(Stream& stream, Event& event) {
  if (capture_record(stream, event)) return;
  event.capture.reset();
  auto record = std::make_shared<EventRecord>();
  std::unique_lock lock(mutex_);
  record->point = {stream.shared_from_this(), push(lock, stream, RecordEvent{record})};
  event.last = std::move(record);
}

void Streams::record_now(Event& event) {
  auto record = std::make_shared<EventRecord>();
  record->note_time();
  const std::lock_guard lock(mutex_);
  event.last = std::move(record);
}

std::shared_ptr<const EventRecord> Streams::last_record(const Event& event) {
  const std::lock_guard lock(mutex_);
  return event.last;
}

bool Streams::leave_capture(const Capture& capture, const std::vector<Node*>& joined) {
  std::unordered_set<const Node*> before(joined.begin(), joined.end());
  std::vector<const Node*> open(joined.begin(), joined.end());
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    for (const Node* one : node->after)
      if (before.insert(one).second) open.push_back(one);
  }
  bool unjoined = false;
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_) {
    if (stream->capture.get() != &capture) continue;
    for (const Node* node : stream->frontier) unjoined |= !before.contains(node);
    stream->capture.reset();
    stream->frontier.clear();
  }
  return unjoined;
}

bool Streams::reached(const Event& event) {
  refuse_captured(event);
  const auto record = last_record(event);
  if (!record) return true;
  if (!record->point.reached()) return false;
  Platform::get().report_fault();
  return true;
}

void Streams::wait(const Event& event) {
  refuse_captured(event);
  const auto record = last_record(event);
  if (!record) return;
  {
    std::unique_lock lock(mutex_);
    wait_until_reached(lock, record->point);
  }
  Platform::get().report_fault();
}

}  // namespace wm::cudart
