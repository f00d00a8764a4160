// Tuning by workers.
#include "commands/tuning.hpp"

#include <cstdio>
#include <functional>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "commands/plans_file.hpp"
#include "commands/worker.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

// A worker's lines: "trying PLAN", "note TEXT", and at the end "tuned ENTRY" where a plan was found.
constexpr std::string_view trying = "trying ", note = "note ", tuned = "tuned ";

void tell(std::string_view what, const std::string& text) {
  fmt::print("{}{}\n", what, text);
  std::fflush(stdout);
}

struct Attempt {
  WorkerEnd end;
  std::string last_plan, entry;
};

// What tuning says of itself: called with the plan that is being tried, and again while nothing changes.
using Trying = std::function<void(const std::string& plan)>;

Attempt attempt(const TuningOptions& options, const Tuning& tuning, const std::vector<std::string>& without,
                const Trying& tell) {
  std::vector<std::string> arguments{"/proc/self/exe"};
  arguments.insert(arguments.end(), tuning.arguments.begin(), tuning.arguments.end());
  if (!options.device.empty()) arguments.insert(arguments.end(), {"--device", options.device});
  for (const std::string& plan : without) arguments.insert(arguments.end(), {"--without", plan});
  Attempt result;
  const auto read = [&](std::string_view line) {
    if (line.starts_with(trying)) result.last_plan = line.substr(trying.size());
    if (line.starts_with(note)) complain(fmt::format("  {}\n", line.substr(note.size())));
    if (line.starts_with(tuned)) result.entry = line.substr(tuned.size());
  };
  result.end = run_worker(arguments, std::chrono::seconds(options.limit), read, [&] { tell(result.last_plan); });
  tell(result.last_plan);  // where a signal has ended it, that is not the plan's fault
  return result;
}

// The entry, or nothing where no attempt found one. `started`: whether the device was there to run anything.
std::string tuned_entry(const TuningOptions& options, const Tuning& tuning, const Trying& tell, bool& started) {
  std::vector<std::string> without = options.without;
  for (int tries = 0; tries < 4; ++tries) {
    const Attempt result = attempt(options, tuning, without, tell);
    started |= !result.last_plan.empty() || result.end.status == success;
    if (!result.entry.empty() || result.last_plan.empty() || result.end.status == success) return result.entry;
    complain(fmt::format("  {} {}; it is left out\n", result.last_plan,
                         result.end.silent ? fmt::format("did not come back in {} s", options.limit)
                                           : fmt::format("ended the process with status {}", result.end.status)));
    without.push_back(result.last_plan);
  }
  return "";
}

// What is known of the device without opening it: a GPU is the workers' alone.
DeviceInfo device_of(const TuningOptions& options) {
  const std::vector<DeviceInfo> all = Device::list();
  if (options.device.empty()) return all.front();
  for (const DeviceInfo& info : all)
    if (info.id == options.device) return info;
  return Device::open(options.device).info();
}

}  // namespace

bench::TuneOptions told_options() {
  bench::TuneOptions options;
  options.trying = [](const std::string& plan) { tell(trying, plan); };
  options.note = [](const std::string& text) { tell(note, text); };
  return options;
}

int told(const plan::TunedPlans& found) {
  if (found.text().empty())
    tell(note, "no candidate ran");
  else
    fmt::print("{}{}", tuned, found.text());
  return success;
}

int tune_all(const TuningOptions& options, const std::vector<Tuning>& all) {
  PlansFile file(options.out);
  bench::check_tunable(device_of(options));

  std::size_t begun = 0, found = 0;
  bool started = false;
  Progress progress;
  const auto told = [&] { return fmt::format("{} of {} plans are in {}", found, all.size(), file.path().string()); };
  try {
    for (const Tuning& tuning : all) {
      complain(tuning.name + "\n");
      const auto tell = [&](const std::string& plan) { progress.tell(plan + "; shapes", begun, all.size()); };
      const std::string line = tuned_entry(options, tuning, tell, started);
      if (!started) return could_not_run;  // the worker has said why
      ++begun;
      std::vector<std::string> problems;
      const auto found_here = plan::TunedPlans::from_text(line, "worker", problems);
      if (found_here.entries().empty() && found_here.attentions().empty()) {
        complain("  nothing was found for it\n");
        continue;
      }
      for (const plan::TunedPlan& entry : found_here.entries()) file.table.set(entry);
      for (const plan::TunedAttention& entry : found_here.attentions()) file.table.set(entry);
      file.write();
      ++found;
      say(line + "\n");
      std::fflush(stdout);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::stopped) throw Error(error.code(), told());
    throw;
  }
  complain(told() + "\n");
  return found == all.size() ? success : wrong_result;
}

}  // namespace wm::cli
