// warpmill tune gemm. Each shape is measured by a process of its own: a kernel that hangs or brings the device down is
// left out, and costs nobody else's result.
#include <cstdio>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "case/files.hpp"
#include "commands/commands.hpp"
#include "commands/shapes.hpp"
#include "commands/worker.hpp"
#include "gemm/gemm_tune.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

// A worker's lines: "trying PLAN", "note TEXT", and at the end "tuned ENTRY" where a plan was found.
constexpr std::string_view trying = "trying ", note = "note ", tuned = "tuned ";

int work(const TuneGemmCommand& command) {
  const auto tell = [](std::string_view what, const std::string& text) {
    fmt::print("{}{}\n", what, text);
    std::fflush(stdout);
  };
  bench::TuneOptions options{.candidates = command.candidates,
                             .by_hand = command.by_hand,
                             .without = command.without,
                             .rounds = command.rounds,
                             .trying = [&](const std::string& plan) { tell(trying, plan); },
                             .note = [&](const std::string& text) { tell(note, text); }};
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  const auto entry = bench::tune_gemm(device, shape_from(command.shapes.at(0), command.dtypes.at(0)), options);
  if (!entry) {
    tell(note, "no candidate ran");
    return success;
  }
  plan::TunedPlans table;
  table.set(*entry);
  fmt::print("{}{}", tuned, table.text());
  return success;
}

struct Attempt {
  WorkerEnd end;
  std::string last_plan, entry;
};

// What tuning says of itself: called with the plan that is being tried, and again while nothing changes.
using Trying = std::function<void(const std::string& plan)>;

Attempt attempt(const TuneGemmCommand& command, const bench::Shape& shape, const std::vector<std::string>& without,
                const Trying& tell) {
  std::vector<std::string> arguments{"/proc/self/exe",
                                     "tune",
                                     "gemm",
                                     "--worker",
                                     fmt::format("{}x{}x{}", shape.m, shape.n, shape.k),
                                     "--dtype",
                                     std::string(name_of(shape.operands)),
                                     "--candidates",
                                     std::to_string(command.candidates),
                                     "--rounds",
                                     std::to_string(command.rounds)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {option, value});
  };
  add("--device", command.device);
  for (const std::string& plan : command.by_hand) add("--plan", plan);
  for (const std::string& plan : without) add("--without", plan);
  Attempt result;
  const auto read = [&](std::string_view line) {
    if (line.starts_with(trying)) result.last_plan = line.substr(trying.size());
    if (line.starts_with(note)) complain(fmt::format("  {}\n", line.substr(note.size())));
    if (line.starts_with(tuned)) result.entry = line.substr(tuned.size());
  };
  result.end = run_worker(arguments, std::chrono::seconds(command.limit), read, [&] { tell(result.last_plan); });
  tell(result.last_plan);  // where a signal has ended it, that is not the plan's fault
  return result;
}

// The entry, or nothing where no attempt found one. `started`: whether the device was there to run anything.
std::string tuned_entry(const TuneGemmCommand& command, const bench::Shape& shape, const Trying& tell, bool& started) {
  std::vector<std::string> without = command.without;
  for (int tries = 0; tries < 4; ++tries) {
    const Attempt result = attempt(command, shape, without, tell);
    started |= !result.last_plan.empty() || result.end.status == success;
    if (!result.entry.empty() || result.last_plan.empty() || result.end.status == success) return result.entry;
    complain(fmt::format("  {} {}; it is left out\n", result.last_plan,
                         result.end.silent ? fmt::format("did not come back in {} s", command.limit)
                                           : fmt::format("ended the process with status {}", result.end.status)));
    without.push_back(result.last_plan);
  }
  return "";
}

// The folder of a file, made; and taken away again where nothing came of it.
class MadeFolder {
 public:
  explicit MadeFolder(const std::filesystem::path& file) {
    namespace fs = std::filesystem;
    std::error_code failed;
    const fs::path folder = fs::absolute(file, failed).parent_path();
    for (fs::path missing = folder; !fs::exists(missing, failed) && missing.has_relative_path();
         missing = missing.parent_path())
      made_.push_back(missing);
    fs::create_directories(folder, failed);
    if (failed)
      throw Error(ErrorCode::io, fmt::format("cannot make the folder of {}: {}", file.string(), failed.message()));
  }
  ~MadeFolder() {
    std::error_code not_empty;
    for (const auto& folder : made_) std::filesystem::remove(folder, not_empty);
  }
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // innermost first
};

// What is known of the device without opening it: a GPU is the workers' alone.
DeviceInfo device_of(const TuneGemmCommand& command) {
  const std::vector<DeviceInfo> all = Device::list();
  if (command.device.empty()) return all.front();
  for (const DeviceInfo& info : all)
    if (info.id == command.device) return info;
  return Device::open(command.device).info();
}

}  // namespace

int tune_gemm(const TuneGemmCommand& command) {
  if (command.worker) return work(command);
  std::vector<bench::Shape> shapes;
  for (const std::string& dtype : command.dtypes)
    for (const bench::Shape& shape : shapes_to_measure(command.shapes, dtype)) shapes.push_back(shape);
  check_plans(command.by_hand);
  check_plans(command.without);
  const std::filesystem::path file = command.out.empty() ? plan::user_plans_file() : command.out;
  if (file.empty()) throw Error(ErrorCode::not_found, "there is no home folder to keep the plans in; give --out FILE");
  std::vector<std::string> problems;
  plan::TunedPlans table = plan::read_plans(file, problems);
  if (!problems.empty())
    throw Error(ErrorCode::invalid_argument, fmt::format("{}; mend it first, or give another --out", problems.front()));
  const MadeFolder folder(file);
  cases::check_writable(file);
  bench::check_tunable(device_of(command));

  std::size_t begun = 0, found = 0;
  bool started = false;
  Progress progress;
  const auto told = [&] { return fmt::format("{} of {} plans are in {}", found, shapes.size(), file.string()); };
  try {
    for (const bench::Shape& shape : shapes) {
      complain(text_of(shape) + "\n");
      const auto tell = [&](const std::string& plan) { progress.tell(plan + "; shapes", begun, shapes.size()); };
      const std::string line = tuned_entry(command, shape, tell, started);
      if (!started) return could_not_run;  // the worker has said why
      ++begun;
      const auto entries = plan::TunedPlans::from_text(line, "worker", problems).entries();
      if (entries.empty()) {
        complain("  nothing was found for it\n");
        continue;
      }
      table.set(entries.front());
      const std::string text = table.text();
      cases::write_file(file, std::as_bytes(std::span(text)));
      ++found;
      say(line + "\n");
      std::fflush(stdout);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::stopped) throw Error(error.code(), told());
    throw;
  }
  complain(told() + "\n");
  return found == shapes.size() ? success : wrong_result;
}

}  // namespace wm::cli
