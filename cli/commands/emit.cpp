// `warpmill run --emit`: a case's code, and what the compiler said of it.
#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "case/files.hpp"
#include "case/printable.hpp"
#include "case/run_case.hpp"
#include "commands.hpp"
#include "outcome.hpp"
#include "output.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

void write_to_standard_output(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0)
    throw Error(ErrorCode::io, "cannot write to standard output");
}

void give_out(const RunCommand& command, const std::string& ptx, std::span<const std::byte> cubin) {
  const bool text = command.emit == "ptx";
  const std::span<const std::byte> bytes = text ? std::as_bytes(std::span(ptx)) : cubin;
  if (!command.output.empty()) return cases::write_file(command.output, bytes);
  if (!::isatty(STDOUT_FILENO)) return write_to_standard_output(bytes);
  if (!text) throw Error(ErrorCode::invalid_argument, "a cubin is no text for a terminal; name a file with --output");
  say(ptx);
}

}  // namespace

int emit(const cases::Case& description, const RunCommand& command) {
  if (command.json && command.output.empty())
    throw Error(ErrorCode::invalid_argument,
                "with --json standard output is the compiler's report; name a file for the code with --output");
  if (description.module.extension() == ".ptx") {
    if (command.emit == "cubin")
      throw Error(ErrorCode::unsupported, "NVRTC compiles CUDA C++ only: there is no cubin of a .ptx module");
    give_out(command, cases::read_text(description.module), {});
    if (command.json) say_json({{"case", description.name}, {"written", command.output.string()}});
    return success;
  }
  const Architecture arch =
      description.arch ? *description.arch : cases::open_device(description, command.device).info().arch;
  const auto start = std::chrono::steady_clock::now();
  const jit::Program program = cases::compile_case(description, arch, /*line_table=*/false);
  std::vector<std::string> entries;
  for (const jit::Resources& resources : program.resources) entries.push_back(resources.entry);
  const auto instance = program.lowered.find(description.entry);
  const Compiled compiled{
      program, &program,
      instance == program.lowered.end() ? cases::resolve_entry(entries, description.entry) : instance->second,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  give_out(command, program.ptx, program.cubin);
  if (command.json)
    say_json({{"case", description.name},
              {"entry", compiled.entry},
              {"written", command.output.string()},
              {"compile", as_json(compiled)}});
  else
    complain(in_words(compiled));  // standard output may be the code
  return success;
}

}  // namespace wm::cli
