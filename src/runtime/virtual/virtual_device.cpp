// The virtual GPU behind the Backend interface. Work runs in the calling thread, at once, so a stream is only a promise
// that is kept already.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "common/launch_rules.hpp"
#include "runtime/backend.hpp"
#include "tensor_map/virtual_form.hpp"
#include "vgpu/vgpu.hpp"
#include "warpmill/error.hpp"
#include "warpmill/virtual.hpp"

namespace wm::runtime {
namespace {

DeviceInfo info_of(const vgpu::Chip& chip, std::string id) {
  return {.id = std::move(id),
          .name = fmt::format("virtual {}", chip.arch.name()),
          .kind = DeviceKind::virtual_gpu,
          .arch = chip.arch,
          .multiprocessors = chip.multiprocessors,
          .memory_bytes = chip.memory_bytes,
          .shared_bytes_per_block = chip.shared_bytes_per_block,
          .shared_bytes_per_multiprocessor = chip.shared_bytes_per_multiprocessor,
          .registers_per_multiprocessor = chip.registers_per_multiprocessor,
          .threads_per_multiprocessor = chip.threads_per_multiprocessor,
          .blocks_per_cluster = static_cast<int>(most_cluster_blocks(chip.arch))};
}

// When it was recorded, in host nanoseconds.
struct VirtualEvent {
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> time = never;
};
VirtualEvent& as_event(void* native) { return *static_cast<VirtualEvent*>(native); }

struct VirtualKernel : LoadedKernel {
  vgpu::Program* program = nullptr;
  const vgpu::ProgramKernel* kernel = nullptr;
};

class VirtualModule final : public LoadedModule {
 public:
  VirtualModule(std::shared_ptr<vgpu::Machine> machine, std::shared_ptr<vgpu::Program> program,
                const PtxSummary& summary)
      : machine_(std::move(machine)), program_(std::move(program)) {
    for (const vgpu::ProgramKernel* kernel : vgpu::Machine::kernels(*program_)) {
      VirtualKernel& loaded = kernels_[kernel->name];
      loaded.name = kernel->name;
      loaded.parameters = kernel->parameters;
      summary.set_kinds(kernel->name, loaded.parameters);  // the same judgement as on a GPU
      loaded.static_shared_bytes = kernel->static_shared_bytes;
      loaded.local_bytes = kernel->local_bytes;
      loaded.max_threads = kernel->max_threads;
      loaded.required_block = kernel->required_block;
      loaded.required_cluster = kernel->required_cluster;
      loaded.program = program_.get();
      loaded.kernel = kernel;
      loaded.native = &loaded;
    }
  }
  const LoadedKernel* find(std::string_view entry) override {
    const auto found = kernels_.find(entry);
    return found == kernels_.end() ? nullptr : &found->second;
  }
  std::optional<Symbol> symbol(std::string_view name) override {
    const auto [address, bytes] = vgpu::Machine::variable(*program_, name);
    return bytes > 0 ? std::optional(Symbol{address, bytes}) : std::nullopt;
  }
  std::vector<std::string> entries() const override {
    std::vector<std::string> names;
    for (const auto& [name, kernel] : kernels_) names.push_back(name);
    return names;
  }

 private:
  std::shared_ptr<vgpu::Machine> machine_;  // outlives the program
  std::shared_ptr<vgpu::Program> program_;
  std::map<std::string, VirtualKernel, std::less<>> kernels_;
};

class VirtualDevice final : public Backend {
 public:
  VirtualDevice(const vgpu::Chip& chip, std::string id)
      : info_(info_of(chip, std::move(id))), machine_(std::make_shared<vgpu::Machine>(chip)) {}

  const DeviceInfo& info() const override { return info_; }

  std::uint64_t allocate(std::size_t bytes) override { return machine_->allocate(bytes); }
  void free(std::uint64_t address) noexcept override { machine_->free(address); }

  void* create_stream() override { return nullptr; }
  void destroy_stream(void*) noexcept override {}
  std::optional<std::uint64_t> stream_number(void*) override { return 0; }  // one launch runs at a time
  void check_stream(void* stream) override {
    if (stream)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("wrapping stream {} for {}: a virtual device has no streams but its default one "
                              "(nullptr)",
                              stream, info_.id));
  }
  void synchronize_stream(void*) override {}
  void synchronize() override {}

  void* create_event() override { return new VirtualEvent; }
  void destroy_event(void* event) noexcept override { delete &as_event(event); }
  void record_event(void* event, void*) override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    as_event(event).time = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }
  void wait_event(void*, void*) override {}
  void synchronize_event(void*) override {}
  double milliseconds_between(void* start, void* end) override {
    const std::int64_t from = as_event(start).time, to = as_event(end).time;
    if (from == VirtualEvent::never || to == VirtualEvent::never)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("reading the time between two events of {}: one was never recorded", info_.id));
    return static_cast<double>(to - from) * 1e-6;
  }

  void upload(void*, std::uint64_t destination, std::span<const std::byte> source) override {
    machine_->write(destination, source);
  }
  void download(void*, std::span<std::byte> destination, std::uint64_t source) override {
    machine_->read(destination, source);
  }
  void copy(void*, std::uint64_t destination, std::uint64_t source, std::size_t bytes) override {
    std::vector<std::byte> between(bytes);
    machine_->read(between, source);
    machine_->write(destination, between);
  }
  void fill(void*, std::uint64_t destination, std::byte value, std::size_t bytes) override {
    machine_->fill(destination, value, bytes);
  }

  std::shared_ptr<LoadedModule> load(const Code& code) override {
    if (code.ptx.empty())
      throw Error(ErrorCode::unsupported,
                  fmt::format("'{}' cannot be loaded on {}: a virtual device executes PTX, and it has none", code.name,
                              info_.id));
    const std::lock_guard lock(mutex_);
    return std::make_shared<VirtualModule>(machine_, machine_->load(code.ptx, code.name), code.summary);
  }

  // A kernel at a time, each on all the host's cores.
  void launch(void*, const LoadedKernel& kernel, const LaunchConfig& config, std::span<const Argument> arguments,
              const LaunchNotes& notes) override {
    const auto& loaded = *static_cast<const VirtualKernel*>(kernel.native);
    std::vector<std::byte> parameters(loaded.kernel->parameter_bytes);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      std::memcpy(parameters.data() + kernel.parameters[i].offset, arguments[i].data, arguments[i].bytes);
    const vgpu::LaunchShape shape{config.grid, config.block, config.cluster, config.shared_bytes};

    const std::lock_guard lock(mutex_);
    told_.reset();
    if (!notes.writes.empty()) told_ = {{}, {notes.writes.begin(), notes.writes.end()}};
    const auto show = [this] { std::fwrite(report_.printed.data(), 1, report_.printed.size(), stdout); };
    try {
      machine_->run(*loaded.program, *loaded.kernel, shape, parameters, options_, report_);
    } catch (...) {
      show();  // what it printed often says why it failed
      throw;
    }
    show();
  }

  // A kernel has ended before the next one starts, whatever its stream: nothing depends on what is told but that
  // kernels which begin early run here too.
  std::optional<KernelAhead> kernel_ahead(void*) override {
    const std::lock_guard lock(mutex_);
    return told_;
  }

  TensorMap encode(const TensorMapSpec& spec) override { return tensor_map::encode_virtual(spec); }

  void name(std::uint64_t address, std::string name) { machine_->name(address, std::move(name)); }
  void forget(std::uint64_t address) { machine_->forget(address); }
  void map(std::span<std::byte> memory, bool read_only) { machine_->lend(memory, read_only); }
  void unmap(const std::byte* memory) { machine_->unmap_host(memory); }

  void set_options(const vgpu::RunOptions& options) {
    const std::lock_guard lock(mutex_);
    options_ = options;
  }
  vgpu::RunOptions options() const {
    const std::lock_guard lock(mutex_);
    return options_;
  }
  vgpu::RunReport report() const {
    const std::lock_guard lock(mutex_);
    return report_;
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<vgpu::Machine> machine_;
  mutable std::mutex mutex_;  // loads and runs; memory takes care of itself
  vgpu::RunOptions options_;
  vgpu::RunReport report_;
  std::optional<KernelAhead> told_;  // of the last launch
};

VirtualDevice& virtual_device(const Device& device) {
  if (auto* found = dynamic_cast<VirtualDevice*>(&device.backend())) return *found;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} is not a virtual device, and has neither run options, reports nor mapped memory",
                          device.info().id));
}

}  // namespace

std::vector<DeviceInfo> list_virtual_devices() {
  std::vector<DeviceInfo> devices;
  for (const char* arch : {"sm_90a", "sm_100a", "sm_120a", "sm_80"})
    devices.push_back(info_of(vgpu::Chip::of(Architecture::parse(arch)), fmt::format("virtual:{}", arch)));
  return devices;
}

std::shared_ptr<Backend> open_virtual_device(const Architecture& arch, std::optional<int> multiprocessors) {
  vgpu::Chip chip = vgpu::Chip::of(arch);
  std::string id = fmt::format("virtual:{}", arch.name());
  if (multiprocessors) {
    chip.multiprocessors = *multiprocessors;
    id += fmt::format(":sms={}", *multiprocessors);
  }
  return std::make_shared<VirtualDevice>(chip, std::move(id));
}

}  // namespace wm::runtime

namespace wm::vgpu {

void set_run_options(const Device& device, const RunOptions& options) {
  runtime::virtual_device(device).set_options(options);
}
RunOptions run_options(const Device& device) { return runtime::virtual_device(device).options(); }
RunReport last_run(const Device& device) { return runtime::virtual_device(device).report(); }
void name_memory(const Device& device, std::uint64_t address, const std::string& name) {
  runtime::virtual_device(device).name(address, name);
}
void mark_unwritten(const Device& device, std::uint64_t address) { runtime::virtual_device(device).forget(address); }
void map_memory(const Device& device, std::span<std::byte> memory, bool read_only) {
  runtime::virtual_device(device).map(memory, read_only);
}
void unmap_memory(const Device& device, const std::byte* memory) { runtime::virtual_device(device).unmap(memory); }

}  // namespace wm::vgpu
