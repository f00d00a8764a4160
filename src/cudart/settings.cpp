// Settings as one line of JSON.
#include "cudart/settings.hpp"

#include <nlohmann/json.hpp>

#include "warpmill/error.hpp"

namespace wm::cudart {

using nlohmann::json;

std::string to_text(const Settings& settings) {
  std::vector<int> modes;
  for (const vgpu::Mode mode : settings.modes) modes.push_back(static_cast<int>(mode));
  return json{{"arch", settings.arch},
              {"multiprocessors", settings.multiprocessors},
              {"devices", settings.devices},
              {"judge", settings.judge},
              {"kernels", settings.kernels},
              {"skipped_kernels", settings.skipped_kernels},
              {"skip", settings.skip},
              {"count", settings.count},
              {"seeds", settings.seeds},
              {"modes", modes},
              {"max_instructions", settings.max_instructions},
              {"strict", settings.strict},
              {"kept", settings.kept},
              {"named", settings.named},
              {"report", settings.report}}
      .dump(-1, ' ', true, json::error_handler_t::replace);
}

Settings settings_from_text(const std::string& text) {
  Settings settings;
  if (text.empty()) return settings;
  try {
    const json object = json::parse(text);
    settings.arch = object.at("arch");
    settings.multiprocessors = object.at("multiprocessors");
    settings.devices = object.at("devices");
    settings.judge = object.at("judge");
    settings.kernels = object.at("kernels");
    settings.skipped_kernels = object.at("skipped_kernels");
    settings.skip = object.at("skip");
    settings.count = object.at("count");
    settings.seeds = object.at("seeds");
    for (const int mode : object.at("modes")) settings.modes.push_back(static_cast<vgpu::Mode>(mode));
    settings.max_instructions = object.at("max_instructions");
    settings.strict = object.at("strict");
    settings.kept = object.at("kept");
    settings.named = object.at("named");
    settings.report = object.at("report");
  } catch (const json::exception& error) {
    throw Error(ErrorCode::invalid_argument,
                std::string(settings_variable) + " is not what `warpmill run` writes there: " + error.what());
  }
  return settings;
}

}  // namespace wm::cudart
