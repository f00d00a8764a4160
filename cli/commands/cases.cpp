// Case files as the commands read and run them.
#include <fmt/format.h>

#include "commands.hpp"
#include "progress.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {

cases::Case read_case(const std::filesystem::path& file, const std::vector<std::string>& defines) {
  cases::Case description = cases::read_case(file);
  if (!defines.empty() && description.module.extension() == ".ptx")
    throw Error(ErrorCode::invalid_argument, fmt::format("--define {}: {} is PTX, which has no macros", defines.front(),
                                                         description.module.string()));
  for (const std::string& define : defines) {
    const auto equals = define.find('=');
    description.defines[define.substr(0, equals)] = equals == define.npos ? "1" : define.substr(equals + 1);
  }
  return description;
}

cases::RunResult run_in_view(const cases::Case& description, cases::RunRequest request, const std::string& what) {
  // A GPU's kernel cannot be stopped half way: there a signal ends the program, as ever.
  if (cases::open_device(description, request.device).info().kind == DeviceKind::cuda)
    return cases::run_case(description, request);
  Progress progress;
  progress.begin(what);
  request.tell = progress.teller();
  request.virtual_options.progress = progress.of_runs();
  return cases::run_case(description, request);
}

}  // namespace wm::cli
