// What an operation keeps for each device between calls, as long as the process lives: kernels keep their device open.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "warpmill/device.hpp"

namespace wm::ops {

// One State for each device, made when first asked for. Its parts guard themselves.
template <class State>
State& state_of(const Device& device) {
  static std::mutex mutex;
  static auto& states = *new std::map<const void*, std::unique_ptr<State>>;  // never destroyed: no order at exit
  const std::lock_guard lock(mutex);
  auto& state = states[&device.backend()];
  if (!state) state = std::make_unique<State>();
  return *state;
}

}  // namespace wm::ops
