// Modules and kernels: which code a device can run, and entries by name.
#include "warpmill/module.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/backend.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

namespace wm {
namespace {

[[noreturn]] void refuse_architecture(const DeviceInfo& device, std::string_view name, const Architecture& target) {
  throw Error(
      ErrorCode::unsupported,
      fmt::format("module '{}' is compiled for {}, which {} ({}, {}) cannot run; compile it for {}, or open a "
                  "device of its architecture (virtual:{})",
                  name, target.name(), device.id, device.name, device.arch.name(), device.arch.name(), target.name()));
}

runtime::Code ptx_code(const DeviceInfo& device, std::string_view name, std::string_view ptx) {
  runtime::Code code{.name = name, .ptx = ptx, .cubin = {}, .summary = runtime::summarize(ptx)};
  if (code.summary.target && !device.arch.runs_ptx(*code.summary.target))
    refuse_architecture(device, name, *code.summary.target);
  return code;
}

Symbol find_symbol(runtime::LoadedModule& module, std::string_view name) {
  if (const auto symbol = module.symbol(name)) return *symbol;
  throw Error(ErrorCode::not_found,
              fmt::format("the module has no variable '{}'; a variable of a namespace has a mangled name unless it is "
                          "extern \"C\", and one that no kernel uses may be gone",
                          name));
}

}  // namespace

Module Module::load(const Device& device, const jit::Program& program, std::string_view name) {
  const DeviceInfo& info = device.info();
  runtime::Code code = ptx_code(info, name, program.ptx);
  if (info.arch.runs(program.arch)) code.cubin = program.cubin;
  Module module(device, name, device.backend().load(code));
  module.lowered_.insert(program.lowered.begin(), program.lowered.end());
  return module;
}

Module Module::load_ptx(const Device& device, std::string_view ptx, std::string_view name) {
  return Module(device, name, device.backend().load(ptx_code(device.info(), name, ptx)));
}

Module Module::load_cubin(const Device& device, std::span<const std::byte> cubin, std::string_view name) {
  return Module(device, name, device.backend().load({.name = name, .ptx = {}, .cubin = cubin, .summary = {}}));
}

Kernel Module::kernel(std::string_view entry) const {
  const auto lowered = lowered_.find(entry);
  if (const auto* kernel = module_->find(lowered == lowered_.end() ? entry : std::string_view(lowered->second)))
    return Kernel(device_, module_, kernel);
  const std::vector<std::string> names = entries();
  throw Error(ErrorCode::not_found, fmt::format("module '{}' has no kernel '{}'; it has {}", name_, entry,
                                                names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

std::vector<std::string> Module::entries() const { return module_->entries(); }
Symbol Module::symbol(std::string_view name) const { return find_symbol(*module_, name); }
Symbol Kernel::symbol(std::string_view name) const { return find_symbol(*module_, name); }

const std::string& Kernel::name() const { return kernel_->name; }
std::span<const Parameter> Kernel::parameters() const { return kernel_->parameters; }
int Kernel::registers() const { return kernel_->registers; }
std::size_t Kernel::static_shared_bytes() const { return kernel_->static_shared_bytes; }
std::size_t Kernel::local_bytes() const { return kernel_->local_bytes; }
int Kernel::max_threads() const { return static_cast<int>(kernel_->max_threads); }

}  // namespace wm
