// Reading the compiler's log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "warpmill/jit.hpp"

namespace wm::jit {

struct CompilerLog {
  std::vector<Resources> resources;
  std::vector<std::string> lost_speed;
  std::string messages;  // what is left without the report of `--ptxas-options=-v`: warnings and errors
};

CompilerLog read_log(std::string_view log);

}  // namespace wm::jit
