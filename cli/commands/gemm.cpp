// warpmill gemm, plan gemm and bench gemm.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "case/files.hpp"
#include "commands/commands.hpp"
#include "gemm/gemm_bench.hpp"
#include "gemm/gemm_problem.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_ranking.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

// "4096x512": the numbers between the x.
template <std::size_t count>
std::array<std::int64_t, count> numbers(std::string_view text, std::string_view what, std::string_view example) {
  std::array<std::int64_t, count> values{};
  const char *at = text.data(), *end = text.data() + text.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto [next, status] = std::from_chars(at, end, values[i]);
    const bool last = i + 1 == count;
    if (status != std::errc() || values[i] < 0 || (last ? next != end : next == end || *next != 'x'))
      throw Error(ErrorCode::invalid_argument, fmt::format("'{}' is no {}; write it as {}", text, what, example));
    at = next + 1;
  }
  return values;
}

bench::Shape shape_from(std::string_view text, std::string_view dtype = "bf16", std::string_view out_dtype = "") {
  const auto [m, n, k] = numbers<3>(text, "shape", "MxNxK, for example 4096x4096x4096");
  const DType operands = dtype_from_name(dtype);
  return {m, n, k, operands, out_dtype.empty() ? bench::usual_output(operands) : dtype_from_name(out_dtype)};
}

// "bf16", or "e4m3 to bf16".
std::string types(const bench::Shape& shape) {
  return shape.operands == shape.d ? std::string(name_of(shape.operands))
                                   : fmt::format("{} to {}", name_of(shape.operands), name_of(shape.d));
}

std::optional<GemmPlan> plan_from(const GemmCommand& command) {
  if (command.plan.empty()) return std::nullopt;
  const GemmPlan plan = plan::plan_from_text(command.plan);
  if (!plan.valid())
    throw Error(ErrorCode::invalid_argument, fmt::format("this plan is impossible: {}", plan.problem()));
  return plan;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int gemm(const GemmCommand& command) {
  const bench::Shape shape = shape_from(command.shape, command.dtype, command.out_dtype);
  const auto plan = plan_from(command);
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  const Stream stream(device);
  const bench::GemmProblem problem(stream, shape, 1);

  const auto first = std::chrono::steady_clock::now();
  const GemmResult result = wm::gemm(stream, problem.request(plan));
  const double first_ms = milliseconds_since(first);
  stream.synchronize();
  const double error = problem.sampled_error();

  std::vector<double> device_us, host_us;
  if (device.info().kind == DeviceKind::cuda) {
    const GemmRequest request = problem.request(plan);
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

  nlohmann::json report{{"shape", {shape.m, shape.n, shape.k}},
                        {"dtype", name_of(shape.operands)},
                        {"out_dtype", name_of(shape.d)},
                        {"device", device.info().id},
                        {"path", result.path()},
                        {"plan", plan::text_of(result.plan)},
                        {"blocks", result.blocks},
                        {"error", error},
                        {"first_call_ms", first_ms}};
  if (!device_us.empty()) {
    const double us = middle(device_us);
    report["us"] = us;
    report["tflops"] = shape.flops() / us * 1e-6;
    report["ceiling_share"] = shape.floor_seconds() / us * 1e6;
    report["call_us"] = middle(host_us);
  }
  if (command.json) {
    fmt::print("{}\n", report.dump(1));
  } else {
    fmt::print("D[{0},{1}] = A[{0},{2}] B[{2},{1}], {3}, on {4}\n", shape.m, shape.n, shape.k, types(shape),
               device.info().id);
    fmt::print("  plan        {}, {} blocks\n", plan::text_of(result.plan), result.blocks);
    fmt::print("  path        {}\n", result.path());
    fmt::print("  check       {} (sampled against float64: {:.2f} of what rounding allows)\n",
               error < 1 ? "right" : "WRONG", error);
    fmt::print("  first call  {:.1f} ms of host time\n", first_ms);
    if (!device_us.empty())
      fmt::print(
          "  time        {:.1f} us, {:.0f} TFLOP/s, {:.0f}% of the chip's ceiling; {:.2f} us of host time a call\n",
          report["us"].get<double>(), report["tflops"].get<double>(), report["ceiling_share"].get<double>() * 100,
          report["call_us"].get<double>());
  }
  return error < 1 ? success : wrong_result;
}

int plan_gemm(const PlanGemmCommand& command) {
  const bench::Shape shape = shape_from(command.shape, command.dtype, command.out_dtype);
  const plan::ChipRates rates{.multiprocessors = command.multiprocessors};
  const GemmKind kind{.a = shape.operands, .b = shape.operands, .d = shape.d};
  auto ranking = plan::rank(kind, {shape.m, shape.n, shape.k}, rates);
  ranking.resize(std::min<std::size_t>(ranking.size(), static_cast<std::size_t>(std::max(1, command.show))));
  if (command.json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& e : ranking)
      rows.push_back({{"plan", plan::text_of(e.plan)},
                      {"shared_bytes", e.plan.shared_bytes()},
                      {"registers", e.plan.registers()},
                      {"tiles", e.tiles},
                      {"waves", e.waves},
                      {"band", e.work.tiles.band},
                      {"step_ns", e.step_seconds * 1e9},
                      {"tile_us", e.tile_seconds * 1e6},
                      {"memory_us", e.memory_seconds * 1e6},
                      {"us", e.seconds * 1e6}});
    fmt::print("{}\n", rows.dump(1));
    return success;
  }
  fmt::print("{} x {} x {}, {}, on {} multiprocessors\n", shape.m, shape.n, shape.k, types(shape),
             rates.multiprocessors);
  fmt::print("at best {:.1f} us: {:.1f} us of device memory, {:.1f} us of tensor cores\n\n",
             shape.floor_seconds() * 1e6, shape.bytes() / rates.memory_bytes * 1e6,
             shape.flops() / bench::tensor_ceiling(shape.operands) * 1e6);
  fmt::print("{:<40} {:>7} {:>9} {:>6} {:>5} {:>5} {:>8} {:>8} {:>9}\n", "plan", "shared", "registers", "tiles",
             "waves", "band", "ns/step", "us/tile", "estimate");
  for (const auto& e : ranking)
    fmt::print("{:<40} {:>7} {:>9} {:>6} {:>5.2f} {:>5} {:>8.0f} {:>8.1f} {:>6.1f} us\n", plan::text_of(e.plan),
               e.plan.shared_bytes(), e.plan.registers(), e.tiles, e.waves, e.work.tiles.band, e.step_seconds * 1e9,
               e.tile_seconds * 1e6, e.seconds * 1e6);
  fmt::print(
      "\ntiles: of a whole cluster. estimate = start + max(memory, waves x us/tile); docs/gemm.md has the model.\n");
  return success;
}

int bench_gemm(const BenchGemmCommand& command) {
  bench::GemmOptions options;
  options.rounds = command.rounds;
  options.plans = command.plans;
  options.by_hand = command.by_hand;
  if (!command.shapes.empty()) {
    options.shapes.clear();
    for (const std::string& text : command.shapes) options.shapes.push_back(shape_from(text));
  }
  const bool terminal = isatty(STDERR_FILENO) != 0;
  options.progress = [&](const std::string& what) {
    fmt::print(stderr, "{}{}{}", terminal ? "\r\033[K" : "", what, terminal ? "" : "\n");
  };
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  std::vector<bench::GemmTable> tables;
  for (const std::string& dtype : command.dtypes) {
    for (bench::Shape& shape : options.shapes) shape.d = bench::usual_output(shape.operands = dtype_from_name(dtype));
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
