// Rates by architecture.
#include "plan/chip_rates.hpp"

#include <map>
#include <mutex>
#include <string>

#include "plan/tuned_plans.hpp"

namespace wm::plan {
namespace {

// The table's constants for a chip, looked up once: every new product asks. A chip without any has an H200's, without
// its trees, whose questions are about an H200's blocks; operands of 32 bits have those of 16, whose steps take as
// long.
GemmModels models_of(std::string_view chip) {
  const TunedPlans& table = known_plans();
  static std::mutex mutex;
  static std::map<std::string, GemmModels, std::less<>> known;
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(chip); found != known.end()) return found->second;
  GemmModels models;
  for (const int bits : {8, 16, 32}) {
    GemmModel& model = GemmModels::of(models, bits);
    if (bits == 32) model = models.of_16_bits;
    if (const TunedModel* const own = table.find(TunedModelKey{std::string(chip), bits})) {
      model = own->model;
    } else if (const TunedModel* const other = table.find(TunedModelKey{"NVIDIA H200", bits})) {
      model = other->model;
      model.trees = model.promoted = nullptr;
    }
  }
  return known.emplace(chip, models).first->second;
}

}  // namespace

TensorInstruction instruction_of(const Architecture& arch) {
  if (arch.specific && arch.major == 9) return TensorInstruction::wgmma;
  if (arch.specific && arch.number() == 100) return TensorInstruction::tcgen05;
  if (arch.specific && arch.number() == 120) return TensorInstruction::mma_tma;
  return TensorInstruction::mma;
}

ChipRates hopper_rates(int multiprocessors) {
  ChipRates rates;
  const double part = double(multiprocessors) / rates.multiprocessors;
  rates.multiprocessors = multiprocessors;
  rates.tensor_flops *= part;
  rates.l2_bytes *= part;
  return rates;
}

ChipRates rates_of(const DeviceInfo& device) { return rates_of(device, device.name); }

ChipRates rates_of(const DeviceInfo& device, std::string_view chip) {
  ChipRates rates = hopper_rates(device.multiprocessors);
  rates.instruction = instruction_of(device.arch);
  rates.shared_bytes = device.shared_bytes_per_multiprocessor;
  rates.l2_capacity = device.l2_bytes;
  if (rates.instruction == TensorInstruction::wgmma) {
    rates.gemm = models_of(chip);
    return rates;
  }
  if (rates.instruction == TensorInstruction::tcgen05) {
    rates.clock = 1.85e9;
    rates.tensor_flops = 8192 * rates.clock * device.multiprocessors;
    rates.memory_bytes = 6.6e12;
    rates.l2_bytes = 64 * rates.clock * device.multiprocessors;  // as on Hopper; no figure is known
    return rates;
  }
  if (rates.instruction == TensorInstruction::mma_tma) {
    rates.clock = 2.4e9;
    rates.tensor_flops = 209.5e12 * device.multiprocessors / 170;
    rates.memory_bytes = 1.6e12;
    rates.l2_bytes =
        32 * rates.clock * device.multiprocessors;  // half of what Hopper has in a cycle; no figure is known
    rates.launch_seconds = 4e-6;
    return rates;
  }
  rates.tensor_flops = 312e12 * device.multiprocessors / 108;
  rates.memory_bytes = 1.6e12;
  rates.l2_bytes = 5e12 * device.multiprocessors / 108;
  rates.launch_seconds = 4e-6;
  return rates;
}

}  // namespace wm::plan
