// The program `warpmill`: its commands and their options.
#include <cstdio>
#include <map>
#include <new>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands/commands.hpp"
#include "warpmill/error.hpp"

namespace {

using namespace wm::cli;

void add_virtual_options(CLI::App& command, wm::vgpu::RunOptions& options) {
  static const std::map<std::string, wm::vgpu::Mode> modes{{"friendly", wm::vgpu::Mode::friendly},
                                                           {"random", wm::vgpu::Mode::random},
                                                           {"adversarial", wm::vgpu::Mode::adversarial}};
  command.add_option("--mode", options.mode, "virtual GPU: who runs next (friendly, random, adversarial)")
      ->transform(CLI::Transformer(modes, CLI::ignore_case))
      ->type_name("MODE")
      ->check(CLI::IsMember({wm::vgpu::Mode::friendly, wm::vgpu::Mode::random, wm::vgpu::Mode::adversarial}));
  // A seed asks for a run that can be had again.
  command.add_option_function<std::uint64_t>(
      "--seed",
      [&options](std::uint64_t seed) {
        options.seed = seed;
        options.deterministic = true;
      },
      "virtual GPU: the run is a function of the seed");
  command.add_option("--max-instructions", options.max_instructions,
                     "virtual GPU: stop after so many warp instructions (0: no limit)");
}

constexpr const char* device_help = "cuda:0, virtual or virtual:ARCH; without it the first GPU, else the virtual one";

int start(int count, char** arguments) {
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
  run_app->add_option("--repeat", run_command.repeat, "launches to time")->check(CLI::Range(1, 1000000));
  run_app->add_flag("--json", run_command.json, "print the result as JSON");
  add_virtual_options(*run_app, run_command.virtual_options);
  run_app->callback([&] { status = run(run_command); });

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
  cache_app->callback([&] { status = cache(clear, json); });

  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? success : could_not_run;
  }
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const int status = start(count, arguments);
    if (std::fflush(stdout) != 0) throw wm::Error(wm::ErrorCode::io, "cannot write to standard output");
    return status;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "warpmill: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "warpmill: {}\n", error.what());
  }
  return could_not_run;
}
