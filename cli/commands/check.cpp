// `warpmill check`: a case under the judge's eyes, in every mode, with several seeds.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "case/check_case.hpp"
#include "commands.hpp"
#include "outcome.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "warpmill/error.hpp"
#include "words.hpp"

namespace wm::cli {
namespace {

using nlohmann::json;
using vgpu::CheckReport;
using vgpu::Finding;
using vgpu::Severity;

std::vector<std::string> checked_findings() {
  std::vector<std::string> names;
  for (const vgpu::FindingKind& kind : vgpu::finding_kinds()) names.emplace_back(kind.name);
  return names;
}

json as_json(const std::vector<vgpu::FindingPlace::Frame>& frames) {
  json list = json::array();
  for (const auto& frame : frames) list.push_back({{"file", frame.file}, {"line", frame.line}});
  return list;
}

json as_json(const Finding& finding) {
  json places = json::array();
  for (const auto& place : finding.places) {
    json object = {{"file", place.file},
                   {"line", place.line},
                   {"instruction", place.instruction},
                   {"block", {place.block.x, place.block.y, place.block.z}},
                   {"warp", place.warp},
                   {"role", place.role},
                   {"what", place.what},
                   {"inlined_at", as_json(place.inlined_at)},
                   {"through", as_json(place.through)}};
    places.push_back(std::move(object));
  }
  json consequences = json::array();
  for (const Finding& consequence : finding.consequences) consequences.push_back(as_json(consequence));
  return {{"name", finding.name},
          {"severity", finding.severity == Severity::error ? "error" : "advice"},
          {"message", finding.message},
          {"help", finding.help},
          {"places", places},
          {"count", finding.count},
          {"consequences", consequences}};
}

Compiled compiled(const cases::CheckResult& result) {
  const cases::RunResult& run = result.first;
  return {*run.program, run.machine_code(), run.entry, run.compile_seconds};
}

json as_json(const cases::Case& description, const cases::CheckResult& result) {
  const CheckReport& report = result.report;
  json object = {{"case", description.name},
                 {"findings", json::array()},
                 {"runs", result.runs},
                 {"results", {{"right", result.right}, {"wrong", result.wrong}, {"not_ended", result.not_ended}}},
                 {"executed",
                  {{"instructions", report.executed.instructions},
                   {"accesses", report.executed.accesses},
                   {"copies", report.executed.copies},
                   {"copied_bytes", report.executed.copied_bytes},
                   {"products", report.executed.products},
                   {"barriers", report.executed.barriers}}},
                 {"checked", checked_findings()}};
  for (const Finding& finding : report.findings) object["findings"].push_back(as_json(finding));
  if (result.stopped) object["stopped"] = true;
  if (result.first.program) object["compile"] = as_json(compiled(result));
  if (result.first_wrong) {
    json outputs = json::array();
    for (const auto& output : result.first_wrong->outputs) outputs.push_back(cli::as_json(output));
    object["wrong"] = {
        {"mode", name_of(result.first_wrong->run.mode)}, {"seed", result.first_wrong->run.seed}, {"outputs", outputs}};
  }
  return object;
}

std::string results_in_words(const cases::CheckResult& result) {
  std::vector<std::string> parts;
  if (result.right > 0) parts.push_back(fmt::format("results right in {}", result.right));
  if (result.wrong > 0) parts.push_back(fmt::format("results WRONG in {}", result.wrong));
  if (result.not_ended > 0) parts.push_back(fmt::format("{} did not end", result.not_ended));
  if (result.right + result.wrong == 0) parts.emplace_back("no results compared");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What lies outside the judge's eyes, for those whose results are wrong all the same.
constexpr const char* not_judged =
    "which elements of an allocation are read and written, what is computed from them, and the case's own expectation "
    "and tolerance; `warpmill run --fidelity` lists instructions that are not the chip's bit for bit";

std::string in_words(const cases::Case& description, const cases::CheckResult& result) {
  const CheckReport& report = result.report;
  std::size_t errors = 0;
  std::string text;
  for (const Finding& finding : report.findings) {
    errors += finding.severity == Severity::error;
    text += finding.text() + "\n";
  }
  const auto& executed = report.executed;
  text += fmt::format("{}: {} error{}, {} of advice; {} runs{}, {}\n", description.name, errors, errors == 1 ? "" : "s",
                      report.findings.size() - errors, result.runs,
                      result.stopped ? fmt::format(" of {}", result.wanted) : "", results_in_words(result));
  if (result.first_wrong) {
    text +=
        line("wrong", fmt::format("{}, seed {}", name_of(result.first_wrong->run.mode), result.first_wrong->run.seed));
    for (const auto& output : result.first_wrong->outputs) text += cli::in_words(output);
  }
  if (result.unexplained()) text += line("not judged", not_judged);
  if (result.first.program) text += in_words(compiled(result));
  text += line("executed",
               fmt::format("{} warp instructions, {} accesses of threads, {} copies of {}, {} arrivals at barriers, {} "
                           "wgmma a warp",
                           count_in_words(executed.instructions), count_in_words(executed.accesses),
                           count_in_words(executed.copies), bytes_in_words(executed.copied_bytes),
                           count_in_words(executed.barriers), count_in_words(executed.products)));
  return text + line("checked", fmt::format("{}", fmt::join(checked_findings(), ", ")));
}

cases::CheckResult check_in_view(const cases::Case& description, const CheckCommand& command) {
  Progress progress;
  return cases::check_case(
      description,
      {.modes = command.modes,
       .seeds = command.seeds,
       .max_instructions = command.max_instructions,
       .machine_code = true,
       .tell = progress.teller(),
       .progress = progress.of_runs(),
       .begin = [&](const cases::CheckRun& run, std::uint64_t number, std::uint64_t of) {
         progress.begin(fmt::format("{}, seed {} (run {} of {})", name_of(run.mode), run.seed, number, of));
       }});
}

}  // namespace

int check(const CheckCommand& command) {
  try {
    const cases::Case description = read_case(command.file, command.defines);
    const cases::CheckResult result = check_in_view(description, command);
    if (command.json)
      say_json(as_json(description, result));
    else
      say(in_words(description, result));
    if (result.stopped)
      throw Error(ErrorCode::stopped,
                  fmt::format("{} of {} runs were made; what they found is above", result.runs, result.wanted));
    return result.report.clean() && result.wrong == 0 ? success : wrong_result;
  } catch (const Error& error) {
    if (!command.json || error.code() == ErrorCode::stopped) throw;
    say_json(error);
    return could_not_run;
  }
}

}  // namespace wm::cli
