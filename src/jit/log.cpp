// The log of NVRTC with --ptxas-options=-v:
//   ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at
//   entry. ptxas info    : Compiling entry function 'k' for 'sm_90a' ptxas info    : Function properties for k ptxas .
//   16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads ptxas info    : Used 32 registers, used 1 barriers,
//   16 bytes cumulative stack size, 128 bytes smem
// A function that was not inlined has properties of its own, after those of the kernel that calls it.
#include "jit/log.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace wm::jit {
namespace {

constexpr std::string_view info = "ptxas info    : ";

// The number that stands right before `words` in `line`; 0 where they are not there.
std::size_t number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == line.npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::size_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

// What ptxas's own words leave unsaid: what it costs and what to look at.
std::string_view consequence(std::string_view line) {
  if (line.find("setmaxnreg") != line.npos)
    return " Registers do not move between the roles: give the kernel __launch_bounds__(threads, 1) and each role its "
           "own branch.";
  if (line.find("wgmma") != line.npos)
    return " Every wgmma waits for the one before it: keep its registers untouched between the first wgmma of a stage "
           "and its wait.";
  return "";
}

class Reader {
 public:
  void line(std::string_view line) {
    if (line.find("(C75") != line.npos || line.find("Potential Performance Loss") != line.npos) {
      if (line.starts_with(info)) line.remove_prefix(info.size());
      lost_speed(fmt::format("{}{}", line, consequence(line)));
    } else if (line.starts_with("ptxas         .")) {
      function_frame(line);
    } else if (line.starts_with(info)) {
      information(line.substr(info.size()));
    } else {
      result.messages.append(line).push_back('\n');
    }
  }

  CompilerLog result;

 private:
  void information(std::string_view line) {
    constexpr std::string_view compiling = "Compiling entry function '", properties = "Function properties for ";
    if (line.starts_with(compiling)) {
      line.remove_prefix(compiling.size());
      Resources& entry = result.resources.emplace_back();
      entry.entry = line.substr(0, line.find('\''));
    } else if (line.starts_with(properties)) {
      function_ = line.substr(properties.size());
    } else if (line.starts_with("Used ") && !result.resources.empty()) {
      Resources& entry = result.resources.back();
      entry.registers = static_cast<int>(number_before(line, " registers"));
      entry.barriers = static_cast<int>(number_before(line, " barriers"));
      entry.static_shared_bytes = number_before(line, " bytes smem");
      // With what the functions called need.
      entry.stack_bytes = std::max(entry.stack_bytes, number_before(line, " bytes cumulative stack size"));
    }
  }

  void function_frame(std::string_view line) {
    const std::size_t stack = number_before(line, " bytes stack frame");
    const std::size_t stores = number_before(line, " bytes spill stores");
    const std::size_t loads = number_before(line, " bytes spill loads");
    if (!result.resources.empty() && result.resources.back().entry == function_) {
      Resources& entry = result.resources.back();
      entry.stack_bytes = stack;
      entry.spill_store_bytes = stores;
      entry.spill_load_bytes = loads;
    }
    if (stores || loads)
      lost_speed(fmt::format("'{}' spills registers: a thread writes {} and reads {} bytes of local memory for them.",
                             function_, stores, loads));
    if (stack)
      lost_speed(fmt::format("'{}' has a stack frame of {} bytes a thread in local memory{}.", function_, stack,
                             stores || loads ? "" : ": an array is indexed by a value known only at run time"));
  }

  void lost_speed(std::string words) {
    if (std::find(result.lost_speed.begin(), result.lost_speed.end(), words) == result.lost_speed.end())
      result.lost_speed.push_back(std::move(words));
  }

  std::string function_;
};

}  // namespace

CompilerLog read_log(std::string_view log) {
  Reader reader;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    // The front end indents the lines it quotes; what ptxas appends may follow a stray blank.
    if (line.starts_with(" ptxas")) line.remove_prefix(1);
    reader.line(line);
  }
  std::string& messages = reader.result.messages;
  messages.erase(messages.find_last_not_of(" \n") + 1);
  return std::move(reader.result);
}

}  // namespace wm::jit
