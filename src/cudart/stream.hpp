// Streams and events. A stream's work is done in order by a thread of its own, which may run behind the program.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <driver_types.h>

#include "cudart/operation.hpp"

namespace wm::cudart {

struct Capture;
struct Node;
class Stream;

// When a stream has done as many operations.
struct Point {
  std::shared_ptr<Stream> stream;
  std::uint64_t number = 0;
  bool reached() const;
};

// One recording of an event: events are recorded again and again.
struct EventRecord {
  Point point;
  std::atomic<std::int64_t> nanoseconds = 0;
  void note_time();
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  std::shared_ptr<const EventRecord> last;  // none: never recorded; under the lock of all streams
  std::weak_ptr<Capture> capture;           // recorded in a capture, after
  std::vector<Node*> captured_after;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  enum class Kind { legacy, per_thread, created };
  Stream(Kind kind, int device, unsigned flags, int priority);

  const Kind kind;
  const int device;
  const unsigned flags;
  const int priority;
  const std::uint64_t id;
  std::shared_ptr<Capture> capture;  // while it is captured
  std::vector<Node*> frontier;       // what the next captured operation comes after

  bool waits_for_legacy() const { return kind != Kind::legacy && !(flags & cudaStreamNonBlocking); }

 private:
  friend class Streams;
  friend struct Point;
  struct Item {
    Operation operation;
    std::vector<Point> after;
  };
  void work();
  bool is(cudaStream_t handle) const {
    return !destroyed_ && static_cast<const void*>(this) == static_cast<const void*>(handle);
  }

  std::deque<Item> items_;
  std::uint64_t given_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::uint64_t> awaited_ = nobody;  // the first number of done_ that somebody waits for
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};
  bool has_thread_ = false;
  bool destroyed_ = false;  // by the program, which knows no more of it; its work goes on
  std::condition_variable wake_;
};

// All of them.
class Streams {
 public:
  static Streams& get();

  std::shared_ptr<Stream> create(int device, unsigned flags, int priority);
  void destroy(cudaStream_t handle);
  // The handle of a call: null, cudaStreamLegacy, cudaStreamPerThread or a stream's. Fails with
  // cudaErrorInvalidResourceHandle.
  std::shared_ptr<Stream> find(cudaStream_t handle, bool per_thread_default);
  std::shared_ptr<Stream> legacy(int device);

  // Puts the operation into the stream, or into the graph that it is captured for.
  void submit(Stream& stream, Operation operation);
  void submit_and_wait(Stream& stream, Operation operation);
  void wait(Stream& stream);
  void wait_for_device(int device);
  void wait_for_all_devices();
  bool idle(Stream& stream);
  // For so long at most; whether all work of all devices was done.
  bool drain(std::chrono::milliseconds longest);

  void wait_for(Stream& stream, const Event& event);  // what comes in the stream comes after the event
  void record(Stream& stream, Event& event);
  void record_now(Event& event);  // by the operation that is being done
  std::shared_ptr<const EventRecord> last_record(const Event& event);
  // Ends a capture for every stream but its origin; whether one had work that `joined` does not come after.
  bool leave_capture(const Capture& capture, const std::vector<Node*>& joined);
  bool reached(const Event& event);
  void wait(const Event& event);

 private:
  friend class Stream;
  friend struct Point;
  // The item's number in the stream.
  std::uint64_t push(std::unique_lock<std::mutex>& lock, Stream& stream, Operation operation,
                     std::vector<Point> after = {});
  template <class Wanted>
  void wait_for_all(const Wanted& wanted);
  // Asks to be woken; whether there is nothing to wait for.
  static bool reached_or_awaited(const Point& point);
  void wait_until_reached(std::unique_lock<std::mutex>& lock, const Point& point);

  std::mutex mutex_;                  // of all streams
  std::condition_variable progress_;  // some stream has done what was awaited
  std::vector<std::shared_ptr<Stream>> streams_;
};

// Events, by their handles.
Event* create_event(unsigned flags);
Event& known_event(const void* handle);  // fails with cudaErrorInvalidResourceHandle
void destroy_event(const void* handle);
float milliseconds_between(Event& start, Event& end);

}  // namespace wm::cudart
