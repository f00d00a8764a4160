// `warpmill check`: a case under the judge's eyes, in every mode, with several seeds.
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "case/check_case.hpp"
#include "commands.hpp"
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

json as_json(const cases::Case& description, const cases::CheckResult& result) {
  const CheckReport& report = result.report;
  json object = {{"case", description.name},
                 {"findings", json::array()},
                 {"runs", result.runs},
                 {"results_held", result.runs_that_held},
                 {"executed",
                  {{"instructions", report.executed.instructions},
                   {"accesses", report.executed.accesses},
                   {"copies", report.executed.copies},
                   {"copied_bytes", report.executed.copied_bytes},
                   {"products", report.executed.products},
                   {"barriers", report.executed.barriers}}},
                 {"checked", checked_findings()}};
  for (const Finding& finding : report.findings) object["findings"].push_back(as_json(finding));
  return object;
}

void print_words(const cases::Case& description, const cases::CheckResult& result) {
  const CheckReport& report = result.report;
  std::size_t errors = 0;
  for (const Finding& finding : report.findings) {
    errors += finding.severity == Severity::error;
    fmt::print("{}\n", finding.text());
  }
  const auto& executed = report.executed;
  fmt::print("{}: {} error{}, {} of advice; {} runs, results right in {}\n", description.name, errors,
             errors == 1 ? "" : "s", report.findings.size() - errors, result.runs, result.runs_that_held);
  fmt::print(
      "  executed  {} warp instructions, {} accesses of threads, {} copies of {}, {} arrivals at barriers, {} "
      "wgmma a warp\n",
      count_in_words(executed.instructions), count_in_words(executed.accesses), count_in_words(executed.copies),
      bytes_in_words(executed.copied_bytes), count_in_words(executed.barriers), count_in_words(executed.products));
  fmt::print("  checked   {}\n", fmt::join(checked_findings(), ", "));
}

}  // namespace

int check(const CheckCommand& command) {
  try {
    cases::Case description = cases::read_case(command.file);
    for (const std::string& define : command.defines) {
      const auto equals = define.find('=');
      description.defines[define.substr(0, equals)] = equals == define.npos ? "1" : define.substr(equals + 1);
    }
    const cases::CheckResult result =
        cases::check_case(description, {command.modes, command.seeds, command.max_instructions});
    if (command.json)
      fmt::print("{}\n", as_json(description, result).dump(2));
    else
      print_words(description, result);
    return result.report.clean() ? success : wrong_result;
  } catch (const Error& error) {
    if (!command.json) throw;
    fmt::print("{}\n", json{{"error", {{"code", name_of(error.code())}, {"message", error.what()}}}}.dump(2));
    return could_not_run;
  }
}

}  // namespace wm::cli
