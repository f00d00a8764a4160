// `warpmill demo`: every case of a folder, one line each.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "case/run_case.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "warpmill/error.hpp"
#include "words.hpp"

namespace wm::cli {
namespace {

std::vector<std::filesystem::path> cases_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  if (failed)
    throw Error(ErrorCode::not_found, fmt::format("cannot read the folder {}: {}", folder.string(), failed.message()));
  if (files.empty()) throw Error(ErrorCode::not_found, fmt::format("there is no case (.json) in {}", folder.string()));
  std::sort(files.begin(), files.end());
  return files;
}

std::string outcome(const cases::RunResult& result) {
  std::size_t compared = 0, elements = 0, wrong = 0;
  for (const auto& output : result.outputs)
    if (output.comparison) {
      ++compared;
      elements += output.comparison->elements;
      wrong += output.comparison->mismatches;
    }
  if (compared == 0) return "ran";
  return wrong == 0 ? fmt::format("right, {} elements", count_in_words(elements))
                    : fmt::format("WRONG in {} of {}", count_in_words(wrong), count_in_words(elements));
}

}  // namespace

int demo(const DemoCommand& command) {
  constexpr const char* row = "{:<16} {:<16} {:<28} {:>10} {:>10} {:>18}\n";
  const auto files = cases_in(command.folder);
  say(fmt::format(row, "case", "device", "result", "compile", "time", "warp instructions"));
  int status = success;
  std::size_t done = 0;
  for (const auto& file : files) {
    try {
      const auto description = cases::read_case(file);
      const auto result =
          run_in_view(description, {.device = command.device, .virtual_options = command.virtual_options},
                      fmt::format("{} ({} of {})", description.name, done + 1, files.size()));
      say(fmt::format(row, description.name, result.device.id, outcome(result),
                      result.program ? time_in_words(result.compile_seconds * 1000) : "-",
                      time_in_words(result.milliseconds[0]),
                      result.virtual_report ? count_in_words(result.virtual_report->warp_instructions) : "-"));
      if (!result.holds()) status = std::max(status, wrong_result);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::stopped)
        throw Error(error.code(), fmt::format("{} of {} cases were run", done, files.size()));
      say(fmt::format("{:<16} could not run: {}\n", file.stem().string(), error.what()));
      status = could_not_run;
    }
    ++done;
    std::fflush(stdout);
  }
  return status;
}

}  // namespace wm::cli
