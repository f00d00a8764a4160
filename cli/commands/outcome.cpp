// Outcomes as text and JSON.
#include "commands/outcome.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "commands/words.hpp"

namespace wm::cli {
namespace {

using nlohmann::json;

const jit::Resources* resources_of(const Compiled& compiled) {
  if (!compiled.machine_code) return nullptr;
  const auto& all = compiled.machine_code->resources;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.entry == compiled.entry; });
  return found == all.end() ? nullptr : &*found;
}

std::string in_words(const jit::Resources& resources) {
  std::string text = fmt::format("{} registers, {} of static shared memory", resources.registers,
                                 bytes_in_words(resources.static_shared_bytes));
  text += resources.spill_store_bytes + resources.spill_load_bytes == 0
              ? ", no spills"
              : fmt::format(", SPILLS {} and loads {} a thread", bytes_in_words(resources.spill_store_bytes),
                            bytes_in_words(resources.spill_load_bytes));
  return text + (resources.stack_bytes == 0
                     ? ", no stack"
                     : fmt::format(", a stack of {} a thread", bytes_in_words(resources.stack_bytes)));
}

}  // namespace

std::string line(std::string_view label, const std::string& text) { return fmt::format("  {:<9} {}\n", label, text); }

Compiled compiled(const cases::RunResult& result) {
  return {*result.program, result.machine_code(), result.entry, result.compile_seconds};
}

std::string in_words(const Compiled& compiled) {
  const jit::Program& program = compiled.program;
  std::string text = fmt::format("{} in {}{}", program.arch.name(), time_in_words(compiled.seconds * 1000),
                                 program.from_cache ? " (from the cache)" : "");
  if (const jit::Resources* resources = resources_of(compiled)) text += ", " + in_words(*resources);
  text = line("compiled", text);
  if (compiled.machine_code)
    for (const std::string& lost : compiled.machine_code->lost_speed) text += line("slow", lost);
  if (!program.log.empty()) text += program.log + "\n";
  return text;
}

json as_json(const Compiled& compiled) {
  json object = {{"arch", compiled.program.arch.name()},
                 {"seconds", compiled.seconds},
                 {"from_cache", compiled.program.from_cache},
                 {"log", compiled.program.log}};
  if (compiled.machine_code) object["lost_speed"] = compiled.machine_code->lost_speed;
  if (const jit::Resources* resources = resources_of(compiled))
    object["resources"] = {{"registers", resources->registers},
                           {"static_shared_bytes", resources->static_shared_bytes},
                           {"stack_bytes", resources->stack_bytes},
                           {"spill_store_bytes", resources->spill_store_bytes},
                           {"spill_load_bytes", resources->spill_load_bytes}};
  return object;
}

std::string in_words(const cases::OutputResult& output) {
  std::string text;
  if (output.comparison) {
    const cases::Comparison& comparison = *output.comparison;
    const bool exact = output.tolerance.absolute == 0 && output.tolerance.relative == 0;
    const std::string allowed = exact ? "exactly"
                                      : fmt::format("within {:.3g} + {:.3g} * |expected|", output.tolerance.absolute,
                                                    output.tolerance.relative);
    const std::string elements = count_in_words(comparison.elements);
    const std::string distance = fmt::format("largest difference {:.3g}, relative {:.3g}", comparison.largest_absolute,
                                             comparison.largest_relative);
    if (!comparison.holds())
      text += line(output.buffer,
                   fmt::format("DIFFERS from {} in {} of {} elements, {}; it must be equal {}", output.expected,
                               count_in_words(comparison.mismatches), elements, distance, allowed));
    else
      text += line(output.buffer, fmt::format("equals {} {}: {} elements{}", output.expected, allowed, elements,
                                              exact ? "" : ", " + distance));
    for (const auto& mismatch : comparison.first)
      text += line("", fmt::format("{}[{}] is {}, expected {}", output.buffer, fmt::join(mismatch.at, ", "),
                                   mismatch.result, mismatch.expected));
  }
  if (output.written) text += line(output.buffer, fmt::format("written to {}", output.written->string()));
  return text;
}

json as_json(const cases::OutputResult& output) {
  json object = {{"buffer", output.buffer}};
  if (output.written) object["written"] = output.written->string();
  if (!output.comparison) return object;
  const cases::Comparison& comparison = *output.comparison;
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

}  // namespace wm::cli
