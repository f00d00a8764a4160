// The options of `run PROGRAM` and `check PROGRAM`. They end where the program begins, which only those who look at the
// file can tell: so they are read here, and not with the other commands' options.
#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "common/numbers.hpp"
#include "program.hpp"
#include "warpmill/error.hpp"
#include "words.hpp"

namespace wm::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, why); }

// Machine code, or a script.
bool is_program(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || ::access(file.c_str(), X_OK) != 0) return false;
  std::array<char, 4> magic{};
  std::ifstream(file, std::ios::binary).read(magic.data(), magic.size());
  const std::string_view begin(magic.data(), magic.size());
  return begin == std::string_view(
                      "\x7f"
                      "ELF") ||
         begin.starts_with("#!");
}

template <class Number>
Number number_of(const std::string& option, const std::string& text, Number least, Number most) {
  const auto value = number_from<Number>(text);
  if (!value || *value < least || *value > most)
    refuse(fmt::format("{}: '{}' is no whole number from {} to {}", option, text, least, most));
  return *value;
}

std::string folder_of(const std::string& option, const std::string& text) {
  if (!fs::is_directory(text)) refuse(fmt::format("{}: {} is no folder", option, text));
  return fs::absolute(text).string();
}

vgpu::Mode mode_of(const std::string& text) {
  for (const vgpu::Mode mode : {vgpu::Mode::friendly, vgpu::Mode::random, vgpu::Mode::adversarial})
    if (text == name_of(mode)) return mode;
  refuse(fmt::format("--mode: there is no mode '{}'; there are friendly, random, adversarial", text));
}

constexpr std::array of_both = {"--device", "--devices", "--max-instructions", "--ptx", "--json"};
constexpr std::array of_check = {"--kernel", "--skip-kernel", "--skip", "--count", "--seeds", "--mode"};

bool takes_value(std::string_view option) {
  return std::ranges::find(of_both, option) != of_both.end() || std::ranges::find(of_check, option) != of_check.end();
}

void set(ProgramCommand& command, const std::string& option, const std::string& value) {
  constexpr std::uint64_t most = UINT64_MAX;
  if (option == "--device")
    command.device = value;
  else if (option == "--devices")
    command.devices = number_of(option, value, 1, 16);
  else if (option == "--max-instructions")
    command.max_instructions = number_of<std::uint64_t>(option, value, 0, most);
  else if (option == "--ptx")
    command.ptx.push_back(folder_of(option, value));
  else if (option == "--json")
    command.json = value;
  else if (option == "--kernel")
    command.kernels.push_back(value);
  else if (option == "--skip-kernel")
    command.skipped_kernels.push_back(value);
  else if (option == "--skip")
    command.skip = number_of<std::uint64_t>(option, value, 0, most);
  else if (option == "--count")
    command.count = number_of<std::uint64_t>(option, value, 0, most);
  else if (option == "--seeds")
    command.seeds = number_of<std::uint64_t>(option, value, 1, 1000000);
  else
    command.modes.push_back(mode_of(value));
}

// "--seeds 3", "--seeds=3" and "--strict", one after the other.
void read_options(ProgramCommand& command, std::span<const std::string> words) {
  std::vector<std::string_view> known(of_both.begin(), of_both.end());
  if (command.judge) {
    known.insert(known.end(), of_check.begin(), of_check.end());
    known.emplace_back("--strict");
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string option = words[i].substr(0, equals);
    if (std::ranges::find(known, option) == known.end())
      refuse(fmt::format("there is no option '{}' for a program; there are {} (docs/programs.md)", option,
                         fmt::join(known, ", ")));
    if (option == "--strict")
      command.strict = true;
    else if (equals != std::string::npos)
      set(command, option, words[i].substr(equals + 1));
    else if (++i < words.size())
      set(command, option, words[i]);
    else
      refuse(option + " needs a value");
  }
}

}  // namespace

std::optional<ProgramCommand> program_command(const std::vector<std::string>& words) {
  if (words.empty() || (words[0] != "run" && words[0] != "check")) return std::nullopt;
  std::size_t end = 1;  // of the options
  while (end < words.size() && words[end] != "--" && words[end].starts_with("-"))
    end += takes_value(words[end]) ? 2 : 1;
  if (end >= words.size()) return std::nullopt;
  const bool dashes = words[end] == "--";
  if (!dashes && !is_program(words[end])) return std::nullopt;
  ProgramCommand command;
  command.judge = words[0] == "check";
  command.words.assign(words.begin() + static_cast<std::ptrdiff_t>(dashes ? end + 1 : end), words.end());
  if (command.words.empty()) refuse("run what? After -- comes a program");
  read_options(command, std::span(words).subspan(1, end - 1));
  return command;
}

}  // namespace wm::cli
