// The program `warpmill`: its commands and their options.
#include <csignal>
#include <cstdio>
#include <map>
#include <new>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "case/document.hpp"
#include "commands/commands.hpp"
#include "commands/program.hpp"
#include "options.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "warpmill/error.hpp"
#include "warpmill/log.hpp"

namespace {

using namespace wm::cli;

std::map<std::string, wm::vgpu::Mode> modes() {
  return {{"friendly", wm::vgpu::Mode::friendly},
          {"random", wm::vgpu::Mode::random},
          {"adversarial", wm::vgpu::Mode::adversarial}};
}

void add_max_instructions(CLI::App& app, std::uint64_t& value) {
  add_count<std::uint64_t>(app, "--max-instructions", value,
                           "virtual GPU: stop a run after so many warp instructions (0: no limit)", 0, UINT64_MAX);
}

void add_defines(CLI::App& app, std::vector<std::string>& defines) {
  app.add_option("--define", defines, "a macro for the compiler: NAME or NAME=VALUE; may be given several times")
      ->allow_extra_args(false);
}

void add_virtual_options(CLI::App& command, wm::vgpu::RunOptions& options) {
  command.add_option("--mode", options.mode, "virtual GPU: who runs next (friendly, random, adversarial)")
      ->transform(CLI::Transformer(modes(), CLI::ignore_case))
      ->type_name("MODE")
      ->check(CLI::IsMember({wm::vgpu::Mode::friendly, wm::vgpu::Mode::random, wm::vgpu::Mode::adversarial}));
  // A seed asks for a run that can be had again.
  command
      .add_option_function<std::uint64_t>(
          "--seed",
          [&options](std::uint64_t seed) {
            options.seed = seed;
            options.deterministic = true;
          },
          "virtual GPU: the run is a function of the seed")
      ->transform(whole_number<std::uint64_t>(0, UINT64_MAX));
  options.max_instructions = 20'000'000'000;  // a kernel that never ends is stopped, in a quarter of an hour or so
  add_max_instructions(command, options.max_instructions);
}

// What a product is: GemmCommand and PlanGemmCommand have these.
template <class Command>
void add_product(CLI::App& app, Command& command) {
  app.add_option("shape", command.shape, "MxNxK, for example 4096x4096x4096")->required();
  app.add_option("--dtype", command.dtype,
                 "of A and B: bf16, f16, tf32, e4m3, e5m2, i8; with block scales mxfp8, mxfp6, mxfp4, nvfp4 (gemm)")
      ->capture_default_str();
  app.add_option("--out-dtype", command.out_dtype,
                 "of D: bf16, f16, f32, e4m3, i32; without it what goes with A and B");
  app.add_option("--a-major", command.a_major, "along which dimension A is contiguous: k or mn")->capture_default_str();
  app.add_option("--b-major", command.b_major, "the same of B")->capture_default_str();
  add_count<std::int64_t>(app, "--batch", command.batch, "so many products of this shape", 1, 0x7fffffff);
  app.add_flag("--promote", command.promote, "8-bit floats: full-precision sums");
}

constexpr const char* plan_help =
    "a plan by hand: tile, stages, cluster, as in '128x256 s4 c2x1' (c1x1x2: two blocks share a tile along k), and "
    "after them g1 (multiply groups), pingpong, multistage or mma (multistage for sm_80), split or split2 (pieces of "
    "k), spread (all their blocks finish a tile), exchange, b8 (tile rows walked together)";

constexpr const char* check_device_help = "virtual:ARCH[:sms=N]; without it virtual:sm_90a:sms=4";
constexpr const char* chip_help = "its name: whose plans, and whose measurements of them";
constexpr const char* stamps_help = "a file for a timeline of one more launch, as JSON for ui.perfetto.dev";
constexpr const char* device_help = "cuda:0, virtual or virtual:ARCH; without it the first GPU, else the virtual one";

// A product with its epilogue and its plan.
void add_gemm(CLI::App& app, GemmCommand& product) {
  add_product(app, product);
  app.add_option("--epilogue", product.epilogue,
                 "its parts: alpha, residual, row-scale, column-scale, row-bias, column-bias (or bias), amax, d-scale")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--activation", product.activation, "none, relu, gelu, gelu-erf or silu")->capture_default_str();
  app.add_option("--expression", product.expression, "an activation of your own, in C++: 'x * sigmoid(1.702f * x)'");
  app.add_option("--plan", product.plan, plan_help);
}

// How something is judged.
void add_check(CLI::App& app, CheckOptions& options) {
  add_count<std::uint64_t>(app, "--seeds", options.seeds, "runs of each mode that has dice", 1, 1000000);
  app.add_option("--mode", options.modes, "friendly, random, adversarial; without it all of them")
      ->transform(CLI::CheckedTransformer(modes(), CLI::ignore_case).description(""))
      ->type_name("MODE")
      ->allow_extra_args(false);
  add_max_instructions(app, options.max_instructions);
  app.add_flag("--strict", options.strict, "warnings are errors");
  app.add_flag("--json", options.json, "print the findings as JSON");
}

// Several shapes of several types, and plans by hand: what bench and tune measure.
template <class Command>
void add_products(CLI::App& app, Command& command) {
  app.add_option("shapes", command.shapes, "MxNxK ...; without any, the project's table");
  app.add_option("--dtype", command.dtypes, "of A and B, one or several: bf16,f16,tf32,e4m3,i8")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--device", command.device, device_help);
  app.add_option("--plan", command.by_hand, std::string(plan_help) + "; measured too, may be given several times")
      ->allow_extra_args(false);
}

// Where tuned plans go, and what is left out.
template <class Command>
void add_tuning(CLI::App& app, Command& command) {
  app.add_option("--without", command.without, "a plan that is not tried; may be given several times")
      ->allow_extra_args(false);
  add_count(app, "--limit", command.limit, "seconds after which a plan is given up", 3600);
  app.add_option("--out", command.out,
                 "the table to write into, its other entries kept; without it WARPMILL_PLANS, or plans.txt "
                 "in ~/.config/warpmill");
  app.add_flag("--worker", command.worker)->group("");  // how the program starts itself
}

// What the library has to tell goes to standard error; what it only notes does not.
void listen_to_library() {
  wm::set_log([](wm::LogSeverity severity, std::string_view text) {
    if (severity == wm::LogSeverity::warning) complain(fmt::format("warpmill: {}\n", text));
  });
}

// A word in the place of a command that is none, or no command at all: the commands there are.
std::string missing_command(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  if (at->get_require_subcommand_min() == 0) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : at->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (names.empty()) return "";
  const std::string there_are = fmt::format("there {} {}", names.size() == 1 ? "is" : "are", fmt::join(names, ", "));
  const std::string parent = at == &app ? "" : at->get_name() + " ";
  const auto remaining = app.remaining(true);
  if (remaining.empty())
    return fmt::format("{}a command is needed; {}", parent.empty() ? "" : parent + "...: ", there_are);
  if (remaining.front().starts_with('-')) return "";
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view meant = wm::cases::nearest(remaining.front(), candidates);
  return fmt::format("there is no command '{}{}'; {}{}", parent, remaining.front(), there_are,
                     meant.empty() ? "" : fmt::format(" (is {} meant?)", meant));
}

int start(int count, char** arguments) {
  if (const auto program = program_command({arguments + 1, arguments + count})) return run_program(*program);
  CLI::App app("Warpmill: tensor-core kernels, on a GPU or on the virtual GPU.");
  app.set_version_flag("--version", WARPMILL_VERSION);
  app.require_subcommand(1);
  int status = success;

  RunCommand run_command;
  auto* run_app = app.add_subcommand("run", "run the kernel of a case file and compare its results");
  run_app->add_option("case", run_command.file, "the case file (docs/case-files.md)")->required();
  run_app->add_option("--device", run_command.device, device_help);
  run_app->add_option("--emit", run_command.emit, "compile only, and give out the code")
      ->check(CLI::IsMember({"ptx", "cubin"}));
  run_app->add_option("-o,--output", run_command.output, "with --emit: the file; without it standard output");
  add_defines(*run_app, run_command.defines);
  add_count(*run_app, "--repeat", run_command.repeat, "launches to time", 1000000);
  run_app->add_flag("--json", run_command.json, "print the result as JSON");
  run_app->add_flag("!--no-poison", run_command.poison,
                    "leave memory that the case poisons unwritten, for tools that watch for reads of it");
  run_app->add_flag("--fidelity", run_command.fidelity,
                    "virtual GPU: list the instructions the run used, exact or within which bound of the chip");
  add_virtual_options(*run_app, run_command.virtual_options);
  run_app->callback([&] { status = run(run_command); });

  CheckCommand check_command;
  auto* check_app = app.add_subcommand(
      "check", "judge a case, or the library's own kernels, by the memory model, on the virtual GPU");
  check_app->require_subcommand(0, 1);
  check_app->add_option("case", check_command.file, "the case file (docs/case-files.md)");
  add_check(*check_app, check_command.options);
  add_defines(*check_app, check_command.defines);
  check_app->callback([&] {
    if (!check_app->get_subcommands().empty()) return;
    if (check_command.file.empty())
      throw wm::Error(wm::ErrorCode::invalid_argument,
                      "check what? Give a case file, or gemm or attention and a shape");
    status = check(check_command);
  });
  CheckGemmCommand check_gemm_command;
  auto* check_gemm_app = check_app->add_subcommand("gemm", "the kernel that a matrix product would take");
  add_gemm(*check_gemm_app, check_gemm_command.product);
  check_gemm_app->add_option("--device", check_gemm_command.product.device, check_device_help);
  add_check(*check_gemm_app, check_gemm_command.options);
  check_gemm_app->callback([&] { status = check_gemm(check_gemm_command); });
  CheckAttentionCommand check_attention_command;
  auto* check_attention_app = check_app->add_subcommand("attention", "the kernel that an attention would take");
  add_attention_shape(*check_attention_app, check_attention_command.attention);
  check_attention_app->add_option("--device", check_attention_command.device, check_device_help);
  check_attention_app->add_option("--plan", check_attention_command.plan, attention_plan_help);
  add_check(*check_attention_app, check_attention_command.options);
  check_attention_app->callback([&] { status = check_attention(check_attention_command); });

  DemoCommand demo_command;
  auto* demo_app = app.add_subcommand("demo", "run every case of a folder and print a table");
  demo_app->add_option("folder", demo_command.folder, "where the case files are")->required();
  demo_app->add_option("--device", demo_command.device, device_help);
  add_virtual_options(*demo_app, demo_command.virtual_options);
  demo_app->callback([&] { status = demo(demo_command); });

  bool json = false, clear = false;
  auto* doctor_app = app.add_subcommand("doctor", "say what is found, what is missing and how to get it");
  doctor_app->add_flag("--json", json, "print as JSON");
  doctor_app->callback([&] { status = doctor(json); });

  auto* devices_app = app.add_subcommand("devices", "list the devices");
  devices_app->add_flag("--json", json, "print as JSON");
  devices_app->callback([&] { status = devices(json); });

  auto* cache_app = app.add_subcommand("cache", "show the cache of compiled programs");
  cache_app->add_flag("--clear", clear, "remove them");
  cache_app->add_flag("--json", json, "print as JSON");
  std::string ahead;
  cache_app
      ->add_option("--ahead", ahead,
                   "compile all kernels of attention's usual kinds into this folder, for WARPMILL_KERNELS_DIR")
      ->type_name("FOLDER")
      ->excludes("--clear")
      ->excludes("--json");
  cache_app->callback([&] { status = ahead.empty() ? cache(clear, json) : compile_ahead(ahead); });

  GemmCommand gemm_command;
  auto* gemm_app = app.add_subcommand("gemm", "run one matrix product on random data, check it and time it");
  add_gemm(*gemm_app, gemm_command);
  gemm_app->add_option("--device", gemm_command.device, device_help);
  gemm_app->add_flag("--json", gemm_command.json, "print as JSON");
  gemm_app->add_option("--stamps", gemm_command.stamps, stamps_help);
  add_count(*gemm_app, "--repeat", gemm_command.repeat, "timed calls, on a GPU", 100000);
  gemm_app->callback([&] { status = gemm(gemm_command); });

  AttentionCommand attention_command;
  auto* attention_app = app.add_subcommand("attention", "run one attention on random data, check it and time it");
  add_attention_shape(*attention_app, attention_command.attention);
  attention_app->add_option("--device", attention_command.device, device_help);
  attention_app->add_option("--plan", attention_command.plan, attention_plan_help);
  attention_app->add_option("--stamps", attention_command.stamps, stamps_help);
  add_count(*attention_app, "--repeat", attention_command.repeat, "timed calls, on a GPU", 100000);
  attention_app->add_flag("--json", attention_command.json, "print as JSON");
  attention_app->callback([&] { status = attention(attention_command); });

  PlanGemmCommand plan_command;
  auto* plan_app = app.add_subcommand("plan", "show how plans are ranked")->require_subcommand(1);
  auto* plan_gemm_app = plan_app->add_subcommand("gemm", "the plans for one matrix product, with their arithmetic");
  add_product(*plan_gemm_app, plan_command);
  plan_gemm_app->add_flag("--json", plan_command.json, "print as JSON");
  plan_gemm_app->add_option("--chip", plan_command.chip, chip_help)->capture_default_str();
  plan_gemm_app->add_option("--multiprocessors", plan_command.multiprocessors, "other than the chip has")
      ->transform(whole_number(1, 1024));
  add_count(*plan_gemm_app, "--show", plan_command.show, "how many plans");
  plan_gemm_app->callback([&] { status = plan_gemm(plan_command); });

  PlanAttentionCommand plan_attention_command;
  auto* plan_attention_app =
      plan_app->add_subcommand("attention", "the plans for one attention, with their arithmetic");
  add_attention_shape(*plan_attention_app, plan_attention_command.attention);
  plan_attention_app->add_option("--chip", plan_attention_command.chip, chip_help)->capture_default_str();
  plan_attention_app->add_option("--multiprocessors", plan_attention_command.multiprocessors, "other than the chip has")
      ->transform(whole_number(1, 1024));
  add_count(*plan_attention_app, "--show", plan_attention_command.show, "how many plans");
  plan_attention_app->add_flag("--json", plan_attention_command.json, "print as JSON");
  plan_attention_app->callback([&] { status = plan_attention(plan_attention_command); });

  BenchGemmCommand bench_command;
  auto* bench_app = app.add_subcommand("bench", "measure against the vendor's libraries")->require_subcommand(1);
  auto* bench_gemm_app = bench_app->add_subcommand("gemm", "matrix products against cuBLASLt, interleaved");
  add_products(*bench_gemm_app, bench_command);
  bench_gemm_app
      ->add_option("--random", bench_command.random, "so many shapes that nobody chose, in the place of the table")
      ->transform(whole_number(1, 10000));
  add_count<std::uint64_t>(*bench_gemm_app, "--seed", bench_command.seed, "of the random shapes", 0, UINT64_MAX);
  bench_gemm_app->add_flag("--odd", bench_command.odd, "random shapes of any size, not multiples of 16");
  add_count(*bench_gemm_app, "--rounds", bench_command.rounds, "pairs of measurements");
  add_count(*bench_gemm_app, "--plans", bench_command.plans,
            "how many plans a shape: the library's own, then by the ranking");
  bench_gemm_app->add_option("--random-plans", bench_command.random_plans, "and so many that the ranking put anywhere")
      ->transform(whole_number(0, 1000));
  bench_gemm_app->add_flag("--untuned", bench_command.untuned, "by the ranking alone, as if no plan had been measured");
  bench_gemm_app->add_flag(
      "--late", bench_command.late,
      "operands are loaded when the product ahead has ended, as behind a kernel that nobody knows");
  bench_gemm_app->add_flag("--behind", bench_command.behind,
                           "each product behind a foreign elementwise kernel that writes A, whose time is taken off");
  bench_gemm_app->add_flag(
      "--promote", bench_command.promote,
      "full-precision sums of 8-bit floats (e4m3 unless --dtype says e5m2), beside our own product without them in the "
      "place of cuBLASLt");
  bench_gemm_app->add_option("--json", bench_command.json, "write the table here, as JSON");
  bench_gemm_app->add_option("--svg", bench_command.svg, "write a picture here");
  bench_gemm_app->add_option("--markdown", bench_command.markdown, "write the table here, as text");
  bench_gemm_app->callback([&] {
    if (bench_command.promote && bench_gemm_app->count("--dtype") == 0) bench_command.dtypes = {"e4m3"};
    status = bench_gemm(bench_command);
  });

  BenchAttentionCommand bench_attention_command;
  auto* bench_attention_app = bench_app->add_subcommand(
      "attention", "attention against cuDNN in PyTorch, interleaved; --help shows its options");
  bench_attention_app->prefix_command()->set_help_flag();  // the script reads them
  bench_attention_app->callback([&] {
    bench_attention_command.arguments = bench_attention_app->remaining();
    status = bench_attention(bench_attention_command);
  });

  CalibrateGemmCommand calibrate_command;
  auto* calibrate_app = app.add_subcommand("calibrate", "fit how plans are ranked to this chip")->require_subcommand(1);
  auto* calibrate_gemm_app = calibrate_app->add_subcommand(
      "gemm", "measure plans of random products, fit the ranking's constants to them and keep these");
  calibrate_gemm_app
      ->add_option("--from", calibrate_command.from,
                   "tables that bench gemm --json wrote, instead of measuring (the options from --random to --rounds); "
                   "several times")
      ->allow_extra_args(false);
  auto* calibrate_dtype =
      calibrate_gemm_app->add_option("--dtype", calibrate_command.dtype, "of A and B: bf16, f16, tf32, e4m3, e5m2, i8")
          ->capture_default_str();
  calibrate_gemm_app->add_option("--device", calibrate_command.device, device_help);
  add_count(*calibrate_gemm_app, "--random", calibrate_command.random, "shapes to measure", 10000);
  add_count<std::uint64_t>(*calibrate_gemm_app, "--seed", calibrate_command.seed, "of the shapes", 0, UINT64_MAX);
  add_count(*calibrate_gemm_app, "--plans", calibrate_command.plans, "plans a shape by the ranking", 1000);
  add_count(*calibrate_gemm_app, "--random-plans", calibrate_command.random_plans, "and so many from anywhere", 1000);
  add_count(*calibrate_gemm_app, "--rounds", calibrate_command.rounds, "measurements of each");
  add_count(*calibrate_gemm_app, "--steps", calibrate_command.steps,
            "of the walk through the constants; 0 leaves them as they are", 0, 1000000);
  add_count(*calibrate_gemm_app, "--trees", calibrate_command.trees, "that learn what the constants leave unexplained",
            0, 1000);
  calibrate_gemm_app->add_flag("--promote", calibrate_command.promote,
                               "of 8-bit floats with promoted sums (e4m3 unless --dtype says e5m2): constants and "
                               "trees stay, and trees of these grow behind them");
  calibrate_gemm_app->add_flag("--onto", calibrate_command.onto,
                               "keep the constants and trees that this chip has, and grow --trees more behind them");
  calibrate_gemm_app->add_option("--out", calibrate_command.out,
                                 "the table to write into, its other entries kept; without it WARPMILL_PLANS, or "
                                 "plans.txt in ~/.config/warpmill");
  calibrate_gemm_app->callback([&, calibrate_dtype] {
    if (calibrate_command.promote && calibrate_dtype->empty()) calibrate_command.dtype = "e4m3";
    status = calibrate_gemm(calibrate_command);
  });

  TuneGemmCommand tune_command;
  auto* tune_app = app.add_subcommand("tune", "find the fastest plans by measuring")->require_subcommand(1);
  auto* tune_gemm_app = tune_app->add_subcommand("gemm", "measure plans of matrix products and keep the fastest");
  add_products(*tune_gemm_app, tune_command);
  add_count(*tune_gemm_app, "--candidates", tune_command.candidates, "how many of the ranking's plans to try");
  add_count(*tune_gemm_app, "--rounds", tune_command.rounds, "measurements of each plan of the final");
  add_tuning(*tune_gemm_app, tune_command);
  tune_gemm_app->callback([&] { status = tune_gemm(tune_command); });

  TuneAttentionCommand tune_attention_command;
  auto* tune_attention_app =
      tune_app->add_subcommand("attention", "measure all plans of attentions and keep the fastest");
  tune_attention_app->add_option("shapes", tune_attention_command.shapes, "BATCHxHEADSxLENGTHxDIM ...")->required();
  add_attention(*tune_attention_app, tune_attention_command.attention);
  tune_attention_app->add_option("--device", tune_attention_command.device, device_help);
  add_count(*tune_attention_app, "--rounds", tune_attention_command.rounds, "measurements of each plan");
  add_tuning(*tune_attention_app, tune_attention_command);
  tune_attention_app->callback([&] { status = tune_attention(tune_attention_command); });

  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      if (const std::string message = missing_command(app); !message.empty())
        throw wm::Error(wm::ErrorCode::invalid_argument, message);
    return app.exit(error) == 0 ? success : could_not_run;
  }
  return status;
}

// What a signal has ended: the words, and the status that a shell gives to it.
int end_by(int signal, const std::string& what) {
  complain(fmt::format("warpmill: {}: {}\n", signal == SIGINT ? "interrupted" : "ended by a signal", what));
  return 128 + signal;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    listen_to_library();
    const int status = start(count, arguments);
    if (std::fflush(stdout) != 0) throw wm::Error(wm::ErrorCode::io, "cannot write to standard output");
    return status;
  } catch (const std::bad_alloc&) {
    complain("warpmill: out of memory\n");
  } catch (const std::exception& error) {
    if (const int signal = stopping_signal()) return end_by(signal, error.what());
    complain(fmt::format("warpmill: {}\n", error.what()));
  }
  return could_not_run;
}
