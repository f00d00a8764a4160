// warpmill plan gemm, warpmill plan attention: how plans are ranked, on a chip that need not be here.
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
#include "plan/attention_tensor_memory.hpp"
#include "plan/gemm_choice.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

// `taken` first, then the others of the ranking; `most` in all.
std::vector<plan::GemmEstimate> listed(const plan::GemmEstimate& taken, std::vector<plan::GemmEstimate> ranking,
                                       std::size_t most) {
  std::erase_if(ranking, [&](const plan::GemmEstimate& other) {  // one that names its band may equal one that does not
    GemmPlan plan = other.plan;
    plan.band = taken.plan.band;
    return plan == taken.plan && other.schedule.work.tiles.band == taken.schedule.work.tiles.band;
  });
  ranking.insert(ranking.begin(), taken);
  ranking.resize(std::min(ranking.size(), most));
  return ranking;
}

template <class Command>
plan::ChipRates rates_of(const Command& command) {
  DeviceInfo chip = chip_of(command.chip);
  if (command.multiprocessors > 0) chip.multiprocessors = command.multiprocessors;
  return plan::rates_of(chip, command.chip);
}

std::string_view device_like(TensorInstruction instruction) {
  switch (instruction) {
    case TensorInstruction::wgmma: return "virtual:sm_90a";
    case TensorInstruction::tcgen05: return "virtual:sm_100a";
    case TensorInstruction::mma: return "virtual:sm_80";
    case TensorInstruction::mma_tma: return "virtual:sm_120a";
  }
  return "";
}

// Where the sums of the plan that is taken lie, and what its estimate is worth.
std::string tensor_memory_words(const GemmPlan& plan) {
  return fmt::format(
      "\ntensor memory: sums of a tile in columns 0 to {}, of the next in {} to {}, of {} allocated\n"
      "binds: what is busy all the time, of products (tensor cores), copies (L2 to shared memory), stores (of the "
      "sums) "
      "and memory.\nA prediction from a data sheet's cycles (docs/blackwell.md): no such chip has run it.\n",
      plan.tile.n - 1, plan.tile.n, 2 * plan.tile.n - 1, plan.tensor_columns());
}

// What a step of an attention in tensor memory takes, in clocks, and what that comes to.
nlohmann::json prediction_of(const plan::AttentionEstimate& e, const bench::AttentionCase& attention,
                             const plan::ChipRates& rates) {
  const plan::AttentionClocks clocks = plan::clocks_of(e.plan);
  const double flops = attention.flops() / e.seconds;
  return {{"prediction", true},
          {"binds", clocks.binds()},
          {"tflops", flops * 1e-12},
          {"share_of_peak", flops / plan::tensor_flops(e.plan.kind, rates)},
          {"clocks",
           {{"products", clocks.products},
            {"exponentials", clocks.exponentials},
            {"instructions", clocks.instructions},
            {"shared", clocks.shared},
            {"copies", clocks.copies},
            {"chain", clocks.chain},
            {"correction", clocks.correction}}}};
}
std::string tensor_memory_words(const plan::AttentionEstimate& e, const bench::AttentionCase& attention,
                                const plan::ChipRates& rates) {
  const AttentionPlan& p = e.plan;
  const plan::AttentionClocks c = plan::clocks_of(p);
  const auto columns = [](int first, int count) { return fmt::format("{} to {}", first, first + count - 1); };
  std::string words = fmt::format(
      "\ntensor memory: scores of the two groups in columns {} and {}, their weights over them, {} in a cell;\n"
      "               sums of values in columns {} and {}, of {} allocated\n",
      columns(p.scores_column(0), p.keys), columns(p.scores_column(1), p.keys), p.kind.narrow() ? "four" : "two",
      columns(p.sums_column(0), p.value_columns()), columns(p.sums_column(1), p.value_columns()), p.tensor_columns);
  words += fmt::format(
      "shared memory: Q {} x {}, K {} x {}, V {} x {}, output {} x {}, barriers and statistics {}: {} bytes\n",
      p.groups, p.q_bytes(), p.stages, p.k_bytes(), p.stages, p.v_bytes(), p.groups * p.strips, p.strip_bytes(),
      p.barrier_bytes(), p.shared_bytes());
  if (p.pair) {
    AttentionPlan alone = p;
    alone.pair = false;
    const plan::AttentionClocks of_one = plan::clocks_of(alone);
    words += fmt::format(
        "a pair:        of a step each block has {} of {} keys and {} of {} columns of values; the first one's "
        "multiply "
        "warp asks for both,\n"
        "               256 rows a product. A block alone would read {:.0f} clocks of shared memory, not {:.0f}, and "
        "copy "
        "for {:.0f}, not {:.0f}\n",
        p.block_keys(), p.keys, p.block_values(), p.value_columns(), of_one.shared, c.shared, of_one.copies, c.copies);
  }
  words += fmt::format(
      "registers:     softmax {} for each of 256 threads, correction {} of 128, multiply, epilogue, load and spare {} "
      "of "
      "128\n",
      p.softmax_registers, p.correction_registers, p.service_registers);
  words += fmt::format(
      "a step, in clocks of a multiprocessor, both groups: products {:.0f}, exponentials {:.0f}, instructions {:.0f}, "
      "shared memory {:.0f},\n"
      "               copies {:.0f}; one group's chain {:.0f}. Binds: {}. Correction {:.0f}, where every row's "
      "base "
      "moves\n",
      c.products, c.exponentials, c.instructions, c.shared, c.copies, c.chain, c.binds(), c.correction);
  const double flops = attention.flops() / e.seconds, peak = plan::tensor_flops(p.kind, rates);
  words += fmt::format(
      "prediction:    {:.0f} TFLOP/s, {:.0f} % of {:.0f}. From a data sheet's cycles (docs/blackwell.md): no such chip "
      "has run it\n",
      flops * 1e-12, 100 * flops / peak, peak * 1e-12);
  return words;
}

// Where the estimates' constants come from.
std::string_view constants_words(const std::string& chip, TensorInstruction instruction, const GemmKind& kind) {
  if (instruction != TensorInstruction::wgmma) return "from a data sheet";
  const auto measured = [&](int bits) { return plan::known_plans().find(plan::TunedModelKey{chip, bits}) != nullptr; };
  const int bits = kind.operand_bytes() * 8;
  return measured(bits)               ? "measured on this chip"
         : bits == 32 && measured(16) ? "measured on this chip, with operands of 16 bits"
                                      : "an H200's; 'warpmill calibrate gemm' measures a chip's own";
}

// What every kind of plan has, with `more` that only this one has.
template <class Estimate>
nlohmann::json columns_of(const Estimate& e, bool taken, bool tuned, nlohmann::json more) {
  more.update({{"plan", plan::text_of(e.plan)},
               {"taken", taken},
               {"tuned", taken && tuned},
               {"shared_bytes", e.plan.shared_bytes()},
               {"registers", e.plan.registers()},
               {"step_ns", e.step_seconds * 1e9},
               {"tile_us", e.tile_seconds * 1e6},
               {"us", e.seconds * 1e6}});
  return more;
}

}  // namespace

int plan_gemm(const PlanGemmCommand& command) {
  bench::Shape shape = shape_from(command.shape, command.dtype, command.out_dtype);
  shape.batch = command.batch;
  const plan::ChipRates rates = rates_of(command);
  const bool tensor_memory = facts_of(rates.instruction).tensor_memory;
  const Device like = Device::open(std::string(device_like(rates.instruction)));
  const GemmKind kind = kind_of(
      like, shape,
      {.a_major = major_from(command.a_major), .b_major = major_from(command.b_major), .promote = command.promote});
  if (shape.empty()) {
    if (command.json)
      say_json(nlohmann::json::array());
    else
      say(fmt::format("{}: {}\n", text_of(shape), nothing_to_do));
    return success;
  }
  const plan::GemmShape sizes{shape.m, shape.n, shape.k, shape.batch};
  const auto taken = plan::choose(kind, sizes, rates, command.chip);
  if (!taken)
    throw Error(ErrorCode::unsupported,
                fmt::format("no plan serves {}: it is more than {} tiles", text_of(shape), plan::most_tiles));
  const auto early = plan::early_plan(*taken, kind, sizes, rates);
  const auto rows = listed(plan::estimate(taken->plan, sizes, rates), plan::rank(kind, sizes, rates),
                           static_cast<std::size_t>(command.show));
  if (command.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& e : rows) {
      nlohmann::json more{{"tiles", e.schedule.tiles},
                          {"waves", e.waves},
                          {"band", e.schedule.work.tiles.band},
                          {"share_us", e.share_seconds * 1e6},
                          {"memory_us", e.memory_seconds * 1e6}};
      if (tensor_memory)
        more.update({{"binds", e.binds}, {"tensor_columns", e.plan.tensor_columns()}, {"prediction", true}});
      if (&e == rows.data() && taken->measured_us > 0) more["measured_us"] = taken->measured_us;
      if (&e == rows.data() && early) more["early_plan"] = plan::text_of(*early);
      list.push_back(columns_of(e, &e == rows.data(), taken->tuned, std::move(more)));
    }
    say_json(list);
    return success;
  }
  const bench::Floor floor = bench::floor_of(shape, rates);
  say(fmt::format("{}{}, on {} multiprocessors of {}, operands by {}\n", text_of(shape),
                  kind.promote ? " with promoted sums" : "", rates.multiprocessors, command.chip,
                  kind.by_tma() ? "the copy engine" : "threads"));
  say(fmt::format("at best {:.1f} us: {:.1f} us of device memory, {:.1f} us of tensor cores\n\n", floor.seconds() * 1e6,
                  floor.memory * 1e6, floor.tensor * 1e6));
  say(fmt::format("{:<36} {:>7} {:>9} {:>6} {:>6} {:>5} {:>7} {:>7} {:>8} {:>9} {:>11}\n", "plan", "shared",
                  "registers", "tiles", "waves", "band", "ns/step", "us/tile", "us/share", "us/memory", "estimate"));
  const auto after = [&](const plan::GemmEstimate& e) {
    return fmt::format("{}{}", tensor_memory ? fmt::format("  {:<8}", e.binds) : "",
                       &e == rows.data() ? fmt::format("  taken: {}", origin_of(taken->tuned)) : "") +
           (&e == rows.data() && taken->measured_us > 0 ? fmt::format(", {:.1f} us", taken->measured_us) : "");
  };
  for (const auto& e : rows)
    say(fmt::format("{:<36} {:>7} {:>9} {:>6} {:>6.2f} {:>5} {:>7.0f} {:>7.1f} {:>8.1f} {:>9.1f} {:>8.1f} us{}\n",
                    plan::text_of(e.plan), e.plan.shared_bytes(), e.plan.registers(), e.schedule.tiles, e.waves,
                    e.schedule.work.tiles.band, e.step_seconds * 1e9, e.tile_seconds * 1e6, e.share_seconds * 1e6,
                    e.memory_seconds * 1e6, e.seconds * 1e6, after(e)));
  if (early)
    say(fmt::format("\nbehind a kernel of ours in a graph, with operands that come early: {}\n",
                    plan::text_of(*early)));
  if (tensor_memory) say(tensor_memory_words(taken->plan));
  say(fmt::format("\nconstants: {}\n", constants_words(command.chip, rates.instruction, kind)));
  say("tiles: of a whole cluster. docs/gemm.md has the model: what is added up, and what hides behind what.\n");
  return success;
}

int plan_attention(const PlanAttentionCommand& command) {
  const bench::AttentionCase attention = case_of(command.attention);
  const plan::ChipRates rates = rates_of(command);
  const AttentionKind kind = kind_of(attention);
  const plan::AttentionShape shape = shape_of(attention);
  const bool tensor_memory = rates.instruction == TensorInstruction::tcgen05;
  const auto taken = rates.instruction == TensorInstruction::wgmma || tensor_memory
                         ? plan::choose(kind, shape, rates, command.chip)
                         : std::nullopt;
  if (!taken)
    throw Error(ErrorCode::unsupported,
                fmt::format("no plan serves {} on {}{}", text_of(attention), command.chip,
                            tensor_memory ? fmt::format(": {}", plan::why_none(kind, rates.instruction)) : ""));
  auto rows = plan::rank(kind, shape, rates);
  std::erase_if(rows, [&](const plan::AttentionEstimate& e) { return e.plan == taken->plan; });
  rows.insert(rows.begin(), plan::estimate(taken->plan, shape, rates));
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(command.show)));
  if (command.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& e : rows) {
      nlohmann::json more{{"tiles", e.tiles}, {"steps", e.steps}};
      if (tensor_memory) more.update(prediction_of(e, attention, rates));
      list.push_back(columns_of(e, &e == rows.data(), taken->tuned, std::move(more)));
    }
    say_json(list);
    return success;
  }
  say(fmt::format("{}, on {} multiprocessors of {}\n", text_of(attention), rates.multiprocessors, command.chip));
  say(fmt::format("at best {:.1f} us of tensor cores\n\n", attention.flops() / plan::tensor_flops(kind, rates) * 1e6));
  say(fmt::format("{:<38} {:>7} {:>9} {:>7} {:>10} {:>8} {:>8} {:>12}\n", "plan", "shared", "registers", "tiles",
                  "steps/tile", "ns/step", "us/tile", "estimate"));
  for (const auto& e : rows)
    say(fmt::format("{:<38} {:>7} {:>9} {:>7} {:>10.1f} {:>8.0f} {:>8.1f} {:>9.1f} us{}\n", plan::text_of(e.plan),
                    e.plan.shared_bytes(), e.plan.registers(), e.tiles, e.steps, e.step_seconds * 1e9,
                    e.tile_seconds * 1e6, e.seconds * 1e6,
                    &e == rows.data() ? fmt::format("  taken: {}", origin_of(taken->tuned)) : ""));
  if (tensor_memory) {
    say(tensor_memory_words(rows.front(), attention, rates));
    return success;
  }
  say("\nus/tile: besides its steps. docs/attention.md has the model.\n");
  return success;
}

}  // namespace wm::cli
