// How long work on the host says how far it is.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace wm {

// Called now and then by long work with what it does, how much of it is done, and of how much. It may throw, which ends
// the work.
using Tell = std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)>;

// The steps of one piece of work, of which every 65,536th is told.
class Steps {
 public:
  Steps(const Tell& tell, std::string_view what, std::uint64_t total) : tell_(tell), what_(what), total_(total) {}
  void at(std::uint64_t done) const {
    if ((done & 0xffff) == 0 && tell_) tell_(what_, done, total_);
  }

 private:
  const Tell& tell_;
  std::string_view what_;
  std::uint64_t total_;
};

}  // namespace wm
