// One operation of the library, called again and again: its time on the device and on the host, and its timeline.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "warpmill/device.hpp"
#include "warpmill/trace.hpp"

namespace wm::cli {

double milliseconds_since(std::chrono::steady_clock::time_point start);

// Refuses operands that the virtual GPU, whose memory is the machine's, cannot hold. Asked for first, because a system
// that promises more memory than it has would only end the program.
void check_host_memory(const std::string& what, double bytes);

// Medians over `repeat` calls that put the operation into the stream.
struct CallTimes {
  double device_us = 0, host_us = 0;
};
CallTimes timed(const Stream& stream, int repeat, const std::function<void()>& call);

// The timeline of one launch into a file, as JSON for Perfetto.
void write_timeline(const std::filesystem::path& file, const std::function<void(Trace& trace)>& call);

}  // namespace wm::cli
