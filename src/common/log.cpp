// The caller's log function, kept while a call of it lasts.
#include "common/log.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace wm {
namespace {

struct Listener {
  std::mutex mutex;
  std::shared_ptr<const LogFunction> function;
};
Listener& listener() {
  static auto& only = *new Listener;  // never destroyed: no order at exit
  return only;
}

}  // namespace

void set_log(LogFunction function) {
  auto shared = function ? std::make_shared<const LogFunction>(std::move(function)) : nullptr;
  const std::lock_guard lock(listener().mutex);
  listener().function.swap(shared);
}

void log(LogSeverity severity, std::string_view text) {
  std::unique_lock lock(listener().mutex);
  const auto function = listener().function;  // called without the lock: it may set another, or call the library
  lock.unlock();
  if (function) (*function)(severity, text);
}

}  // namespace wm
