// warpmill plan attention: how plans are ranked for an attention, on a chip that need not be here.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/attention_words.hpp"
#include "commands/chips.hpp"
#include "commands/commands.hpp"
#include "commands/shapes.hpp"
#include "output.hpp"
#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {

int plan_attention(const PlanAttentionCommand& command) {
  const bench::AttentionCase attention = case_of(command.attention);
  DeviceInfo chip = chip_of(command.chip);
  if (command.multiprocessors > 0) chip.multiprocessors = command.multiprocessors;
  const plan::ChipRates rates = plan::rates_of(chip);
  const AttentionKind kind = kind_of(attention);
  const plan::AttentionShape shape = shape_of(attention);
  const auto taken =
      rates.instruction == TensorInstruction::wgmma ? plan::choose(kind, shape, rates, command.chip) : std::nullopt;
  if (!taken)
    throw Error(ErrorCode::unsupported, fmt::format("no plan serves {} on {}", text_of(attention), command.chip));
  auto rows = plan::rank(kind, shape, rates);
  std::erase_if(rows, [&](const plan::AttentionEstimate& e) { return e.plan == taken->plan; });
  rows.insert(rows.begin(), plan::estimate(taken->plan, shape, rates));
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(command.show)));
  if (command.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& e : rows)
      list.push_back({{"plan", plan::text_of(e.plan)},
                      {"taken", &e == rows.data()},
                      {"tuned", taken->tuned && &e == rows.data()},
                      {"shared_bytes", e.plan.shared_bytes()},
                      {"registers", e.plan.registers()},
                      {"tiles", e.tiles},
                      {"steps", e.steps},
                      {"step_ns", e.step_seconds * 1e9},
                      {"tile_us", e.tile_seconds * 1e6},
                      {"us", e.seconds * 1e6}});
    say_json(list);
    return success;
  }
  say(fmt::format("{}, on {} multiprocessors of {}\n", text_of(attention), rates.multiprocessors, command.chip));
  say(fmt::format("at best {:.1f} us of tensor cores\n\n", attention.flops() / rates.tensor_flops * 1e6));
  say(fmt::format("{:<20} {:>7} {:>9} {:>7} {:>10} {:>8} {:>8} {:>12}\n", "plan", "shared", "registers", "tiles",
                  "steps/tile", "ns/step", "us/tile", "estimate"));
  for (const auto& e : rows)
    say(fmt::format("{:<20} {:>7} {:>9} {:>7} {:>10.1f} {:>8.0f} {:>8.1f} {:>9.1f} us{}\n", plan::text_of(e.plan),
                    e.plan.shared_bytes(), e.plan.registers(), e.tiles, e.steps, e.step_seconds * 1e9,
                    e.tile_seconds * 1e6, e.seconds * 1e6,
                    &e == rows.data() ? fmt::format("  taken: {}", origin_of(taken->tuned)) : ""));
  say("\nus/tile: besides its steps. docs/attention.md has the model.\n");
  return success;
}

}  // namespace wm::cli
