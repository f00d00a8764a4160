// A table of what is known already, for calls that come again: many threads, bounded, the oldest goes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace wm::ops {

// A key has hash() and room(): how much of the table's bound it takes, 1 for an ordinary one.
template <class Key, class Value>
class Known {
 public:
  std::shared_ptr<const Value> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : found->second;
  }
  void add(const Key& key, std::shared_ptr<const Value> value) {
    const std::lock_guard lock(mutex_);
    const auto [place, added] = values_.emplace(key, std::move(value));
    if (!added) return;
    oldest_.push_back(&place->first);
    room_ += key.room();
    while (room_ > most && oldest_.size() > 1) {
      room_ -= oldest_.front()->room();
      values_.erase(values_.find(*oldest_.front()));
      oldest_.pop_front();
    }
  }

 private:
  static constexpr std::size_t most = 2048;
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.hash(); }
  };
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Value>, Hash> values_;
  std::deque<const Key*> oldest_;  // first
  std::size_t room_ = 0;
};

// Numbers into one hash.
class HashMix {
 public:
  void operator()(std::uint64_t value) { hash_ = (hash_ ^ value) * 0xff51afd7ed558ccdull, hash_ ^= hash_ >> 32; }
  std::size_t result() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x9e3779b97f4a7c15ull;
};

}  // namespace wm::ops
