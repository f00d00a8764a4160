// The machine as the runtime sees it.
#include "vgpu/vgpu.hpp"

#include <cstring>
#include <exception>
#include <optional>

#include <fmt/format.h>

#include "vgpu/isa/decoder.hpp"
#include "vgpu/isa/fidelity.hpp"
#include "vgpu/judged_run.hpp"
#include "vgpu/machine/grid.hpp"
#include "vgpu/machine/tally.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

struct Machine::State {
  explicit State(const Chip& c) : chip(c), memory(c.memory_bytes) {}
  Chip chip;
  Memory memory;
};

Machine::Machine(const Chip& chip) : state_(std::make_unique<State>(chip)) {}
Machine::~Machine() = default;

const Chip& Machine::chip() const { return state_->chip; }

std::uint64_t Machine::allocate(std::size_t bytes) { return state_->memory.allocate(bytes); }
void Machine::free(std::uint64_t address) noexcept { state_->memory.free(address); }

void Machine::write(std::uint64_t address, std::span<const std::byte> source) {
  if (source.empty()) return;
  const Memory::Use use(state_->memory);
  std::memcpy(state_->memory.to_write(address, source.size(), "upload"), source.data(), source.size());
  state_->memory.note_written(address);
}

void Machine::read(std::span<std::byte> destination, std::uint64_t address) const {
  if (destination.empty()) return;
  const Memory::Use use(state_->memory);
  std::memcpy(destination.data(), state_->memory.at(address, destination.size(), "download"), destination.size());
}

void Machine::fill(std::uint64_t address, std::byte value, std::size_t bytes) {
  if (bytes == 0) return;
  const Memory::Use use(state_->memory);
  std::memset(state_->memory.to_write(address, bytes, "fill"), static_cast<int>(value), bytes);
  state_->memory.note_written(address);
}

void Machine::map_host(std::span<std::byte> bytes) { state_->memory.map_host(bytes.data(), bytes.size()); }
void Machine::lend(std::span<std::byte> bytes, bool read_only) {
  state_->memory.lend(bytes.data(), bytes.size(), read_only);
}
void Machine::unmap_host(const std::byte* host) { state_->memory.unmap_host(host); }

void Machine::move(std::uint64_t destination, std::uint64_t source, std::size_t bytes) {
  if (bytes == 0) return;
  const Memory::Use use(state_->memory);
  const auto ours = [&](std::uint64_t address) { return state_->memory.find(address).bytes > 0; };
  const auto of_host = [](std::uint64_t address) { return reinterpret_cast<std::byte*>(address); };
  std::memmove(ours(destination) ? state_->memory.to_write(destination, bytes, "copying to") : of_host(destination),
               ours(source) ? state_->memory.at(source, bytes, "copying from") : of_host(source), bytes);
  state_->memory.note_written(destination);
}

std::pair<std::uint64_t, std::uint64_t> Machine::allocation(std::uint64_t address) const {
  const Region region = state_->memory.find(address);
  return {region.address, region.bytes};
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> Machine::allocations() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  for (const Region& region : state_->memory.writable()) all.emplace_back(region.address, region.bytes);
  return all;
}

void Machine::name(std::uint64_t address, std::string name) { state_->memory.name(address, std::move(name)); }
void Machine::forget(std::uint64_t address) { state_->memory.forget(address); }

std::shared_ptr<Program> Machine::load(std::string_view ptx, std::string_view name, const Linked& linked) {
  return std::make_shared<Program>(ptx, name, state_->memory, state_->chip, &decode, linked);
}

std::pair<std::uint64_t, std::uint64_t> Machine::variable(const Program& program, std::string_view name) {
  return program.variable(name);
}

std::vector<const ProgramKernel*> Machine::kernels(const Program& program) {
  std::vector<const ProgramKernel*> all;
  for (const ProgramKernel& k : program.kernels()) all.push_back(&k);
  return all;
}

namespace {
constexpr int most_host_threads = 1024;
}  // namespace

void Machine::run(Program& program, const ProgramKernel& kernel, const LaunchShape& shape,
                  std::span<const std::byte> parameters, const RunOptions& options, RunReport& report) {
  report = {};
  if (parameters.size() != kernel.parameter_bytes)
    throw Error(ErrorCode::launch, fmt::format("`{}` takes {} bytes of parameters and was given {}", kernel.name,
                                               kernel.parameter_bytes, parameters.size()));
  if (options.host_threads < 0 || options.host_threads > most_host_threads)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a run on {} host threads was asked for: give 1 to {}, or 0 for one on each core",
                            options.host_threads, most_host_threads));
  const Memory::Use use(state_->memory);
  Run run(state_->chip, state_->memory, program, program.entry_of(kernel));
  run.shape = shape;
  run.options = options;
  run.parameters.assign(parameters.begin(), parameters.end());
  check_shape(run, kernel);
  std::optional<Tally> tally;
  if (options.count_instructions) run.tally = &tally.emplace(program);
  const auto count = [&] {
    if (tally)
      report.used =
          tally->used([&](const ptx::Instruction& instruction) { return bound_of(instruction, options.chip_sums); });
  };
  try {
    if (options.check)
      run_judged(run, kernel, report);
    else
      run_grid(run, report);
  } catch (...) {
    count();
    if (run.caller_error) std::rethrow_exception(run.caller_error);
    throw;
  }
  state_->memory.note_all_written();
  count();
}

}  // namespace wm::vgpu
