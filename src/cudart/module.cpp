// Loading code when it is needed.
#include "cudart/module.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <unordered_set>

#include <fmt/format.h>

#include "cudart/failure.hpp"
#include "cudart/kept_ptx.hpp"
#include "cudart/memory.hpp"
#include "cudart/names.hpp"
#include "cudart/reporter.hpp"
#include "warpmill/error.hpp"

namespace wm::cudart {
namespace {

// Every module and kernel that a handle may mean.
struct Handles {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Module>> loaded;
  std::unordered_set<const void*> kernels;
};
Handles& handles() {
  static auto* const all = new Handles;
  return *all;
}

// Of the place where the blocks of a cooperative launch meet. One serves a module's launches on a device, one after the
// other.
constexpr std::uint32_t meeting_bytes = 256;

}  // namespace

const Kernel::Loaded& Kernel::on(int device) {
  if (device == 0)
    if (const Loaded* first = first_.load(std::memory_order_acquire)) return *first;
  const std::lock_guard lock(mutex_);
  if (refused_) fail(*refused_);
  auto& loaded = loaded_[device];
  try {
    if (!loaded) loaded = std::make_unique<Loaded>(module_.load(name_, device));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::out_of_memory) throw;
    refused_ = status_of(error);
    Reporter::get().note_refused(name_, error.what());
    fail(*refused_, fmt::format("`{}` cannot run here: {}", demangled(name_), error.what()));
  }
  if (device == 0) first_.store(loaded.get(), std::memory_order_release);
  return *loaded;
}

Module::~Module() {
  const std::lock_guard lock(handles().mutex);
  for (const auto& [name, kernel] : kernels_) handles().kernels.erase(kernel.get());
}

void Module::read() {
  const std::lock_guard lock(mutex_);
  if (parts_) return;
  if (nonsense_) fail(cudaErrorInvalidPtx);
  if (problem_.empty()) {
    DeviceCode code;
    try {
      code = device_code(image_, Platform::get().chip().arch, most_);
      if (code.ptx.empty() && !code.machine_code.empty()) {
        const Settings& settings = Platform::get().settings;
        KeptPtx kept = kept_ptx(code.machine_code, settings.kept, settings.named);
        code.ptx = std::move(kept.text);
        if (!code.ptx.empty() || !kept.problem.empty()) code.problem = std::move(kept.problem);
      }
    } catch (const Error& error) {  // it is compressed, and cannot be read
      code.problem = error.what();
    }
    problem_ = std::move(code.problem);
    if (!problem_.empty()) tell(problem_);
    if (problem_.empty()) parts_.emplace(std::move(code.ptx));
    if (parts_ && !parts_->valid()) {
      parts_.reset();
      nonsense_ = true;
      fail(cudaErrorInvalidPtx);
    }
  }
  if (!problem_.empty()) fail(cudaErrorNoKernelImageForDevice);
}

std::vector<std::string> Module::kernel_names() {
  const std::lock_guard lock(mutex_);
  read();
  std::vector<std::string> names;
  for (const std::string_view name : parts_->kernels()) names.emplace_back(name);
  return names;
}

Kernel* Module::kernel(std::string_view name) {
  const std::lock_guard lock(mutex_);
  read();
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return found->second.get();
  return parts_->has_kernel(name) ? &declare_kernel(std::string(name)) : nullptr;
}

Kernel& Module::declare_kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto& kernel = kernels_[name];
  if (!kernel) kernel = std::make_unique<Kernel>(*this, name);
  const std::lock_guard known(handles().mutex);
  handles().kernels.insert(kernel.get());
  return *kernel;
}

void Module::declare_managed(std::string name, std::size_t bytes, void** host) {
  const std::lock_guard lock(mutex_);
  managed_[std::move(name)] = {bytes, host};
}

// Managed variables lie in memory that the host sees too, and begin with their initial values.
void Module::place_managed() {
  if (managed_.empty() || managed_.begin()->second.address != 0) return;
  vgpu::Machine& machine = Platform::get().machine;
  std::set<std::string, std::less<>> names;
  for (const auto& [name, managed] : managed_) names.insert(name);
  const auto initial = machine.load(parts_->only(names), "module.ptx");
  for (auto& [name, managed] : managed_) {
    managed.address = allocate_managed(managed.bytes);
    const auto [original, bytes] = vgpu::Machine::variable(*initial, name);
    machine.move(managed.address, original, std::min<std::size_t>(bytes, managed.bytes));
    *managed.host = reinterpret_cast<void*>(managed.address);
  }
}

Module::OnDevice& Module::on(int device) {
  const std::lock_guard lock(mutex_);
  read();
  OnDevice& place = devices_[device];
  if (place.variables) return place;
  vgpu::Machine& machine = Platform::get().machine;
  place_managed();
  place.meeting_place = machine.allocate(meeting_bytes);
  const std::uint32_t size = meeting_bytes;
  machine.write(place.meeting_place, std::as_bytes(std::span(&size, 1)));
  std::set<std::string, std::less<>> elsewhere;
  for (const auto& [name, managed] : managed_) elsewhere.insert(name);
  place.variables = machine.load(parts_->whole() ? parts_->all_but(elsewhere) : parts_->variables(elsewhere),
                                 "module.ptx", [&](std::string_view variable) {
                                   const auto managed = managed_.find(variable);
                                   return managed != managed_.end() ? managed->second.address : 0;
                                 });
  return place;
}

std::uint64_t Module::address_of(std::string_view name, int device) {
  const auto found = variable(name, device);
  return found ? found->address : 0;
}

std::optional<Variable> Module::variable(std::string_view name, int device) {
  const std::lock_guard lock(mutex_);
  const OnDevice& place = on(device);
  const auto managed = managed_.find(name);
  if (managed != managed_.end()) return Variable{managed->second.address, managed->second.bytes};
  const auto [address, bytes] = vgpu::Machine::variable(*place.variables, name);
  return address != 0 ? std::optional(Variable{address, bytes}) : std::nullopt;
}

Kernel::Loaded Module::load(const std::string& kernel, int device) {
  const std::lock_guard lock(mutex_);
  OnDevice& place = on(device);
  Kernel::Loaded loaded;
  loaded.program = place.variables;
  if (!parts_->whole())
    loaded.program = Platform::get().machine.load(
        parts_->kernel(kernel), "module.ptx", [&](std::string_view variable) { return address_of(variable, device); });
  for (const vgpu::ProgramKernel* one : vgpu::Machine::kernels(*loaded.program))
    if (one->name == kernel) loaded.kernel = one;
  if (loaded.kernel == nullptr) fail(cudaErrorInvalidDeviceFunction);
  return loaded;
}

Module& known_module(const void* handle) {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().loaded.find(handle);
  if (found == handles().loaded.end()) fail(cudaErrorInvalidResourceHandle);
  return *found->second;
}

namespace {
Module* keep(std::unique_ptr<Module> module) {
  Module* const handle = module.get();
  const std::lock_guard lock(handles().mutex);
  handles().loaded.emplace(handle, std::move(module));
  return handle;
}
}  // namespace

Module* load_module(const void* image, std::size_t most) {
  require(image != nullptr);
  auto module = std::make_unique<Module>(image, most);
  module->read();
  return keep(std::move(module));
}

Module* load_library(const void* image, std::size_t most) {
  require(image != nullptr);
  auto module = std::make_unique<Module>(image, most);
  try {
    module->read();
  } catch (const Failure& failure) {
    if (failure.status != cudaErrorInvalidPtx) throw;
  }
  return keep(std::move(module));
}

std::string text_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), cudaErrorFileNotFound);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Module* load_module_file(const char* path) {
  const std::string bytes = text_of_file(path);
  return load_module(bytes.c_str(), bytes.size());
}

Module* load_library_file(const char* path) {
  const std::string bytes = text_of_file(path);
  return load_library(bytes.c_str(), bytes.size());
}

void unload_module(const void* handle) {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().loaded.find(handle);
  if (found == handles().loaded.end()) fail(cudaErrorInvalidResourceHandle);
  // Work in flight may still use it: a module of a few megabytes is kept rather than waited for.
  found->second.release();
  handles().loaded.erase(found);
}

Kernel& known_kernel(const void* handle) {
  const std::lock_guard lock(handles().mutex);
  if (!handles().kernels.contains(handle)) fail(cudaErrorInvalidResourceHandle);
  return *static_cast<Kernel*>(const_cast<void*>(handle));
}

}  // namespace wm::cudart
