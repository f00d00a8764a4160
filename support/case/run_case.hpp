// Running a case on a device: compile, fill, launch, fetch, compare, write.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "compare.hpp"
#include "steps.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/virtual.hpp"

namespace wm::cases {

struct RunRequest {
  std::string device;  // as for Device::open; empty: the first GPU, else the virtual GPU. "virtual": of the case's arch
  int repeat = 1;      // launches; results are those of the first
  vgpu::RunOptions virtual_options;
  bool write = true;   // the files that outputs name
  bool poison = true;  // else buffers whose fill is poison are left as the device gives them, unwritten
  // A .cu for a virtual device is compiled for the chip too, which says what it costs there.
  bool machine_code = false;
  Tell tell{};  // of work on the host
};

struct OutputResult {
  std::string buffer;
  std::string expected;  // what it was compared with, in words
  Tolerance tolerance;
  std::optional<Comparison> comparison;
  std::optional<std::filesystem::path> written;
};

struct RunResult {
  DeviceInfo device;
  std::optional<jit::Program> program;   // of a .cu module, as it was loaded
  std::optional<jit::Program> for_chip;  // the same compiled for the chip, where that is another
  double compile_seconds = 0;
  std::string entry;                              // as the module names it
  std::vector<double> milliseconds;               // one a launch
  std::optional<vgpu::RunReport> virtual_report;  // of the first launch
  std::vector<OutputResult> outputs;
  bool holds() const;                        // every comparison
  bool compared() const;                     // something
  const jit::Program* machine_code() const;  // what a chip would load, where it was compiled
};

RunResult run_case(const Case& description, const RunRequest& request);

// The device a case runs on.
Device open_device(const Case& description, const std::string& wanted);
// A .cu module's program for an architecture.
jit::Program compile_case(const Case& description, const Architecture& arch, bool line_table);
// The entry that `name` means: itself, or the one kernel whose C++ name it is. Refused where there is none or several.
std::string resolve_entry(const std::vector<std::string>& entries, const std::string& name);

}  // namespace wm::cases
