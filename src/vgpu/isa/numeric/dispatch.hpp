// One way to use the CPU's wide instructions from a library built for any x86-64: a loop is written once, as a lambda
// that must be inlined, and compiled once for each level; the level is chosen when the program runs. Floating-point
// contraction is off and fma is written as std::fma, so every level computes the same bits.
#pragma once

#include <cstdint>

namespace wm::vgpu::numeric {

enum class Cpu : std::uint8_t { baseline, avx2, avx512 };

Cpu best_cpu();         // what this machine has
Cpu cpu_in_use();       // best_cpu(), unless use_cpu() lowered it
void use_cpu(Cpu cpu);  // for tests and measurements; more than the machine has is ignored. Not for running threads.

#if defined(__x86_64__)
namespace detail {
template <class Body>
[[gnu::target("avx2,fma,f16c")]] void run_avx2(const Body& body) {
  body();
}
template <class Body>
[[gnu::target("avx2,fma,f16c,avx512f,avx512vl,avx512dq,avx512bw")]] void run_avx512(const Body& body) {
  body();
}
}  // namespace detail
#endif

// dispatch([&]() __attribute__((always_inline)) { for (...) ... });
template <class Body>
void dispatch(const Body& body) {
#if defined(__x86_64__)
  switch (cpu_in_use()) {
    case Cpu::avx512: return detail::run_avx512(body);
    case Cpu::avx2: return detail::run_avx2(body);
    case Cpu::baseline: break;
  }
#endif
  body();
}

}  // namespace wm::vgpu::numeric
