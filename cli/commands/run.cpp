// `warpmill run`: one case, its result in words or as JSON.
#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "case/files.hpp"
#include "case/run_case.hpp"
#include "commands.hpp"
#include "warpmill/error.hpp"
#include "words.hpp"

namespace wm::cli {
namespace {

using cases::Case;
using cases::Comparison;
using cases::OutputResult;
using cases::RunResult;
using nlohmann::json;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// --- in words ---

void line(std::string_view label, const std::string& text) { fmt::print("  {:<9} {}\n", label, text); }

std::string compiler_in_words(const RunResult& result) {
  const jit::Program& program = *result.program;
  std::string text = fmt::format("{} in {}{}", program.arch.name(), time_in_words(result.compile_seconds * 1000),
                                 program.from_cache ? " (from the cache)" : "");
  for (const auto& resources : program.resources)
    if (resources.entry == result.entry)
      text += fmt::format(", {} registers, {} of static shared memory", resources.registers,
                          bytes_in_words(resources.static_shared_bytes));
  return text;
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

void print_output(const OutputResult& output) {
  if (output.comparison) {
    const Comparison& comparison = *output.comparison;
    const bool exact = output.tolerance.absolute == 0 && output.tolerance.relative == 0;
    const std::string allowed = exact ? "exactly"
                                      : fmt::format("within {:.3g} + {:.3g} * |expected|", output.tolerance.absolute,
                                                    output.tolerance.relative);
    const std::string elements = count_in_words(comparison.elements);
    const std::string distance = fmt::format("largest difference {:.3g}, relative {:.3g}", comparison.largest_absolute,
                                             comparison.largest_relative);
    if (!comparison.holds())
      line(output.buffer, fmt::format("DIFFERS from {} in {} of {} elements, {}; it must be equal {}", output.expected,
                                      count_in_words(comparison.mismatches), elements, distance, allowed));
    else
      line(output.buffer, fmt::format("equals {} {}: {} elements{}", output.expected, allowed, elements,
                                      exact ? "" : ", " + distance));
    for (const auto& mismatch : comparison.first)
      line("", fmt::format("{}[{}] is {}, expected {}", output.buffer, fmt::join(mismatch.at, ", "), mismatch.result,
                           mismatch.expected));
  }
  if (output.written) line(output.buffer, fmt::format("written to {}", output.written->string()));
}

// Instructions that are not supported never get here: the module is refused, each of them by name and line.
void print_fidelity(const vgpu::RunReport& report) {
  fmt::print("\n{:<56}{:>14}  {}\n", "instruction", "executed", "against the chip");
  const auto print = [&](bool exact) {
    for (const auto& used : report.used)
      if (used.bound.empty() == exact)
        fmt::print("{:<56}{:>14}  {}\n", used.name, count_in_words(used.times),
                   exact ? "exact" : "approximate: " + used.bound);
  };
  print(false);
  print(true);
}

void print_words(const Case& description, const RunResult& result) {
  fmt::print("{} on {} ({})\n", description.name, result.device.id, result.device.name);
  if (result.program) {
    line("compiled", compiler_in_words(result));
    for (const auto& lost : result.program->lost_speed) line("", lost);
    if (!result.program->log.empty()) fmt::print("{}\n", result.program->log);
  }
  line("ran", times_in_words(result));
  for (const auto& output : result.outputs) print_output(output);
  if (result.virtual_report && !result.virtual_report->used.empty()) print_fidelity(*result.virtual_report);
}

// --- as JSON ---

// Bytes that are no UTF-8 (a path, a compiler's log) must not spoil the whole.
void print_json(const json& object) { fmt::print("{}\n", object.dump(2, ' ', false, json::error_handler_t::replace)); }

json output_as_json(const OutputResult& output) {
  json object = {{"buffer", output.buffer}};
  if (output.written) object["written"] = output.written->string();
  if (!output.comparison) return object;
  const Comparison& comparison = *output.comparison;
  json first = json::array();
  for (const auto& mismatch : comparison.first)
    first.push_back({{"at", mismatch.at}, {"result", mismatch.result}, {"expected", mismatch.expected}});
  object["equals"] = output.expected;
  object["holds"] = comparison.holds();
  object["elements"] = comparison.elements;
  object["mismatches"] = comparison.mismatches;
  object["first_mismatches"] = first;
  object["largest_difference"] = {{"absolute", comparison.largest_absolute}, {"relative", comparison.largest_relative}};
  object["tolerance"] = {{"absolute", output.tolerance.absolute}, {"relative", output.tolerance.relative}};
  return object;
}

json as_json(const Case& description, const RunResult& result) {
  json object = {
      {"case", description.name},
      {"device", {{"id", result.device.id}, {"name", result.device.name}, {"arch", result.device.arch.name()}}},
      {"entry", result.entry},
      {"holds", result.holds()},
      {"milliseconds", {{"median", median(result.milliseconds)}, {"all", result.milliseconds}}},
      {"outputs", json::array()}};
  for (const auto& output : result.outputs) object["outputs"].push_back(output_as_json(output));
  if (result.virtual_report)
    object["virtual"] = {{"warp_instructions", result.virtual_report->warp_instructions},
                         {"blocks", result.virtual_report->blocks}};
  if (result.virtual_report)
    for (const auto& used : result.virtual_report->used) {
      json entry = {{"instruction", used.name}, {"executed", used.times}, {"exact", used.bound.empty()}};
      if (!used.bound.empty()) entry["bound"] = used.bound;
      object["fidelity"].push_back(std::move(entry));
    }
  if (result.program) {
    object["compile"] = {{"arch", result.program->arch.name()},
                         {"seconds", result.compile_seconds},
                         {"from_cache", result.program->from_cache},
                         {"lost_speed", result.program->lost_speed},
                         {"log", result.program->log}};
    for (const auto& resources : result.program->resources)
      if (resources.entry == result.entry)
        object["compile"]["resources"] = {{"registers", resources.registers},
                                          {"static_shared_bytes", resources.static_shared_bytes},
                                          {"stack_bytes", resources.stack_bytes},
                                          {"spill_store_bytes", resources.spill_store_bytes},
                                          {"spill_load_bytes", resources.spill_load_bytes}};
  }
  return object;
}

// Keeps standard output for the JSON alone: what a kernel prints goes to standard error meanwhile.
class OutputKept {
 public:
  OutputKept() : saved_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~OutputKept() {
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  OutputKept(const OutputKept&) = delete;
  OutputKept& operator=(const OutputKept&) = delete;

 private:
  int saved_;
};

// --- emit ---

int emit(const Case& description, const RunCommand& command) {
  std::string ptx;
  std::vector<std::byte> cubin;
  if (description.module.extension() == ".ptx") {
    if (command.emit == "cubin")
      throw Error(ErrorCode::unsupported, "NVRTC compiles CUDA C++ only: there is no cubin of a .ptx module");
    ptx = cases::read_text(description.module);
  } else {
    const Architecture arch =
        description.arch ? *description.arch : cases::open_device(description, command.device).info().arch;
    jit::Program program = cases::compile_case(description, arch, /*line_table=*/false);
    ptx = std::move(program.ptx);
    cubin = std::move(program.cubin);
  }
  const std::span<const std::byte> bytes =
      command.emit == "ptx" ? std::as_bytes(std::span(ptx)) : std::span<const std::byte>(cubin);
  if (!command.output.empty()) {
    cases::write_file(command.output, bytes);
  } else if (command.emit == "cubin" && ::isatty(STDOUT_FILENO)) {
    throw Error(ErrorCode::invalid_argument, "a cubin is no text for a terminal; name a file with --output");
  } else if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "cannot write to standard output");
  }
  return success;
}

RunResult run_quietly(const Case& description, const cases::RunRequest& request) {
  const OutputKept kept;
  return cases::run_case(description, request);
}

}  // namespace

int run(const RunCommand& command) {
  try {
    const Case description = cases::read_case(command.file);
    if (!command.emit.empty()) return emit(description, command);
    cases::RunRequest request{.device = command.device,
                              .repeat = command.repeat,
                              .virtual_options = command.virtual_options,
                              .poison = command.poison};
    if (command.fidelity) {
      request.virtual_options.count_instructions = true;
      const auto info = cases::open_device(description, command.device).info();
      if (info.kind != DeviceKind::virtual_gpu)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--fidelity compares the virtual GPU with the chip, and {} is a GPU: add --device "
                                "virtual",
                                info.id));
    }
    const RunResult result = command.json ? run_quietly(description, request) : cases::run_case(description, request);
    if (command.json)
      print_json(as_json(description, result));
    else
      print_words(description, result);
    return result.holds() ? success : wrong_result;
  } catch (const Error& error) {
    if (!command.json) throw;
    print_json({{"error", {{"code", name_of(error.code())}, {"message", error.what()}}}});
    return could_not_run;
  }
}

}  // namespace wm::cli
