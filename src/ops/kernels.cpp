// Compiling and keeping kernels.
#include "ops/kernels.hpp"

namespace wm::ops {

KernelSource KernelSource::stamped() const { return {file, "#define WM_STAMPS\n" + text, expression}; }

jit::Options options_of(const KernelSource& source, const Architecture& arch, Target target) {
  return {.arch = arch, .name_expressions = {source.expression}, .line_table = target == Target::virtual_gpu};
}

jit::Program compile(const KernelSource& source, const Architecture& arch, Target target) {
  return jit::compile({source.file, source.text}, options_of(source, arch, target));
}

Kernel Kernels::get(const Device& device, const KernelSource& source) {
  const std::string name = source.expression + '\n' + source.text;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kernels_.find(name); found != kernels_.end()) return found->second;
  }
  const bool chip = device.info().kind == DeviceKind::cuda;
  const jit::Program program = compile(source, device.info().arch, chip ? Target::chip : Target::virtual_gpu);
  const Kernel loaded = Module::load(device, program, source.file).kernel(source.expression);
  const std::lock_guard lock(mutex_);
  return kernels_.emplace(name, loaded).first->second;
}

}  // namespace wm::ops
