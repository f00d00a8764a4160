// `warpmill run`: the kernel of a case, its results in words or as JSON.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "case/run_case.hpp"
#include "commands.hpp"
#include "outcome.hpp"
#include "output.hpp"
#include "warpmill/error.hpp"
#include "words.hpp"

namespace wm::cli {
namespace {

using cases::Case;
using cases::RunResult;
using nlohmann::json;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string times_in_words(const RunResult& result) {
  const auto& times = result.milliseconds;
  std::string text = time_in_words(median(times));
  if (times.size() > 1)
    text = fmt::format("median {}, fastest {}, slowest {}, of {} launches", text,
                       time_in_words(*std::min_element(times.begin(), times.end())),
                       time_in_words(*std::max_element(times.begin(), times.end())), times.size());
  if (result.virtual_report)
    text += fmt::format(", {} warp instructions", count_in_words(result.virtual_report->warp_instructions));
  return text;
}

// Instructions that are not supported never get here: the module is refused, each of them by name and line.
std::string fidelity_in_words(const vgpu::RunReport& report) {
  std::string text = fmt::format("\n{:<56}{:>14}  {}\n", "instruction", "executed", "against the chip");
  for (const bool exact : {false, true})
    for (const auto& used : report.used)
      if (used.bound.empty() == exact)
        text += fmt::format("{:<56}{:>14}  {}\n", used.name, count_in_words(used.times),
                            exact ? "exact" : "approximate: " + used.bound);
  return text;
}

std::string in_words(const Case& description, const RunResult& result, const std::filesystem::path& file) {
  std::string text = fmt::format("{} on {} ({})\n", description.name, result.device.id, result.device.name);
  if (result.program) text += in_words(compiled(result));
  text += line("ran", times_in_words(result));
  for (const auto& output : result.outputs) text += cli::in_words(output);
  if (!result.holds())
    text +=
        line("help", fmt::format("`warpmill check {}` looks for a race or a missing wait behind it", file.string()));
  if (result.virtual_report && !result.virtual_report->used.empty()) text += fidelity_in_words(*result.virtual_report);
  return text;
}

json as_json(const Case& description, const RunResult& result) {
  json object = {
      {"case", description.name},
      {"device", {{"id", result.device.id}, {"name", result.device.name}, {"arch", result.device.arch.name()}}},
      {"entry", result.entry},
      {"holds", result.holds()},
      {"milliseconds", {{"median", median(result.milliseconds)}, {"all", result.milliseconds}}},
      {"outputs", json::array()}};
  for (const auto& output : result.outputs) object["outputs"].push_back(cli::as_json(output));
  if (result.virtual_report)
    object["virtual"] = {{"warp_instructions", result.virtual_report->warp_instructions},
                         {"blocks", result.virtual_report->blocks}};
  if (result.virtual_report)
    for (const auto& used : result.virtual_report->used) {
      json entry = {{"instruction", used.name}, {"executed", used.times}, {"exact", used.bound.empty()}};
      if (!used.bound.empty()) entry["bound"] = used.bound;
      object["fidelity"].push_back(std::move(entry));
    }
  if (result.program) object["compile"] = as_json(compiled(result));
  return object;
}

// Keeps standard output for the JSON alone: what a kernel prints goes to standard error meanwhile.
class OutputKept {
 public:
  explicit OutputKept(bool wanted) : saved_(wanted ? ::dup(STDOUT_FILENO) : -1) {
    if (wanted) ::dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~OutputKept() {
    if (saved_ < 0) return;
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  OutputKept(const OutputKept&) = delete;
  OutputKept& operator=(const OutputKept&) = delete;

 private:
  int saved_;
};

}  // namespace

int run(const RunCommand& command) {
  try {
    const Case description = read_case(command.file, command.defines);
    if (!command.emit.empty()) return emit(description, command);
    cases::RunRequest request{.device = command.device,
                              .repeat = command.repeat,
                              .virtual_options = command.virtual_options,
                              .poison = command.poison,
                              .machine_code = true};
    if (command.fidelity) {
      request.virtual_options.count_instructions = true;
      const auto info = cases::open_device(description, command.device).info();
      if (info.kind != DeviceKind::virtual_gpu)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--fidelity compares the virtual GPU with the chip, and {} is a GPU: add --device "
                                "virtual",
                                info.id));
    }
    const RunResult result = [&] {
      const OutputKept kept(command.json);
      return run_in_view(description, request, description.name);
    }();
    if (command.json)
      say_json(as_json(description, result));
    else
      say(in_words(description, result, command.file));
    return result.holds() ? success : wrong_result;
  } catch (const Error& error) {
    if (!command.json || error.code() == ErrorCode::stopped) throw;
    say_json(error);
    return could_not_run;
  }
}

}  // namespace wm::cli
