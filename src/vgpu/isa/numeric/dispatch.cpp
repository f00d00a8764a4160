// Which instructions this CPU has.
#include "vgpu/isa/numeric/dispatch.hpp"

#include <algorithm>

namespace wm::vgpu::numeric {

Cpu best_cpu() {
#if defined(__x86_64__)
  static const Cpu found = [] {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Cpu::baseline;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    return wide ? Cpu::avx512 : Cpu::avx2;
  }();
  return found;
#else
  return Cpu::baseline;
#endif
}

namespace {
Cpu& chosen() {
  static Cpu cpu = best_cpu();
  return cpu;
}
}  // namespace

Cpu cpu_in_use() { return chosen(); }
void use_cpu(Cpu cpu) { chosen() = std::min(cpu, best_cpu()); }

}  // namespace wm::vgpu::numeric
