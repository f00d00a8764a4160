// Work wanted by several threads at once, done by one of them.
#pragma once

#include <future>
#include <map>
#include <mutex>

namespace wm::jit {

template <class Key, class Result>
class SingleFlight {
 public:
  // The first to ask for a key does the work; who asks while it is being done waits for what it gives or throws.
  // Nothing is kept afterwards.
  template <class Work>
  Result run(const Key& key, const Work& work) {
    std::promise<Result> promise;
    {
      std::unique_lock lock(mutex_);
      const auto [flight, first] = flights_.try_emplace(key);
      if (!first) {
        const std::shared_future<Result> result = flight->second;
        lock.unlock();
        return result.get();
      }
      flight->second = promise.get_future().share();
    }
    try {
      promise.set_value(work());
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
    std::unique_lock lock(mutex_);
    const auto landed = flights_.extract(key);
    lock.unlock();
    return landed.mapped().get();
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_future<Result>> flights_;
};

}  // namespace wm::jit
