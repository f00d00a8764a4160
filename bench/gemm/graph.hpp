// Work captured once and replayed: launches without their host cost.
#pragma once

#include <functional>
#include <utility>

#include "warpmill/device.hpp"

namespace wm::bench {

class Graph {
 public:
  // Captures what `work` puts into `stream`.
  Graph(const Stream& stream, const std::function<void()>& work);
  ~Graph();
  Graph(Graph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }
  void replay(const Stream& stream) const;

 private:
  void* executable_ = nullptr;  // CUgraphExec
};

}  // namespace wm::bench
