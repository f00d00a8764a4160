// The virtual GPU: executes PTX on the CPU. This is all that the runtime sees of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpmill/architecture.hpp"
#include "warpmill/module.hpp"
#include "warpmill/virtual.hpp"

namespace wm::vgpu {

// The chip that is imitated.
struct Chip {
  Architecture arch;
  int multiprocessors = 132;
  std::size_t memory_bytes = 0;
  std::size_t shared_bytes_per_block = 0, shared_bytes_per_multiprocessor = 0;
  int registers_per_multiprocessor = 65536, threads_per_multiprocessor = 2048, blocks_per_multiprocessor = 32;
  static Chip of(const Architecture& arch);  // an A100 for sm_80, an H200 for sm_90a; throws unsupported for others
};

// Device memory. Addresses are the machine's own; they are no host pointers. Safe from several threads.
class Memory;
// A module ready to run: read, checked, every instruction decoded.
class Program;

struct LaunchShape {
  Dim3 grid, block, cluster;
  std::uint32_t shared_bytes = 0;
};

struct ProgramKernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t static_shared_bytes = 0, local_bytes = 0;
  std::uint32_t max_threads = 1024;
  Dim3 required_block{0, 0, 0}, required_cluster{0, 0, 0};  // .reqntid, .reqnctapercluster; zeros: free
};

class Machine {
 public:
  explicit Machine(const Chip& chip);
  ~Machine();
  const Chip& chip() const;

  std::uint64_t allocate(std::size_t bytes);
  void free(std::uint64_t address) noexcept;
  void write(std::uint64_t address, std::span<const std::byte> source);  // throws invalid_argument out of bounds
  void read(std::span<std::byte> destination, std::uint64_t address) const;
  void fill(std::uint64_t address, std::byte value, std::size_t bytes);
  void name(std::uint64_t address, std::string name);  // the allocation, for messages
  void forget(std::uint64_t address);                  // the allocation counts as never written

  // Refuses what it cannot run by name and line. Module variables get their memory here.
  std::shared_ptr<Program> load(std::string_view ptx, std::string_view name);
  static std::vector<const ProgramKernel*> kernels(const Program& program);

  // Runs to the end. Throws launch (cannot fit, in words), execution (trap, bad address, deadlock: who waits on what)
  // or stopped (options.progress); the report then says what was counted, printed and found until there.
  void run(Program& program, const ProgramKernel& kernel, const LaunchShape& shape,
           std::span<const std::byte> parameters, const RunOptions& options, RunReport& report);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wm::vgpu
