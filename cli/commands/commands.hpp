// The commands of the program, each with its options as a value. They print, and return the exit status.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "case/run_case.hpp"
#include "warpmill/virtual.hpp"

namespace wm::cli {

// Exit statuses of every command.
inline constexpr int success = 0;
inline constexpr int wrong_result = 1;  // it ran, and a comparison did not hold
inline constexpr int could_not_run = 2;

// A case file with further macros for the compiler, NAME or NAME=VALUE.
cases::Case read_case(const std::filesystem::path& file, const std::vector<std::string>& defines);
// Runs a case; on the virtual GPU with its progress in view, under the name `what`, until a signal ends it.
cases::RunResult run_in_view(const cases::Case& description, cases::RunRequest request, const std::string& what);

struct RunCommand {
  std::filesystem::path file;
  std::vector<std::string> defines;
  std::string device;
  std::string emit;  // "ptx", "cubin" or nothing
  std::filesystem::path output;
  int repeat = 1;
  bool json = false;
  bool poison = true;
  bool fidelity = false;  // list the instructions a virtual run used
  vgpu::RunOptions virtual_options;
};
int run(const RunCommand& command);
int emit(const cases::Case& description, const RunCommand& command);

struct CheckCommand {
  std::filesystem::path file;
  std::vector<std::string> defines;
  std::vector<vgpu::Mode> modes;  // none: all
  std::uint64_t seeds = 3;        // of the modes that have dice
  std::uint64_t max_instructions = 200'000'000;
  bool json = false;
};
// 0: no error was found and no result is wrong.
int check(const CheckCommand& command);

struct DemoCommand {
  std::filesystem::path folder;
  std::string device;
  vgpu::RunOptions virtual_options;
};
int demo(const DemoCommand& command);

int doctor(bool json);
int devices(bool json);
int cache(bool clear, bool json);

// GEMM: run one, show how plans are ranked for one, measure them all, find the best plans.
struct GemmCommand {
  std::string shape;  // "4096x4096x4096"
  std::string device;
  std::string dtype = "bf16", out_dtype;  // of A and B, of D; none: what goes with the operands
  std::string a_major = "k", b_major = "k";
  std::int64_t batch = 1;
  std::vector<std::string> epilogue;  // its parts
  std::string activation = "none", expression;
  bool promote = false;
  std::string plan;              // by hand: "128x256 s4 c2x1"
  std::filesystem::path stamps;  // where a timeline goes; empty: none
  int repeat = 20;
  bool json = false;
};
int gemm(const GemmCommand& command);

struct PlanGemmCommand {
  std::string shape;
  std::string dtype = "bf16", out_dtype;
  std::string a_major = "k", b_major = "k";
  std::int64_t batch = 1;
  std::string chip = "NVIDIA H200";  // whose measured plans count
  int multiprocessors = 0;           // 0: the chip's
  int show = 10;                     // plans
  bool json = false;
};
int plan_gemm(const PlanGemmCommand& command);

struct BenchGemmCommand {
  std::vector<std::string> shapes;  // none: all of the table
  std::vector<std::string> dtypes{"bf16", "e4m3"};
  std::vector<std::string> by_hand;  // plans
  std::string device;
  int rounds = 15;
  int plans = 1;
  std::filesystem::path json, svg, markdown;  // files to write
};
int bench_gemm(const BenchGemmCommand& command);

struct TuneGemmCommand {
  std::vector<std::string> shapes;  // none: all of the table
  std::vector<std::string> dtypes{"bf16", "e4m3"};
  std::string device;
  int candidates = 24, rounds = 9;
  std::vector<std::string> by_hand, without;  // plans tried too, plans not tried
  int limit = 60;                             // seconds that a plan may take
  std::filesystem::path out;                  // none: the user's own table
  bool worker = false;                        // measure in this process and print the entry
};
int tune_gemm(const TuneGemmCommand& command);

}  // namespace wm::cli
