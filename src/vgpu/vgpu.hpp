// The virtual GPU: executes PTX on the CPU. This is all that the runtime sees of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpu/machine/chip.hpp"
#include "vgpu/machine/kernel.hpp"
#include "warpmill/virtual.hpp"

namespace wm::vgpu {

// Device memory. Addresses are the machine's own; they are no host pointers. Safe from several threads.
class Memory;
// A module ready to run: read, checked, every instruction decoded.
class Program;

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
  // The caller's memory becomes the machine's too, under its own address, until it is unmapped or freed here. What is
  // lent the caller leaves alone while a kernel runs; read-only it is not written.
  void map_host(std::span<std::byte> bytes);
  void lend(std::span<std::byte> bytes, bool read_only);
  void unmap_host(const std::byte* host);  // throws invalid_argument where no mapped memory begins
  // From anywhere to anywhere: what lies in no allocation is an address of the host. Throws invalid_argument for what
  // begins in an allocation and leaves it.
  void move(std::uint64_t destination, std::uint64_t source, std::size_t bytes);
  // The allocation that holds an address, zeros where there is none; and all that a kernel may write.
  std::pair<std::uint64_t, std::uint64_t> allocation(std::uint64_t address) const;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> allocations() const;
  void name(std::uint64_t address, std::string name);  // the allocation, for messages
  void forget(std::uint64_t address);                  // the allocation counts as never written

  // Refuses what it cannot run by name and line. Module variables get their memory here, except those that are
  // declared only, which are `linked`.
  std::shared_ptr<Program> load(std::string_view ptx, std::string_view name, const Linked& linked = {});
  static std::vector<const ProgramKernel*> kernels(const Program& program);
  // A .global or .const variable's address and bytes; of none, zeros.
  static std::pair<std::uint64_t, std::uint64_t> variable(const Program& program, std::string_view name);

  // Runs to the end. Throws launch (cannot fit, in words), execution (trap, bad address, deadlock: who waits on what)
  // or stopped (options.progress); the report then says what was counted, printed and found until there.
  void run(Program& program, const ProgramKernel& kernel, const LaunchShape& shape,
           std::span<const std::byte> parameters, const RunOptions& options, RunReport& report);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wm::vgpu
