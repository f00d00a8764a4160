// Findings of the judge in words and as JSON.
#include "judged.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
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

}  // namespace

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
          {"severity", name_of(finding.severity)},
          {"relies_on", finding.relies_on},
          {"section", finding.section},
          {"message", finding.message},
          {"help", finding.help},
          {"places", places},
          {"count", finding.count},
          {"consequences", consequences}};
}

namespace {

json as_json(const Judged& judged, const cases::CheckResult& result) {
  const CheckReport& report = result.report;
  json object = {{"case", judged.name},
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
  for (const Finding& finding : report.findings) object["findings"].push_back(cli::as_json(finding));
  if (result.stopped) object["stopped"] = true;
  if (judged.first && judged.first->program) object["compile"] = as_json(compiled(*judged.first));
  if (judged.plan) object["plan"] = *judged.plan;
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

std::string in_words(const Judged& judged, const cases::CheckResult& result) {
  const CheckReport& report = result.report;
  std::string text;
  for (const Finding& finding : report.findings) text += finding.text() + "\n";
  const std::size_t errors = report.count(Severity::error), warnings = report.count(Severity::warning);
  const auto& executed = report.executed;
  text += fmt::format("{}: {} error{}, {} warning{}, {} of advice; {}{} run{}, {}\n", judged.name, errors,
                      errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s", report.count(Severity::advice),
                      result.runs, result.stopped ? fmt::format(" of {}", result.wanted) : "",
                      result.wanted == 1 ? "" : "s", results_in_words(result));
  if (result.first_wrong) {
    text +=
        line("wrong", fmt::format("{}, seed {}", name_of(result.first_wrong->run.mode), result.first_wrong->run.seed));
    for (const auto& output : result.first_wrong->outputs) text += cli::in_words(output);
  }
  if (result.unexplained()) text += line("not judged", judged.not_judged);
  if (judged.first && judged.first->program) text += in_words(compiled(*judged.first));
  if (judged.plan) text += line("plan", *judged.plan);
  text += line("executed",
               fmt::format("{} warp instructions, {} accesses of threads, {} copies of {}, {} arrivals at barriers, {} "
                           "wgmma a warp",
                           count_in_words(executed.instructions), count_in_words(executed.accesses),
                           count_in_words(executed.copies), bytes_in_words(executed.copied_bytes),
                           count_in_words(executed.barriers), count_in_words(executed.products)));
  return text + line("checked", fmt::format("{}", fmt::join(checked_findings(), ", ")));
}

}  // namespace

int judged(const CheckOptions& options,
           const std::function<cases::CheckResult(const cases::CheckRequest& request, Judged& judged)>& check) {
  try {
    Judged judged;
    const cases::CheckResult result = [&] {
      Progress progress;
      const auto begin = [&](const cases::CheckRun& run, std::uint64_t number, std::uint64_t of) {
        progress.begin(fmt::format("{}, seed {} (run {} of {})", name_of(run.mode), run.seed, number, of));
      };
      return check({.modes = options.modes,
                    .seeds = options.seeds,
                    .max_instructions = options.max_instructions,
                    .strict = options.strict,
                    .machine_code = true,
                    .tell = progress.teller(),
                    .progress = progress.of_runs(),
                    .begin = begin},
                   judged);
    }();
    if (options.json)
      say_json(as_json(judged, result));
    else
      say(in_words(judged, result));
    if (result.stopped)
      throw Error(ErrorCode::stopped,
                  fmt::format("{} of {} runs were made; what they found is above", result.runs, result.wanted));
    return result.report.clean() && result.wrong == 0 ? success : wrong_result;
  } catch (const Error& error) {
    if (!options.json || error.code() == ErrorCode::stopped) throw;
    say_json(error);
    return could_not_run;
  }
}

}  // namespace wm::cli
