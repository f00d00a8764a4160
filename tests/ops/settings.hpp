// Where the operations' tests run and how much they try: on_virtual_gpu.cpp says it for a virtual GPU with few
// multiprocessors, so that small problems already take several waves, on_chip.cpp for a chip.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>

namespace wm::test {

struct Settings {
  const char* device;
  int products;                       // random ones
  std::int64_t largest_product;       // their longest side
  std::array<std::int64_t, 3> waves;  // m, n, k of a product of several waves
  int attentions;                     // random ones
  std::int64_t longest_attention;     // queries or keys
  int equal_runs;
};

extern const Settings settings;

// As many as the environment asks for, or `usual`.
inline int asked(const char* variable, int usual) {
  const char* const text = std::getenv(variable);
  return text ? std::atoi(text) : usual;
}

}  // namespace wm::test
