// The commands of the program, each with its options as a value. They print, and return the exit status.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
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

// How something is judged.
struct CheckOptions {
  std::vector<vgpu::Mode> modes;  // none: all
  std::uint64_t seeds = 3;        // of the modes that have dice
  std::uint64_t max_instructions = 200'000'000;
  bool strict = false;  // warnings are errors
  bool json = false;
};
struct CheckCommand {
  CheckOptions options;
  std::filesystem::path file;
  std::vector<std::string> defines;
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
int compile_ahead(const std::string& folder);

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
int gemm_block_scaled(const GemmCommand& command);  // where the dtype is a format with block scales

struct CheckGemmCommand {
  CheckOptions options;
  GemmCommand product;
};
int check_gemm(const CheckGemmCommand& command);

struct PlanGemmCommand {
  std::string shape;
  std::string dtype = "bf16", out_dtype;
  std::string a_major = "k", b_major = "k";
  std::int64_t batch = 1;
  bool promote = false;
  std::string chip = "NVIDIA H200";  // whose measured plans count
  int multiprocessors = 0;           // 0: the chip's
  int show = 10;                     // plans
  bool json = false;
};
int plan_gemm(const PlanGemmCommand& command);

struct BenchGemmCommand {
  std::vector<std::string> shapes;  // none: all of the table
  std::vector<std::string> dtypes{"bf16", "e4m3"};
  int random = 0;                    // so many shapes that nobody chose, in the place of the table
  std::uint64_t seed = 1;            // of them
  bool odd = false;                  // any sizes, not multiples of 16
  std::vector<std::string> by_hand;  // plans
  std::string device;
  int rounds = 15;
  int plans = 1, random_plans = 0;
  bool untuned = false, late = false, behind = false, promote = false;
  std::filesystem::path json, svg, markdown;  // files to write
};
int bench_gemm(const BenchGemmCommand& command);

// The constants of the ranking's arithmetic.
struct CalibrateGemmCommand {
  std::vector<std::filesystem::path> from;  // tables that bench gemm --json wrote; none: measure
  std::string dtype = "bf16", device;
  int random = 60, plans = 12, random_plans = 12, rounds = 7;
  std::uint64_t seed = 1;
  int steps = 3000;
  int trees = 224;
  bool onto = false;          // keep constants and trees; grow trees behind them
  bool promote = false;       // the trees of promoted sums alone
  std::filesystem::path out;  // none: the user's own table
};
int calibrate_gemm(const CalibrateGemmCommand& command);

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

// Attention: the same, and under the judge.
struct AttentionOptions {
  std::string shape;  // "4x16x4096x128": batch, heads, length, head dim
  std::string dtype = "bf16";
  std::string out_dtype = "bf16", scales = "none";  // of e4m3
  std::int64_t kv_heads = 0, kv_length = -1;        // as many as heads, as long as queries
  int value_dim = 0;                                // the head dim
  bool causal = false;
  std::string window;  // "256" or "256,64"
  std::string align = "ends";
  float softcap = 0;
  std::optional<float> scale;
  std::string layout = "heads-first";
  bool lse = true, alibi = false, sinks = false;
  int documents = 0;
  std::vector<std::int64_t> key_lengths;  // that count, of each batch
  std::vector<std::string> lengths;       // of sequences, in the place of batch and length
};
struct AttentionCommand {
  AttentionOptions attention;
  std::string device;
  std::string plan;              // by hand: "128x176 s2 o1"
  std::filesystem::path stamps;  // where a timeline goes; empty: none
  int repeat = 20;
  bool json = false;
};
int attention(const AttentionCommand& command);

struct CheckAttentionCommand {
  CheckOptions options;
  AttentionOptions attention;
  std::string device;  // none: a virtual GPU with few multiprocessors
  std::string plan;
};
int check_attention(const CheckAttentionCommand& command);

struct PlanAttentionCommand {
  AttentionOptions attention;
  std::string chip = "NVIDIA H200";
  int multiprocessors = 0;  // 0: the chip's
  int show = 10;            // plans
  bool json = false;
};
int plan_attention(const PlanAttentionCommand& command);

struct BenchAttentionCommand {
  std::vector<std::string> arguments;  // of bench_attention.py
};
int bench_attention(const BenchAttentionCommand& command);

struct TuneAttentionCommand {
  std::vector<std::string> shapes;
  AttentionOptions attention;  // of all shapes
  std::string device;
  int rounds = 9;
  std::vector<std::string> without;
  int limit = 60;             // seconds that a plan may take
  std::filesystem::path out;  // none: the user's own table
  bool worker = false;        // measure in this process and print the entry
};
int tune_attention(const TuneAttentionCommand& command);

}  // namespace wm::cli
