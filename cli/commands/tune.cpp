// warpmill tune gemm, warpmill tune attention.
#include <fmt/format.h>

#include "attention/attention_tune.hpp"
#include "commands/attention_words.hpp"
#include "commands/commands.hpp"
#include "commands/shapes.hpp"
#include "commands/tuning.hpp"
#include "gemm/gemm_tune.hpp"
#include "plan/attention_plan_text.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

Device opened(const std::string& device) { return device.empty() ? Device::best() : Device::open(device); }

int work(const TuneGemmCommand& command) {
  bench::TuneOptions options = told_options();
  options.candidates = command.candidates;
  options.rounds = command.rounds;
  options.by_hand = command.by_hand;
  options.without = command.without;
  plan::TunedPlans found;
  if (const auto entry =
          bench::tune_gemm(opened(command.device), shape_from(command.shapes.at(0), command.dtypes.at(0)), options))
    found.set(*entry);
  return told(found);
}

int work(const TuneAttentionCommand& command, AttentionOptions attention) {
  bench::TuneOptions options = told_options();
  options.rounds = command.rounds;
  options.without = command.without;
  attention.shape = command.shapes.at(0);
  plan::TunedPlans found;
  if (const auto entry = bench::tune_attention(opened(command.device), case_of(attention), options)) found.set(*entry);
  return told(found);
}

}  // namespace

int tune_gemm(const TuneGemmCommand& command) {
  if (command.worker) return work(command);
  check_plans(command.by_hand);
  check_plans(command.without);
  std::vector<Tuning> all;
  for (const std::string& dtype : command.dtypes) {
    const std::vector<bench::Shape> shapes = shapes_to_measure(command.shapes, dtype);
    check_shapes(shapes);
    for (const bench::Shape& shape : shapes) {
      Tuning& tuning = all.emplace_back(Tuning{text_of(shape), {}});
      tuning.arguments = {"tune",         "gemm",
                          "--worker",     fmt::format("{}x{}x{}", shape.m, shape.n, shape.k),
                          "--dtype",      std::string(name_of(shape.operands)),
                          "--candidates", std::to_string(command.candidates),
                          "--rounds",     std::to_string(command.rounds)};
      for (const std::string& plan : command.by_hand) tuning.arguments.insert(tuning.arguments.end(), {"--plan", plan});
    }
  }
  return tune_all({command.device, command.without, command.limit, command.out}, all);
}

int tune_attention(const TuneAttentionCommand& command) {
  if (command.worker) return work(command, command.attention);
  for (const std::string& plan : command.without) plan::attention_plan_from_text(plan);
  if (command.shapes.empty())
    throw Error(ErrorCode::invalid_argument, "give the attentions to tune, for example 4x16x4096x128");
  std::vector<Tuning> all;
  for (const std::string& shape : command.shapes) {
    AttentionOptions attention = command.attention;
    attention.shape = shape;
    Tuning& tuning = all.emplace_back(Tuning{text_of(case_of(attention)), {"tune", "attention", "--worker", shape}});
    const std::vector<std::string> options = words_of(attention);
    tuning.arguments.insert(tuning.arguments.end(), options.begin(), options.end());
    tuning.arguments.insert(tuning.arguments.end(), {"--rounds", std::to_string(command.rounds)});
  }
  return tune_all({command.device, command.without, command.limit, command.out}, all);
}

}  // namespace wm::cli
