// What is known of chips.
#include "commands/chips.hpp"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/gemm_plan_text.hpp"
#include "plan/tuned_plans.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {

DeviceInfo chip_of(const std::string& name) {
  // Nothing is measured on these: the data sheet's.
  if (name == "B200") return Device::open("virtual:sm_100a").info();
  if (name == "RTX 5090") return Device::open("virtual:sm_120a").info();
  std::set<std::string> known{"B200", "RTX 5090"};
  for (const DeviceInfo& info : Device::list()) {
    if (info.name == name) return info;
    known.insert(info.name);
  }
  for (const plan::TunedPlan& entry : plan::known_plans().entries()) {
    const bool mma = plan::plan_from_text(entry.plan, entry.key.kind()).instruction == TensorInstruction::mma;
    if (entry.key.chip == name) return Device::open(mma ? "virtual:sm_80" : "virtual:sm_90a").info();
    known.insert(entry.key.chip);
  }
  for (const plan::TunedAttention& entry : plan::known_plans().attentions()) {
    if (entry.key.chip == name) return Device::open("virtual:sm_90a").info();
    known.insert(entry.key.chip);
  }
  for (const plan::TunedModel& entry : plan::known_plans().models()) {
    if (entry.key.chip == name) return Device::open("virtual:sm_90a").info();
    known.insert(entry.key.chip);
  }
  throw Error(ErrorCode::not_found,
              fmt::format("nothing is known of a chip '{}'; there are '{}'", name, fmt::join(known, "', '")));
}

}  // namespace wm::cli
