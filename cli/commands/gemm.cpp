// warpmill gemm, plan gemm and bench gemm.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "case/files.hpp"
#include "commands/commands.hpp"
#include "commands/shapes.hpp"
#include "gemm/gemm_bench.hpp"
#include "gemm/random_product.hpp"
#include "ops/gemm_problem.hpp"
#include "plan/gemm_choice.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

constexpr std::string_view nothing_to_do = "nothing to do: D has no elements";

std::string_view origin_of(bool tuned) { return tuned ? "measured before" : "by the model"; }

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

void write_timeline(const Stream& stream, GemmRequest request, const std::filesystem::path& file) {
  Trace trace;
  request.trace = &trace;
  wm::gemm(stream, request);
  const std::string json = trace.to_json();
  cases::write_file(file, std::as_bytes(std::span(json)));
  if (trace.truncated)
    fmt::print(stderr, "{}: the launch made more stamps than fit; its end is missing\n", file.string());
}

}  // namespace

int gemm(const GemmCommand& command) {
  bench::Shape shape = shape_from(command.shape, command.dtype, command.out_dtype);
  shape.batch = command.batch;
  const bench::Variant variant{
      .a_major = major_from(command.a_major),
      .b_major = major_from(command.b_major),
      .epilogue = epilogue_from(command.epilogue, command.activation, !command.expression.empty()),
      .expression = command.expression,
      .promote = command.promote};
  if (!command.plan.empty()) plan::plan_from_text(command.plan);  // refused before any memory is filled
  if (!command.stamps.empty()) cases::check_writable(command.stamps);
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  const Stream stream(device);
  const bench::RandomProduct problem(stream, shape, 1, variant);
  GemmRequest request = problem.request();
  if (!command.plan.empty())
    request.plan = plan::plan_from_text(
        command.plan, ops::understand(stream, request, plan::instruction_of(device.info().arch)).kind);

  const auto first = std::chrono::steady_clock::now();
  const GemmResult result = wm::gemm(stream, request);
  const double first_ms = milliseconds_since(first);
  stream.synchronize();
  const double error = problem.sampled_error();

  const bool ran = result.blocks > 0;
  std::vector<double> device_us, host_us;
  if (ran && device.info().kind == DeviceKind::cuda) {
    for (int i = 0; i < command.repeat; ++i) {
      const Event start(device), end(device);
      stream.record(start);
      wm::gemm(stream, request);
      stream.record(end);
      end.synchronize();
      device_us.push_back(end.since(start) * 1e3);
    }
    // The host's cost, in bursts that stay below the depth of the launch queue.
    constexpr int burst = 100;
    for (int i = 0; i < command.repeat; ++i) {
      const auto start = std::chrono::steady_clock::now();
      for (int call = 0; call < burst; ++call) wm::gemm(stream, request);
      host_us.push_back(milliseconds_since(start) * 1e3 / burst);
      stream.synchronize();
    }
  }

  if (ran && !command.stamps.empty()) write_timeline(stream, request, command.stamps);

  nlohmann::json report{{"shape", {shape.m, shape.n, shape.k}}, {"batch", shape.batch},
                        {"dtype", name_of(shape.operands)},     {"out_dtype", name_of(shape.d)},
                        {"device", device.info().id},           {"blocks", result.blocks}};
  if (ran)
    report.update({{"path", result.path()},
                   {"plan", plan::text_of(result.plan)},
                   {"band", result.band},
                   {"tuned", result.tuned},
                   {"error", error},
                   {"first_call_ms", first_ms}});
  const plan::ChipRates rates = plan::rates_of(device.info());
  if (!device_us.empty()) {
    const double us = middle(device_us);
    report["us"] = us;
    report["tflops"] = shape.flops() / us * 1e-6;
    report["bytes_per_second"] = shape.bytes() / us * 1e6;
    report["ceiling_share"] = bench::floor_of(shape, rates).seconds() / us * 1e6;
    report["call_us"] = middle(host_us);
  }
  if (command.json) {
    fmt::print("{}\n", report.dump(1));
  } else if (!ran) {
    fmt::print("{}, on {}\n  {}\n", text_of(shape), device.info().id, nothing_to_do);
  } else {
    fmt::print("{}, on {}\n", text_of(shape), device.info().id);
    fmt::print("  plan        {}, {} blocks, band {}, {}\n", plan::text_of(result.plan), result.blocks, result.band,
               request.plan ? "by hand" : origin_of(result.tuned));
    fmt::print("  path        {}\n", result.path());
    fmt::print("  check       {} (sampled against float64: {:.2f} of what rounding allows)\n",
               error < 1 ? "right" : "WRONG", error);
    fmt::print("  first call  {:.1f} ms of host time\n", first_ms);
    if (!device_us.empty())
      fmt::print(
          "  time        {:.1f} us, {:.0f} TFLOP/s, {:.2f} TB/s, {:.0f}% of the ceiling ({:.0f} TFLOP/s, {:.2f} TB/s); "
          "{:.2f} us of host time a call\n",
          report["us"].get<double>(), report["tflops"].get<double>(), report["bytes_per_second"].get<double>() * 1e-12,
          report["ceiling_share"].get<double>() * 100, bench::tensor_flops(rates, shape.operands) * 1e-12,
          rates.memory_bytes * 1e-12, report["call_us"].get<double>());
  }
  return error < 1 ? success : wrong_result;
}

int plan_gemm(const PlanGemmCommand& command) {
  bench::Shape shape = shape_from(command.shape, command.dtype, command.out_dtype);
  shape.batch = command.batch;
  const plan::ChipRates rates = plan::hopper_rates(command.multiprocessors);
  const GemmKind kind =
      kind_of(Device::open("virtual"), shape, major_from(command.a_major), major_from(command.b_major));
  if (shape.empty()) {
    if (command.json)
      fmt::print("[]\n");
    else
      fmt::print("{}: {}\n", text_of(shape), nothing_to_do);
    return success;
  }
  const plan::GemmShape sizes{shape.m, shape.n, shape.k, shape.batch};
  const auto taken = plan::choose(kind, sizes, rates, command.chip);
  if (!taken)
    throw Error(ErrorCode::unsupported,
                fmt::format("no plan serves {}: it is more than {} tiles", text_of(shape), plan::most_tiles));
  const auto rows = listed(plan::estimate(taken->plan, sizes, rates), plan::rank(kind, sizes, rates),
                           static_cast<std::size_t>(command.show));
  if (command.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& e : rows)
      list.push_back({{"plan", plan::text_of(e.plan)},
                      {"taken", &e == rows.data()},
                      {"tuned", taken->tuned && &e == rows.data()},
                      {"shared_bytes", e.plan.shared_bytes()},
                      {"registers", e.plan.registers()},
                      {"tiles", e.schedule.tiles},
                      {"waves", e.waves},
                      {"band", e.schedule.work.tiles.band},
                      {"step_ns", e.step_seconds * 1e9},
                      {"tile_us", e.tile_seconds * 1e6},
                      {"share_us", e.share_seconds * 1e6},
                      {"memory_us", e.memory_seconds * 1e6},
                      {"us", e.seconds * 1e6}});
    fmt::print("{}\n", list.dump(1));
    return success;
  }
  const bench::Floor floor = bench::floor_of(shape, rates);
  fmt::print("{}, on {} multiprocessors, operands by {}\n", text_of(shape), rates.multiprocessors,
             kind.by_tma() ? "the copy engine" : "threads");
  fmt::print("at best {:.1f} us: {:.1f} us of device memory, {:.1f} us of tensor cores\n\n", floor.seconds() * 1e6,
             floor.memory * 1e6, floor.tensor * 1e6);
  fmt::print("{:<36} {:>7} {:>9} {:>6} {:>6} {:>5} {:>7} {:>7} {:>8} {:>9} {:>11}\n", "plan", "shared", "registers",
             "tiles", "waves", "band", "ns/step", "us/tile", "us/share", "us/memory", "estimate");
  for (const auto& e : rows)
    fmt::print("{:<36} {:>7} {:>9} {:>6} {:>6.2f} {:>5} {:>7.0f} {:>7.1f} {:>8.1f} {:>9.1f} {:>8.1f} us{}\n",
               plan::text_of(e.plan), e.plan.shared_bytes(), e.plan.registers(), e.schedule.tiles, e.waves,
               e.schedule.work.tiles.band, e.step_seconds * 1e9, e.tile_seconds * 1e6, e.share_seconds * 1e6,
               e.memory_seconds * 1e6, e.seconds * 1e6,
               &e == rows.data() ? fmt::format("  taken: {}", origin_of(taken->tuned)) : "");
  fmt::print(
      "\ntiles: of a whole cluster. docs/gemm.md has the model: what is added up, and what hides behind what.\n");
  return success;
}

int bench_gemm(const BenchGemmCommand& command) {
  std::vector<std::vector<bench::Shape>> shapes_by_type;
  for (const std::string& dtype : command.dtypes) {
    shapes_by_type.push_back(shapes_to_measure(command.shapes, dtype));
    check_plans(command.by_hand, shapes_by_type.back());
  }
  std::set<std::filesystem::path> files;
  for (const std::filesystem::path file : {command.markdown, command.json, command.svg}) {
    if (file.empty()) continue;
    if (!files.insert(std::filesystem::weakly_canonical(file)).second)
      throw Error(ErrorCode::invalid_argument, fmt::format("two tables would go to {}", file.string()));
    cases::check_writable(file);
  }
  bench::GemmOptions options;
  options.rounds = command.rounds;
  options.plans = command.plans;
  options.by_hand = command.by_hand;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  options.progress = [&](const std::string& what) {
    fmt::print(stderr, "{}{}{}", terminal ? "\r\033[K" : "", what, terminal ? "" : "\n");
  };
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  std::vector<bench::GemmTable> tables;
  for (const auto& shapes : shapes_by_type) {
    options.shapes = shapes;
    tables.push_back(bench::measure_gemm(device, options));
  }
  if (terminal) fmt::print(stderr, "\r\033[K");
  const std::string text = bench::to_text(tables);
  fmt::print("{}", text);
  const auto write = [](const std::filesystem::path& file, const std::string& contents) {
    if (!file.empty()) cases::write_file(file, std::as_bytes(std::span(contents)));
  };
  write(command.markdown, text);
  write(command.json, bench::to_json(tables));
  write(command.svg, bench::to_svg(tables));
  const auto right = [](const bench::GemmTable& table) {
    return std::all_of(table.rows.begin(), table.rows.end(), [](const auto& row) { return row.error < 1; });
  };
  return std::all_of(tables.begin(), tables.end(), right) ? success : wrong_result;
}

}  // namespace wm::cli
