// warpmill tune gemm. Each shape is measured by a process of its own: a kernel that hangs or brings the device down is
// left out, and costs nobody else's result.
#include <cstdio>

#include <fmt/format.h>

#include "case/files.hpp"
#include "commands/commands.hpp"
#include "commands/shapes.hpp"
#include "commands/worker.hpp"
#include "gemm/gemm_tune.hpp"
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

Attempt attempt(const TuneGemmCommand& command, const bench::Shape& shape, const std::vector<std::string>& without) {
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
  result.end = run_worker(arguments, std::chrono::seconds(command.limit), [&](std::string_view line) {
    if (line.starts_with(trying)) result.last_plan = line.substr(trying.size());
    if (line.starts_with(note)) fmt::print(stderr, "  {}\n", line.substr(note.size()));
    if (line.starts_with(tuned)) result.entry = line.substr(tuned.size());
  });
  return result;
}

// The entry, or nothing where no attempt found one. `started`: whether the device was there to run anything.
std::string tuned_entry(const TuneGemmCommand& command, const bench::Shape& shape, bool& started) {
  std::vector<std::string> without = command.without;
  for (int tries = 0; tries < 4; ++tries) {
    const Attempt result = attempt(command, shape, without);
    started |= !result.last_plan.empty() || result.end.status == success;
    if (!result.entry.empty() || result.last_plan.empty() || result.end.status == success) return result.entry;
    fmt::print(stderr, "  {} {}; it is left out\n", result.last_plan,
               result.end.silent ? fmt::format("did not come back in {} s", command.limit)
                                 : fmt::format("ended the process with status {}", result.end.status));
    without.push_back(result.last_plan);
  }
  return "";
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
  std::error_code failed;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), failed);
  if (failed)
    throw Error(ErrorCode::io, fmt::format("cannot make the folder of {}: {}", file.string(), failed.message()));
  cases::check_writable(file);

  int missing = 0;
  bool started = false;
  for (const bench::Shape& shape : shapes) {
    fmt::print(stderr, "{}\n", text_of(shape));
    const std::string line = tuned_entry(command, shape, started);
    if (!started) return could_not_run;  // the worker has said why
    const auto entries = plan::TunedPlans::from_text(line, "worker", problems).entries();
    if (entries.empty()) {
      fmt::print(stderr, "  nothing was found for it\n");
      ++missing;
      continue;
    }
    table.set(entries.front());
    const std::string text = table.text();
    cases::write_file(file, std::as_bytes(std::span(text)));
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  fmt::print(stderr, "{} of {} plans are in {}\n", shapes.size() - static_cast<std::size_t>(missing), shapes.size(),
             file.string());
  return missing == 0 ? success : wrong_result;
}

}  // namespace wm::cli
