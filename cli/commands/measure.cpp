// Times of calls, and their timelines.
#include "commands/measure.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "case/files.hpp"
#include "commands/words.hpp"
#include "common/files.hpp"
#include "output.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void check_host_memory(const std::string& what, double bytes) {
  if (bytes > static_cast<double>(physical_memory()))
    throw Error(
        ErrorCode::out_of_memory,
        fmt::format("{}: the operands take {}, and the memory of the virtual GPU is that of this machine, {}", what,
                    bytes_in_words(static_cast<std::uint64_t>(bytes)), bytes_in_words(physical_memory())));
}

CallTimes timed(const Stream& stream, int repeat, const std::function<void()>& call) {
  std::vector<double> device_us, host_us;
  for (int i = 0; i < repeat; ++i) {
    const Event start(stream.device()), end(stream.device());
    stream.record(start);
    call();
    stream.record(end);
    end.synchronize();
    device_us.push_back(end.since(start) * 1e3);
  }
  // The host's cost, in bursts that stay below the depth of the launch queue.
  constexpr int burst = 100;
  for (int i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (int number = 0; number < burst; ++number) call();
    host_us.push_back(milliseconds_since(start) * 1e3 / burst);
    stream.synchronize();
  }
  return {middle(device_us), middle(host_us)};
}

void write_timeline(const std::filesystem::path& file, const std::function<void(Trace& trace)>& call) {
  Trace trace;
  call(trace);
  const std::string json = trace.to_json();
  cases::write_file(file, std::as_bytes(std::span(json)));
  if (trace.truncated)
    complain(fmt::format("{}: the launch made more stamps than fit; its end is missing\n", file.string()));
}

}  // namespace wm::cli
