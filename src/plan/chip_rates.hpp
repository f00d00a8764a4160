// What the planner knows of a chip.
#pragma once

#include <cstddef>
#include <string_view>

#include "plan/gemm_model.hpp"
#include "warpmill/device.hpp"
#include "warpmill/gemm/plan.h"

namespace wm::plan {

// The defaults were measured on an H200. GEMM with wgmma has a model of its own (docs/gemm.md).
struct ChipRates {
  int multiprocessors = 132;
  double tensor_flops = 858e12;  // all tensor cores together, 16-bit types, random data
  double memory_bytes = 4.4e12;  // per second, device memory
  double l2_bytes = 14e12;       // per second, L2 to shared memory, all multiprocessors together
  double launch_seconds = 1.5e-6;
  TensorInstruction instruction = TensorInstruction::wgmma;  // what plans are made of
  std::size_t shared_bytes = 233472;                         // of a multiprocessor
  std::size_t l2_capacity = 60 << 20;                        // bytes
  double clock = 1.75e9;                                     // cycles per second
  GemmModels gemm{};                                         // with wgmma
};

// The best that an architecture has, and what is known of a device: with wgmma as above, with tcgen05 a B200's data
// sheet (docs/blackwell.md), on sm_120a an RTX 5090's, else an A100's.
TensorInstruction instruction_of(const Architecture& arch);
ChipRates rates_of(const DeviceInfo& device);
// With the constants of another chip's table entries (an H200's where it has none).
ChipRates rates_of(const DeviceInfo& device, std::string_view chip);
// Of a Hopper with so many multiprocessors and an H200's memory.
ChipRates hopper_rates(int multiprocessors);

}  // namespace wm::plan
