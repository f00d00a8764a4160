// What a run of a case came to, in words and as JSON: how it was compiled, what its outputs are.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "case/run_case.hpp"

namespace wm::cli {

// "  label     text", a line.
std::string line(std::string_view label, const std::string& text);

// A compilation: where it came from, and what the chip's assembler said of a kernel.
struct Compiled {
  const jit::Program& program;       // what was loaded
  const jit::Program* machine_code;  // what a chip would load, or nothing
  std::string entry;
  double seconds = 0;
};
Compiled compiled(const cases::RunResult& result);  // of a .cu
std::string in_words(const Compiled& compiled);
nlohmann::json as_json(const Compiled& compiled);

std::string in_words(const cases::OutputResult& output);
nlohmann::json as_json(const cases::OutputResult& output);

}  // namespace wm::cli
