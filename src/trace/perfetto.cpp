// A timeline in the trace-event format that Perfetto and Chrome read.
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "warpmill/trace.hpp"

namespace wm {

std::string Trace::to_json() const {
  nlohmann::json events = nlohmann::json::array();
  std::set<std::pair<std::uint32_t, std::uint32_t>> named;
  const auto name = [&](const char* what, const TraceSlice& slice, const std::string& text) {
    events.push_back(
        {{"ph", "M"}, {"name", what}, {"pid", slice.block}, {"tid", slice.warp}, {"args", {{"name", text}}}});
  };
  for (const TraceSlice& slice : slices) {
    if (named.insert({slice.block, slice.warp}).second) {
      name("process_name", slice, "block " + std::to_string(slice.block));
      name("thread_name", slice, slice.role + ", warp " + std::to_string(slice.warp));
    }
    events.push_back({{"ph", "X"},
                      {"name", slice.doing},
                      {"cat", slice.role},
                      {"pid", slice.block},
                      {"tid", slice.warp},
                      {"ts", slice.begin_us},
                      {"dur", slice.end_us - slice.begin_us},
                      {"args", {{"step", slice.step}}}});
  }
  return nlohmann::json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}.dump();
}

}  // namespace wm
