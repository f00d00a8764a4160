// warpmill calibrate gemm: the ranking's constants, and the trees behind them, fitted to what this chip measures.
#include <fmt/format.h>

#include "case/files.hpp"
#include "commands/commands.hpp"
#include "commands/plans_file.hpp"
#include "commands/shapes.hpp"
#include "common/files.hpp"
#include "gemm/gemm_bench.hpp"
#include "gemm/gemm_tree_fit.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

// What earlier measurements hold of the type, all of one chip.
bench::MeasuredPlans read(const CalibrateGemmCommand& command, DType operands) {
  bench::MeasuredPlans all{"", 0, operands, command.promote, {}};
  bool others = false;  // of the type, but with promoted sums where these are not asked for, or without
  for (const auto& file : command.from)
    for (const bench::MeasuredPlans& table : bench::measured_from_json(read_text(file), file.string())) {
      if (table.operands != operands) continue;
      others |= table.promote != command.promote;
      if (table.promote != command.promote) continue;
      if (!all.device.empty() && (table.device != all.device || table.multiprocessors != all.multiprocessors))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} was measured on {}, not on {}", file.string(), table.device, all.device));
      all.device = table.device, all.multiprocessors = table.multiprocessors;
      all.pairs.insert(all.pairs.end(), table.pairs.begin(), table.pairs.end());
    }
  if (all.pairs.empty())
    throw Error(ErrorCode::not_found,
                fmt::format("the files hold no products of {}{} with wgmma and operands by the copy engine{}",
                            name_of(operands), command.promote ? " with promoted sums" : "",
                            !others           ? ""
                            : command.promote ? ", but some without promotion: leave --promote out"
                                              : ", but some with promoted sums: --promote"));
  return all;
}

bench::MeasuredPlans measured(const CalibrateGemmCommand& command, DType operands) {
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  if (plan::instruction_of(device.info().arch) != TensorInstruction::wgmma)
    throw Error(ErrorCode::unsupported,
                fmt::format("the ranking has constants to fit for Hopper alone; this is {}", device.info().name));
  bench::GemmOptions options;
  options.shapes = bench::random_shapes(command.random, command.seed, false, operands);
  options.rounds = command.rounds, options.plans = command.plans, options.random_plans = command.random_plans;
  options.untuned = true;
  options.promote = command.promote;
  options.early = false;  // what is fitted serves behind any kernel
  bench::GemmTable table;
  Progress progress;
  std::size_t begun = 0;
  options.begin = [&](const bench::Shape& shape) {
    progress.tell(text_of(shape) + "; shapes", begun++, options.shapes.size());
  };
  bench::measure_gemm(device, options, table);
  bench::MeasuredPlans all{table.device, table.multiprocessors, operands, command.promote, {}};
  for (const bench::GemmRow& row : table.rows)
    if (row.error < 1) all.pairs.push_back({{row.shape.m, row.shape.n, row.shape.k}, row.plan, row.ours_us});
  return all;
}

std::string words_of(const char* what, const bench::ModelQuality& quality) {
  return fmt::format(
      "  {:<34} regret {:.1f}% in the mean, {:.0f}% at the worst; estimates off by {:+.1f}%, spread {:.1f}%\n", what,
      quality.mean_regret * 100, quality.worst_regret * 100, quality.bias * 100, quality.spread * 100);
}

}  // namespace

int calibrate_gemm(const CalibrateGemmCommand& command) {
  const DType operands = dtype_from_name(command.dtype);
  if (command.promote && operands != DType::e4m3 && operands != DType::e5m2)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("promote is for e4m3 and e5m2: --dtype e4m3, not {}", command.dtype));
  if (command.promote && command.trees == 0)
    throw Error(ErrorCode::invalid_argument, "of promoted sums trees are all that is fitted: --trees 1 or more");
  PlansFile file(command.out);
  const bench::MeasuredPlans all = command.from.empty() ? measured(command, operands) : read(command, operands);
  const int bits = static_cast<int>(size_of(operands)) * 8;
  DeviceInfo chip = Device::open("virtual:sm_90a").info();
  chip.multiprocessors = all.multiprocessors;
  const plan::ChipRates rates = plan::rates_of(chip, all.device);
  const plan::TunedModel* const own = file.table.find(plan::TunedModelKey{all.device, bits});
  const plan::GemmModel before = own ? own->model : plan::GemmModels::of(rates.gemm, bits);

  Progress progress;
  const auto fit = [&](const char* what, const std::vector<bench::MeasuredPlan>& pairs) {
    const auto tell = [&](const char* unit, int of) {
      return [&progress, said = fmt::format("{}; {}", what, unit), of](int done) {
        progress.tell(said, static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(of));
      };
    };
    const bench::FitOptions walk{.steps = command.steps, .step = tell("steps", command.steps)};
    // The constants are those of products without promotion; trees of promoted sums go with what they grew behind.
    plan::GemmModel model = command.onto || command.promote ? before : bench::fitted(before, pairs, rates, walk);
    if (!command.promote || !command.onto) model.promoted = nullptr;
    if (command.trees > 0) {
      const bench::TreeOptions options{.trees = command.trees, .step = tell("trees", command.trees)};
      plan::GemmModel::learned(model, command.promote) =
          std::make_shared<plan::GemmTrees>(bench::fitted_trees(model, pairs, rates, options));
    }
    return model;
  };
  const bench::Parts parts = bench::kept_apart(all.pairs);
  const plan::GemmModel judged = fit("fitting three of four shapes", parts.fitted);
  const plan::GemmModel after = fit("fitting all", all.pairs);

  say(fmt::format("{}, operands of {} bits{}: {} pairs of shape and plan\n", all.device, bits,
                  command.promote ? ", promoted sums" : "", all.pairs.size()));
  say(words_of("before", bench::quality_of(before, all.pairs, rates)));
  say(words_of("fitted to all", bench::quality_of(after, all.pairs, rates)));
  if (!parts.kept.empty()) {
    say(words_of("before, every fourth shape", bench::quality_of(before, parts.kept, rates)));
    say(words_of("fitted to the others, on those", bench::quality_of(judged, parts.kept, rates)));
  }
  file.table.set(plan::TunedModel{{all.device, bits}, after});
  file.write();
  plan::TunedPlans entry;
  entry.set(plan::TunedModel{{all.device, bits}, after});
  say(entry.text());
  if (before.promoted && !after.promoted)
    complain(
        "trees of promoted sums had grown behind what has changed, and are left out: measure products with --promote, "
        "and calibrate with it\n");
  complain(fmt::format("the constants are in {}\n", file.path().string()));
  return success;
}

}  // namespace wm::cli
