// How kernels run on the virtual GPU, and what a run did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warpmill/api.hpp"
#include "warpmill/check.hpp"
#include "warpmill/device.hpp"

namespace wm::vgpu {

enum class Mode { friendly, random, adversarial };

// How far a run is.
struct RunProgress {
  std::uint64_t blocks_done = 0, blocks = 0;  // of the grid
  std::uint64_t warp_instructions = 0;        // about: other host threads add theirs now and then
  double seconds = 0;                         // since the launch
};

// Whether the run goes on.
enum class Answer { go_on, stop };

struct RunOptions {
  Mode mode = Mode::friendly;
  std::uint64_t seed = 0;
  bool deterministic = false;          // one host thread, the order a function of mode and seed
  int host_threads = 0;                // at most 1024; 0: all cores
  bool chip_sums = false;              // tensor cores add as the chip's do, bit for bit: a hundred times slower
  std::uint64_t max_instructions = 0;  // warp instructions, all blocks together; 0: no limit
  bool count_instructions = false;     // for RunReport::used; slower
  // The judge watches: the run is deterministic, and what goes wrong in it is a finding of its report, not an
  // exception.
  bool check = false;
  bool strict = false;  // the judge's warnings are errors
  // Asked when a run starts and about every tenth of a second from then on, in the thread that launched it; it must not
  // use the device. Where it answers stop the launch throws ErrorCode::stopped, and the report has what was counted,
  // printed and found until then.
  std::function<Answer(const RunProgress&)> progress = {};
};

// An instruction of a run. Without a bound its results are the chip's, bit for bit (docs/fidelity.md).
struct UsedInstruction {
  std::string name;         // with its modifiers
  std::uint64_t times = 0;  // warps executed it, waits counted each time they looked
  std::string bound;        // the greatest distance from the chip's result
};

struct RunReport {
  std::uint64_t warp_instructions = 0;
  std::uint64_t blocks = 0;           // that came to their end
  std::string printed;                // what the kernel's printf wrote; it went to standard output too, as a GPU's does
  std::vector<UsedInstruction> used;  // with count_instructions
  std::optional<CheckReport> check;
  std::exception_ptr ended_by;  // what ended a checked run too early; a plain one throws it
};

// A virtual device's options hold for every launch on it from then on; its report is that of the launch that ended
// last. Each throws invalid_argument for a device that is not virtual.
WARPMILL_API void set_run_options(const Device& device, const RunOptions& options);
WARPMILL_API RunOptions run_options(const Device& device);
WARPMILL_API RunReport last_run(const Device& device);

// What messages and findings call the allocation at `address`.
WARPMILL_API void name_memory(const Device& device, std::uint64_t address, const std::string& name);
// The memory at `address` (of one allocation) counts as never written, whatever it holds: the judge reports reads of
// it.
WARPMILL_API void mark_unwritten(const Device& device, std::uint64_t address);

// The caller's own memory becomes the device's too, under its own address, until it is unmapped: kernels read and write
// it where it lies, and the caller leaves it alone while one runs. Memory that is mapped read-only is never written: a
// kernel that tries fails, as out of bounds. Unmapping waits for kernels that run. Throws invalid_argument where it is
// empty, or part of it is mapped already or lies where kernels have shared, local or other memory; of what is unmapped,
// where no mapped memory begins.
WARPMILL_API void map_memory(const Device& device, std::span<std::byte> memory, bool read_only = false);
WARPMILL_API void unmap_memory(const Device& device, const std::byte* memory);

}  // namespace wm::vgpu
