// Tuning in processes of its own: a kernel that hangs or brings the device down is left out, and costs nobody else's
// result.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/gemm_tune.hpp"

namespace wm::cli {

// One thing to tune: what it is called, and how the program starts itself to measure it ("tune gemm --worker ...").
struct Tuning {
  std::string name;
  std::vector<std::string> arguments;
};

struct TuningOptions {
  std::string device;
  std::vector<std::string> without;  // plans that are not tried
  int limit = 60;                    // seconds that a plan may take
  std::filesystem::path out;         // none: the user's own table
};

// Tunes one after the other, writes each entry into the table as it is found, and returns the exit status.
int tune_all(const TuningOptions& options, const std::vector<Tuning>& all);

// A worker's side: options that tell what it tries, and what it found, one entry or none.
bench::TuneOptions told_options();
int told(const plan::TunedPlans& found);

}  // namespace wm::cli
