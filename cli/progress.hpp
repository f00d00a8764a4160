// Long work on a terminal: one line that says how far it is, and a clean end on Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "steps.hpp"
#include "warpmill/virtual.hpp"

namespace wm::cli {

enum class SecondSignal { ends_us, is_ignored };

// While one lives, SIGINT, SIGTERM and SIGHUP end the work at its next step with ErrorCode::stopped; a second signal
// ends the program at once, unless it is somebody else's to follow. Where standard error is a terminal and the work
// takes more than two seconds, a line there says what is done, of how much, and how long the rest takes; it is gone at
// the end.
class Progress {
 public:
  explicit Progress(SecondSignal second = SecondSignal::ends_us);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The part that begins now: "random, seed 2 (run 4 of 7)". `instructions` that a run is expected to take are a better
  // measure than its blocks, where those all end together. Throws stopped after a signal.
  void begin(std::string what, std::uint64_t instructions = 0);
  // How far the part is. Throws stopped after a signal.
  void tell(std::string_view what, std::uint64_t done, std::uint64_t total);
  Tell teller() {
    return [this](std::string_view what, std::uint64_t done, std::uint64_t total) { tell(what, done, total); };
  }
  // What somebody else does, in words; a signal is theirs to follow.
  void show(const std::string& text, double seconds) { draw(text, 0, seconds); }
  // For RunOptions::progress.
  std::function<vgpu::Answer(const vgpu::RunProgress&)> of_runs();
  void watch(const Device& device);  // every launch on a virtual device, from now to the end

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const std::string& text, double share, double seconds);

  std::optional<Device> watched_;
  std::string part_;
  std::uint64_t expected_ = 0;  // instructions
  std::uint64_t told_ = 0;      // done, when it was told last
  Clock::time_point begin_ = Clock::now(), count_begin_ = begin_, next_;
};

// The signal that has asked for the end of the work, or 0.
int stopping_signal();
// Takes the line back before something else is printed.
void clear_progress_line();

}  // namespace wm::cli
